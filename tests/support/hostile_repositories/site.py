"""A hostile repository in a directory of its own, and the program that it tries to have run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_IDENTITY = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com", "-c", "init.defaultBranch=main")
_ALONE = {"PATH": SYSTEM_PATH, "HOME": os.devnull, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
_FILES = {
    "README.md": "# Sums\n\nA small example.\n",
    "sums.py": "def add(a, b):\n    return a - b\n",
    "data.txt": "one\n",
}
# `true >` rather than `: >`: a redirection that fails must not end the script.
_TRAP = "#!/bin/sh\ntrue > {outside}\ntrue > {inside}\nexit 1\n"


@dataclass(frozen=True, slots=True)
class Site:
    """Where a kind is built.

    Attributes:
        base: everything is below it. What is above the workspace, and git walks up to, is the kind's own too.
    """

    base: Path

    @property
    def workspace(self) -> Path:
        """The repository."""
        return self.base / "parent" / "workspace"

    @property
    def outside(self) -> Path:
        """A directory that no session is opened in."""
        return self.base / "outside"

    @property
    def user(self) -> Path:
        """The home directory of the person who opens the repository."""
        return self.base / "user"

    @property
    def trap(self) -> Path:
        """The program that must never run."""
        return self.outside / "trap"

    @property
    def marks(self) -> tuple[Path, Path]:
        """What the trap writes: a file outside, and one where a confined command may write."""
        return self.outside / "SPRUNG", self.workspace / "SPRUNG"

    @property
    def is_sprung(self) -> bool:
        """Whether the trap ran and could write."""
        return any(os.path.lexists(mark) for mark in self.marks)

    @property
    def was_started(self) -> bool:
        """Whether somebody read the trap since `arm`, as whoever runs it must: also where it could write nothing."""
        return self.trap.stat().st_atime_ns > self.trap.stat().st_mtime_ns

    def arm(self) -> None:
        """Forget what has happened so far."""
        for mark in self.marks:
            mark.unlink(missing_ok=True)
        os.utime(self.trap, (1, 2))

    def git(self, *arguments: str, cwd: Path | None = None, given: str | bytes = b"") -> str:
        """What git prints, with none of the settings of whoever runs the tests."""
        data = given.encode() if isinstance(given, str) else given
        command = ("git", *_IDENTITY, *arguments)
        done = subprocess.run(
            command, cwd=cwd or self.workspace, env=_ALONE, input=data, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def set(self, name: str, value: str, *, cwd: Path | None = None) -> None:
        """A setting of the repository, with `{trap}` and the like replaced."""
        self.git("config", "--add", name, self.filled(value), cwd=cwd)

    def filled(self, text: str) -> str:
        """The text with the places that it names."""
        return text.format(trap=self.trap, outside=self.outside, workspace=self.workspace, user=self.user)

    def write(self, name: str, text: str | bytes, *, run: bool = False) -> Path:
        """A file, by its path below the workspace; `run`: it may be executed."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        if run:
            path.chmod(0o755)
        return path

    def plant(self, name: str) -> Path:
        """A program of the workspace that runs the trap."""
        return self.write(name, f'#!/bin/sh\nexec {self.trap} "$@"\n', run=True)

    def change(self) -> None:
        """Change a tracked file and keep its size, so that git has to read it."""
        self.write("sums.py", "def add(a, b):\n    return b - a\n")

    def commit(self, *names: str) -> None:
        """Commit files as they are now, or everything."""
        self.git("add", "--", *(names or (".",)))
        self.git("commit", "-q", "--allow-empty", "-m", "More")


@dataclass(frozen=True, slots=True)
class Kind:
    """A way in which a repository, or what surrounds it, has its program run.

    Attributes:
        name: what it is called in tests.
        build: makes it in a site that holds a plain repository.
        control: the plain action, for bash in the opened folder, that does run the trap.
        opened: the folder that the editor opens, below the workspace.
        path: what comes first on the editor's PATH.
        variables: what else is in the editor's environment.
        settings: what the person's own settings say.
        needs: programs without which it cannot be built, or its control be run.
        needs_root: only root can build it.
        can_be_copied: it is not so large that a copy for a sub-agent takes minutes.
    """

    name: str
    build: Callable[[Site], None]
    control: str
    opened: str = "."
    path: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    needs_root: bool = False
    can_be_copied: bool = True

    def environment(self, site: Site) -> dict[str, str]:
        """What the editor's environment has because of this kind, but for PATH."""
        user = {"GIT_CONFIG_GLOBAL": str(site.user / ".gitconfig")} if (site.user / ".gitconfig").exists() else {}
        return {**user, **{name: site.filled(value) for name, value in self.variables.items()}}

    def search_path(self, site: Site, rest: str) -> str:
        """The editor's PATH."""
        return os.pathsep.join([*(site.filled(entry) for entry in self.path), rest])

    def folder(self, site: Site) -> Path:
        """What the editor opens."""
        return site.workspace / self.opened


KINDS: list[Kind] = []
"""All kinds; the modules of this package add theirs."""


def kind(name: str, control: str, **options: Any) -> Callable[[Callable[[Site], None]], Callable[[Site], None]]:
    """Adds the kind that the decorated function builds."""

    def add(build: Callable[[Site], None]) -> Callable[[Site], None]:
        KINDS.append(Kind(name, build, control, **options))
        return build

    return add


def make_template(folder: Path) -> Path:
    """What each site begins as: a repository with two commits on `main` and one on `side`; nothing is hostile."""
    site = Site(folder)
    for path in (site.workspace, site.outside, site.user / ".hermes"):
        path.mkdir(parents=True)
    site.git("init", "-q", "--template=")
    for name, text in _FILES.items():
        site.write(name, text)
    site.commit()
    site.git("checkout", "-q", "-b", "side")
    site.write("data.txt", "two\n")
    site.commit()
    site.git("checkout", "-q", "main")
    site.write("data.txt", "three\n")
    site.commit()
    (site.workspace / ".git" / "info").mkdir()
    return folder


def make_site(template: Path, base: Path, kind: Kind | None = None) -> Site:
    """A fresh site with a kind built in it; None: a plain repository."""
    shutil.copytree(template, base, symlinks=True)
    site = Site(base)
    outside, inside = site.marks
    site.trap.write_text(_TRAP.format(outside=outside, inside=inside))
    site.trap.chmod(0o755)
    if kind is not None:
        kind.build(site)
    site.arm()
    return site
