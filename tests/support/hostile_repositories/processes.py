"""The agent as a process in a namespace of its own that can only write the site, as this user or another."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.editor import Editor
from tests.support.hostile_repositories.site import Kind, Site
from tests.support.settings_files import configure

SOMEBODY = 64999
SECONDS = 60
_SOURCES = Path(__file__).resolve().parents[3]
_UNCONFINED = (
    "import sys, tools.environments.sandbox.probe as choice; choice.MECHANISMS = (); "
    "from acp_adapter.entry import main; sys.exit(main())"
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Who starts the agent, and where.

    Attributes:
        as_somebody: as a user without rights, whom everything in the site then belongs to.
        has_sandbox: whether a sandbox may be found.
    """

    site: Site
    kind: Kind
    as_somebody: bool
    has_sandbox: bool

    def prepare(self) -> None:
        """Write the person's settings, and give the site to who opens it."""
        configure(self.site.user / ".hermes", self.kind.settings)
        if self.as_somebody:
            for path in (self.site.base, *self.site.base.rglob("*")):
                os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)
        self.site.arm()

    def variables(self) -> dict[str, str]:
        """What the agent's environment has."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        return {
            **kept,
            "HOME": str(self.site.user),
            "HERMES_HOME": str(self.site.user / ".hermes"),
            **self.kind.environment(self.site),
            "PATH": self.kind.search_path(self.site, os.environ["PATH"]),
        }

    def command(self, *arguments: str) -> list[str]:
        """The command that starts the agent with these arguments."""
        start = ["-m", "acp_adapter"] if self.has_sandbox else ["-c", _UNCONFINED]
        return [*self._namespace(), sys.executable, "-P", *start, *arguments]

    async def editor(self) -> Editor:
        """An editor that starts the agent in the opened folder."""
        return await Editor.spawn(
            command=self.command("--offline"), env=self.variables(), cwd=self.kind.folder(self.site)
        )

    def run(self, *arguments: str) -> str:
        """A subcommand to its end; what it printed."""
        done = subprocess.run(
            self.command(*arguments), cwd=self.kind.folder(self.site), env=self.variables(), timeout=SECONDS,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        return done.stdout.decode(errors="replace")

    def agent(self) -> str:
        """The agent's command for the option `--agent`, within the same namespace."""
        return shlex.join([sys.executable, "-P", "-c", _UNCONFINED, "--offline"])

    def _namespace(self) -> list[str]:
        program = shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin") or "bwrap"
        base = str(self.site.base)
        ids = (f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups")
        become = ["/usr/bin/setpriv", *ids, "--inh-caps=-all", "--bounding-set=-all", "--"]
        return [
            program, "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net",
            *(("--cap-add", "ALL") if os.geteuid() == 0 else ()),
            "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
            *(_opened_up() if self.as_somebody else ()),
            *_folders_above(self.site.base, Path("/tmp")), *_python_of_tests(),
            "--bind", base, base, "--chdir", str(self.kind.folder(self.site)), *(become if self.as_somebody else ()),
        ]  # fmt: skip


def why_nobody_else() -> str:
    """Why the agent cannot be started as another user; '' where it can."""
    if os.geteuid() != 0:
        return "only root can start a process as another user"
    return "" if Path("/usr/bin/setpriv").exists() else "setpriv is not installed (apt-get install util-linux)"


def _folders_above(place: Path, within: Path) -> Iterator[str]:
    """Those between, for everybody: bubblewrap would make them for root alone."""
    for folder in reversed(place.parents):
        if within in folder.parents:
            yield from ("--dir", str(folder))


def _python_of_tests() -> Iterator[str]:
    """The directories on PATH that the tests themselves have put into /tmp."""
    for entry in os.environ["PATH"].split(os.pathsep):
        made = Path(entry).parent
        if made.is_relative_to("/tmp") and made.is_dir():
            yield from (*_folders_above(made, Path("/tmp")), "--ro-bind", str(made), str(made))


def _opened_up() -> Iterator[str]:
    """What hides our Python and sources from other users makes room for a directory that holds nothing else."""
    emptied: set[Path] = set()
    for place in (Path(sys.base_prefix), Path(sys.prefix), _SOURCES):
        closed = next((up for up in reversed(place.parents) if not up.stat().st_mode & 0o001), None)
        if closed is not None:
            if closed not in emptied:
                yield from ("--tmpfs", str(closed))
            emptied.add(closed)
            yield from (*_folders_above(place, closed), "--ro-bind", str(place), str(place))
