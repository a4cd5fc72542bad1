"""What a session on another machine needs besides its ports: where it works there, and what is looked at there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tools.approval.sensitive import why_sensitive
from tools.environments.far.link import Link
from tools.environments.far.side import FarSide
from tools.environments.far.wrapping import quoted
from tools.environments.unconfined_commands import GitPlace
from tools.environments.workspace_secrets import WorkspaceSecrets, words_in
from tools.errors import CommandError, ToolError
from tools.light_dataclass import dataclass

_GIT = """
command -v git >/dev/null && {{ cd {directory} && git {arguments} 2>/dev/null || exit 0; }}
printf '\\0%s' done
"""
_DONE = b"\0done"
_MOST_PLACES = 200
_SECRETS = "find {roots} -maxdepth 2 -type f 2>/dev/null | head -n 5000; exit 0"


@dataclass(frozen=True, slots=True)
class Places:
    """The directories of a session on another machine, and why they could not be looked at ('' where they could)."""

    cwd: Path
    roots: tuple[Path, ...]
    real: tuple[Path, ...]
    problem: str = ""


def places_there(
    side: FarSide,
    cwd: Path,
    extra: Sequence[Path],
    wanted: str,
    makes: bool = False,
) -> Places:
    """Where a session works there. Connects; where that fails, everything is as it is named.

    Args:
        cwd, extra: the session's directories as this machine has them.
        wanted: the directory there that the settings name; '' or `.`: the one of the same name, else the home.
        makes: the directory is made, for a copy of `cwd`; where it may not be, it is in the home there.
    """
    named = "" if wanted.strip() in {"", ".", "auto"} else wanted.strip()
    try:
        home, files = side.facts().home, side.files()
        if named:
            start = home if named == "~" else home / named.removeprefix("~/")
            if makes and not _made(side, start):
                raise CommandError(f"{start} could not be made on {side.link.machine.name}. Look at terminal.cwd.")
        elif makes:
            start = next((place for place in (cwd, home / (cwd.name or "workspace")) if _made(side, place)), home)
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


def _made(side: FarSide, place: Path) -> bool:
    """Whether there is a directory now that may be written to."""
    name = quoted(str(place))
    script = f"mkdir -p {name} 2>/dev/null && [ -d {name} ] && [ -w {name} ] && echo made; exit 0"
    return side.link.output_of(script).split() == [b"made"]


def git_there(link: Link) -> GitPlace:
    """Asks git on the other machine."""

    def run(directory: Path, arguments: Sequence[str]) -> bytes | None:
        script = _GIT.format(directory=quoted(str(directory)), arguments=" ".join(map(quoted, arguments)))
        try:
            found = link.output_of(script)
        except CommandError:
            return None
        return found.removesuffix(_DONE) if found.endswith(_DONE) else None

    def exists(path: Path) -> bool:
        try:
            return link.output_of(f"[ -e {quoted(str(path))} ] && echo yes; exit 0").strip() == b"yes"
        except CommandError:
            return True

    return GitPlace(run, exists)


class FarSecrets(WorkspaceSecrets):
    """Finds the files of the session's directories there that hold credentials."""

    def __init__(self, side: FarSide, roots: Callable[[], tuple[Path, ...]]) -> None:
        super().__init__()
        self._side, self._link = side, side.link
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

    def behind(self, command: str, cwd: Path) -> tuple[Path, ...]:
        """Those that links there lead to: the person is asked for what a command names, and sees no link in it."""
        if why_sensitive(cwd / "x") or not (words := words_in(command)):
            return ()
        try:
            home = str(self._side.facts().home)
            words = [home + word[1:] if word.startswith("~/") else word for word in words]
            # Who goes to a directory first means the other words from there.
            places = [str(base / word) for base in (cwd, *(cwd / word for word in words)) for word in words]
            found = self._side.files().leads(places[:_MOST_PLACES])
        except ToolError:
            return (Path("files that could not be looked for"),)
        return tuple(dict.fromkeys(path for path in found if why_sensitive(path)))


class SharedSecrets(WorkspaceSecrets):
    """Of a place that shares the session's directories: files are looked for here, and links followed there."""

    def __init__(self, side: FarSide, roots: tuple[Path, ...]) -> None:
        super().__init__(roots)
        self._there = FarSecrets(side, lambda: roots)

    def behind(self, command: str, cwd: Path) -> tuple[Path, ...]:
        """Those that links there lead to, of the shared directories or of the place's own."""
        return self._there.behind(command, cwd)
