"""All that a session has on another machine: its commands, its background processes and its files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from tools.approval.sensitive import why_sensitive
from tools.environments.backends import Elsewhere, Wanted
from tools.environments.containment import Containment
from tools.environments.guardian import Guardian
from tools.environments.local_commands import LocalProcesses
from tools.environments.persistence_watch import KeptPlaces
from tools.environments.remote.commands import FarEnvironment, cancellable
from tools.environments.remote.connection import FarFacts, Link, Machine
from tools.environments.remote.files import FarFileSystem, FarSearch, FileCalls
from tools.environments.remote.scripts import quoted
from tools.environments.sandbox.places import WorkspaceSecrets, words_in
from tools.environments.unconfined_commands import GitPlace
from tools.errors import CommandError, ToolError
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.settings import ToolSettings
from tools.shell.session import ShellMemory


class FarSide:
    """Safe to use from several threads. Nothing is connected before something is asked for.

    Args:
        private: directories whose files searches do not show.
        facts: what the machine is, where that is known already.
    """

    def __init__(
        self,
        machine: Machine,
        guardian: Guardian,
        settings: ToolSettings | None = None,
        *,
        private: tuple[Path, ...] = (),
        facts: FarFacts | None = None,
    ) -> None:
        limits = settings or ToolSettings()
        self.link = Link(machine, guardian)
        self.environment = FarEnvironment(self.link, limits.terminal, facts=facts)
        self._limits = limits
        self._private = private
        self._calls = FileCalls(self.link)

    def facts(self) -> FarFacts:
        """What the machine is.

        Raises:
            CommandError: it cannot be reached.
        """
        return self.environment.facts()

    def files(self, interrupt: Interrupt | None = None) -> FarFileSystem:
        """The files, for work that `interrupt` ends.

        Raises:
            CommandError: it cannot be reached; `Cancelled` where the work was ended before.
        """
        search = FarSearch(self.link, self._calls, self.facts, self._limits.search, self._private)
        if interrupt is None:
            return FarFileSystem(self._calls, self.link.machine.name, search)
        self._reach(interrupt)
        return FarFileSystem(self._calls, self.link.machine.name, search, interrupt, lambda: self._reach(interrupt))

    def close(self) -> None:
        """End what runs there, and the connection."""
        self._calls.close()
        self.link.close()

    def _reach(self, interrupt: Interrupt) -> None:
        """See to a connection; a cancel does not wait for one."""
        if not self.link.is_up:
            cancellable(self.link.session, interrupt, self.link.machine.name)


# Besides its ports: where it works there, and what is looked at there.

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
    """Finds the files of the session's directories there that hold credentials.

    Args:
        is_shared: the directories are this machine's: files are looked for here, and links followed there.
    """

    def __init__(self, side: FarSide, roots: tuple[Path, ...], *, is_shared: bool = False) -> None:
        super().__init__(roots if is_shared else ())
        self._side = side
        self._far_roots = [] if is_shared else [root for root in roots if not why_sensitive(root / "x")]

    def __call__(self) -> tuple[Path, ...]:
        """Where they are now; one that stands for all where they cannot be looked for."""
        if not self._far_roots:
            return super().__call__()
        roots = " ".join(quoted(str(root)) for root in self._far_roots)
        try:
            found = self._side.link.output_of(_SECRETS.format(roots=roots))
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


# For backends: a session in a place that shares its directories, or in one with files of its own.

Wall = Literal["none", "container", "machine"]


def side_of(machine: Machine, wanted: Wanted, passed: tuple[str, ...] = ()) -> FarSide:
    """What a session has there.

    Args:
        passed: variables that are named for it: its commands have them, whatever they look like.
    """
    known = wanted.limits.terminal.passthrough
    terminal = replace(wanted.limits.terminal, passthrough=replace(known, names=(*known.names, *passed)))
    limits: ToolSettings = replace(wanted.limits, terminal=terminal)
    return FarSide(machine, wanted.guardian, limits)


def shared_places(wanted: Wanted) -> tuple[Path, ...]:
    """The session's directories, under all the names that they have on this machine."""
    named = (wanted.cwd, *wanted.extra_roots)
    return tuple(dict.fromkeys((*(Path(os.path.realpath(root)) for root in named), *named)))


def with_shared_places(backend: str, side: FarSide, wanted: Wanted, why_not: str, note: str = "") -> Elsewhere:
    """A session whose directories are this machine's, under the same names. Asks nothing of the place.

    Args:
        why_not: why its commands are not contained, as `Elsewhere.why_not`.
    """
    named = (wanted.cwd, *wanted.extra_roots)
    places = Places(wanted.cwd, named, tuple(Path(os.path.realpath(root)) for root in named))
    shared = tuple(dict.fromkeys((*named, *places.real)))
    return replace(_elsewhere(backend, side, places, why_not, is_shared=True), shared=shared, note=note)


def with_places_there(
    backend: str,
    side: FarSide,
    wanted: Wanted,
    why_not: str,
    *,
    extra: Sequence[Path] = (),
    start: str = "",
    wall: Wall = "container",
    note: str = "",
    outlives: bool = False,
) -> Elsewhere:
    """A session in directories of the place's own. Connects, to know them; where that fails, its tools say why.

    Args:
        extra: further directories of this machine that may be there under the same name.
        start: where it works; '': in the directory of the same name, or else in the home there.
        wall: a `machine` is somebody's own, with files of its own; the others begin empty.
        outlives: what is in it stays when the session ends.
    """
    begins_empty = wall == "container"
    is_copied = begins_empty and wanted.options.get("sync", "off") != "off"
    cwd = Path(os.path.realpath(wanted.cwd)) if is_copied else wanted.cwd
    made = _elsewhere(backend, side, places_there(side, cwd, extra, start, is_copied), why_not)
    begin = side.link.running if begins_empty else None
    return replace(made, wall=wall, note=note, begin=begin, outlives=outlives)


def _elsewhere(backend: str, side: FarSide, places: Places, why_not: str, *, is_shared: bool = False) -> Elsewhere:
    return Elsewhere(
        backend=backend,
        where=side.link.machine.name,
        cwd=places.cwd,
        roots=places.roots,
        real_roots=places.real,
        files=side.files,
        terminal=side.environment,
        processes=LocalProcesses(side.environment, ShellMemory(places.cwd)),
        facts=side.facts,
        command=side.link.output_of,
        close=side.close,
        containment=Containment(
            why_not=lambda: why_not,
            places=KeptPlaces(places.real if is_shared else ()),
            secrets=FarSecrets(side, places.real, is_shared=is_shared),
            git_place=git_there(side.link),
        ),
        problem=places.problem,
        wall="container",
    )


def experimental(backend: str, against: str) -> str:
    """What the person is told of a backend that only a stand-in has tried, as `Elsewhere.note`."""
    return (
        f"The backend {backend} is experimental: not yet run against {against}, only against a stand-in for it. "
        "Tell us what you see of it that is wrong."
    )
