"""What a session on another machine needs besides its ports: where it works there, and what is looked at there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.approval.sensitive import why_sensitive
from tools.environments.far.link import Link
from tools.environments.far.side import FarSide
from tools.environments.far.wrapping import quoted
from tools.environments.git_settings import looking_settings
from tools.environments.kept_places import KeptPlaces
from tools.environments.workspace_secrets import WorkspaceSecrets
from tools.errors import CommandError, ToolError

_GIT = """
cd {root} 2>/dev/null || exit 0
command -v git >/dev/null || exit 0
g=$(git rev-parse --git-common-dir 2>/dev/null) || exit 0
h=$(git rev-parse --git-dir)
cat "$g/config" "$h/config.worktree" 2>/dev/null
find "$g/modules" -name config -exec cat {{}} + 2>/dev/null
exit 0
"""
_SECRETS = "find {roots} -maxdepth 2 -type f 2>/dev/null | head -n 5000; exit 0"


@dataclass(frozen=True, slots=True)
class Places:
    """The directories of a session on another machine, and why they could not be looked at ('' where they could)."""

    cwd: Path
    roots: tuple[Path, ...]
    real: tuple[Path, ...]
    problem: str = ""


def places_there(side: FarSide, cwd: Path, extra: Sequence[Path], wanted: str) -> Places:
    """Where a session works there. Connects; where that fails, everything is as it is named.

    Args:
        cwd, extra: the session's directories as this machine has them.
        wanted: the directory there that the settings name; '' or `.`: the one of the same name, else the home.
    """
    named = "" if wanted.strip() in {"", ".", "auto"} else wanted.strip()
    try:
        home, files = side.facts().home, side.files()
        if named:
            start = home if named == "~" else home / named.removeprefix("~/")
        else:
            found = files.stat(files.resolve(cwd))
            start = cwd if found is not None and found.kind == "directory" else home
        # What is here under another name is not there at all.
        further = [root for root in extra if start == cwd and files.stat(files.resolve(root)) is not None]
        roots = (start, *further)
        return Places(start, roots, tuple(files.resolve(root) for root in roots))
    except ToolError as problem:
        start = Path(named) if named.startswith("/") else cwd
        return Places(start, (start,), (start,), str(problem))


class FarPlaces(KeptPlaces):
    """Looks at what git would run there; puts nothing back, as nothing there is confined by us."""

    def __init__(self, link: Link, roots: Callable[[], tuple[Path, ...]]) -> None:
        super().__init__()
        self._link = link
        self._far_roots = roots

    def runs_along(self) -> str:
        """What git would run of the repositories' own settings where it only looks; '' for nothing."""
        for root in self._far_roots():
            try:
                written = self._link.output_of(_GIT.format(root=quoted(str(root))))
            except CommandError:
                return f"what git's settings in {root} name, which could not be looked at"
            if names := looking_settings(written):
                return f"what {names[0]} in the settings of {root} names"
        return ""


class FarSecrets(WorkspaceSecrets):
    """Finds the files of the session's directories there that hold credentials."""

    def __init__(self, link: Link, roots: Callable[[], tuple[Path, ...]]) -> None:
        super().__init__()
        self._link = link
        self._far_roots = roots

    def __call__(self) -> tuple[Path, ...]:
        """Where they are now; one that stands for all where they cannot be looked for."""
        roots = [root for root in self._far_roots() if not why_sensitive(root / "x")]
        if not roots:
            return ()
        try:
            found = self._link.output_of(_SECRETS.format(roots=" ".join(quoted(str(root)) for root in roots)))
        except CommandError:
            return (Path("files that could not be looked for"),)
        paths = [Path(line) for line in found.decode(errors="surrogateescape").splitlines()]
        return tuple(path for path in paths if why_sensitive(path))
