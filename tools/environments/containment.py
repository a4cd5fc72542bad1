"""How a session's commands are confined, and what is asked around them: hosts, and files that others run later."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tools.approval.actions import ConnectHost, WritePath
from tools.approval.commands import classify_command
from tools.approval.gate import Gate
from tools.approval.persistence_paths import PACKAGE_MANAGERS, run_later
from tools.approval.policy import Confines, Decision
from tools.approval.questions import Stopwatch
from tools.approval.sensitive import looks_of_git, searches_below
from tools.changes.scan import is_generated
from tools.environments.git import tracked_files
from tools.environments.persistence_watch import KeptPlaces, PlaceChange, Snapshot
from tools.environments.sandbox.places import WorkspaceSecrets
from tools.environments.sandbox.port import HOLDING, Confinement, Level, Limits, Network, Sandbox
from tools.errors import Denied, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import FileHistory, Interrupt

if TYPE_CHECKING:
    from tools.environments.unconfined_commands import GitPlace


# Whether a command that runs in the sandbox may reach a host: asked on the card of the call that runs it.


class RunningCommand:
    """A command, and how long it has waited for the person."""

    def __init__(self, gate: Gate, command: str) -> None:
        self.gate = gate
        self.command = command
        self._watch = Stopwatch()

    def asking(self) -> AbstractContextManager[None]:
        """While it lasts, the person is asked."""
        return self._watch.running()

    def waited(self) -> float:
        """Seconds."""
        return self._watch.seconds()


class GatedHosts:
    """Implements `HostGate` for the commands of one session; safe to use from several threads.

    The sandbox does not say which command a connection belongs to. So the command is shown that was started last;
    what runs in the background asks on the card of the call that has started it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[RunningCommand] = []
        self._last: RunningCommand | None = None

    @contextmanager
    def asking_for(self, gate: Gate, command: str) -> Iterator[RunningCommand]:
        """While it lasts, questions come on the card of `gate`'s call; `waited` tells their seconds."""
        mine = RunningCommand(gate, command)
        with self._lock:
            self._running.append(mine)
            self._last = mine
        try:
            yield mine
        finally:
            with self._lock:
                self._running = [other for other in self._running if other is not mine]

    def forget(self) -> None:
        """Nothing runs any more that was started so far: the calls that have started it are not held any longer."""
        with self._lock:
            if not self._running:
                self._last = None

    def may_connect(self, host: str, port: int, interrupt: Interrupt, inside: str = "") -> bool:
        """As in `HostGate`."""
        asked = self._asking()
        if asked is None:
            return False
        try:
            with asked.asking():
                asked.gate.within(interrupt).authorize(ConnectHost(host, port, inside, asked.command))
        except (Denied, ToolInterrupted):
            return False
        return True

    def reached(self) -> None:
        """As in `HostGate`."""
        if (running := self._asking()) is not None:
            running.gate.approvals.note_others()

    def _asking(self) -> RunningCommand | None:
        """On whose behalf a question comes."""
        with self._lock:
            return self._running[-1] if self._running else self._last


# Asks about what commands have changed in places that others run later, and puts back what may not stay.
# All that one command has changed is one question: a checkout may bring settings of three editors, and whoever is
# asked ten times reads none of it. What a package manager puts where its packages' programs belong is noted and not
# asked.

_MOST_LOOKS = 4
_SOMEWHERE = Path("/")
_MOST_NAMED = 3
_BEHIND = "is run or read by git or by others because of what leads to it"
# What these programs do then is run others: the packages' own, or the project's.
_RUNS_OTHERS = frozenset({
    "run", "run-script", "exec", "start", "stop", "restart", "test", "t", "x", "dlx", "node", "shell", "script",
    "create", "init", "tool", "build", "publish", "config",
})  # fmt: skip
_NEEDS_NO_WORD = frozenset({"yarn", "venv", "virtualenv"})


def look_after(
    places: KeptPlaces,
    before: Snapshot,
    gate: Gate,
    *,
    command: str = "",
    cwd: Path = _SOMEWHERE,
) -> tuple[Path, ...]:
    """Ask about what has changed since `before`; what was put back.

    Args:
        command: what was run in `cwd`; '' where nobody knows.

    Raises:
        ToolInterrupted: nobody can be asked any more; what was not agreed to is put back as well.
    """
    found: list[Path] = []
    look = before.look
    for _ in range(_MOST_LOOKS):
        changes = places.changed(before)
        asked = [change for change in changes if not _comes_along(change, changes, command, cwd)]
        if installed := [change for change in changes if change not in asked]:
            gate.note(_told(installed))
        if not asked or _may_stay(places, asked, gate):
            _note(asked, gate.history)
            break
        found += [change.path for change in asked if not change.is_behind]
        # Settings that are back may name places that nobody has looked at since the beginning.
        before = replace(places.before(keep=True), look=look)
    return tuple(found)


def written_place(path: Path, before: bytes | None, after: bytes) -> WritePath:
    """The change of a place as it is asked about."""
    return WritePath(path, before, after, shown=path, runs_later=_BEHIND)


def _may_stay(places: KeptPlaces, changes: Sequence[PlaceChange], gate: Gate) -> bool:
    try:
        gate.authorize_together([written_place(each.path, each.before, each.after) for each in changes])
    except Denied:
        _put_back(places, changes)
        return False
    except BaseException:
        # Nobody can say yes any more: the turn is over.
        _put_back(places, changes)
        raise
    return True


def _note(changes: Sequence[PlaceChange], history: FileHistory) -> None:
    """So that it can be taken back like an edit. What lies elsewhere is found by itself."""
    for change in changes:
        is_whole = change.was is None or (not change.was.is_link and change.before is not None)
        if is_whole and not change.is_behind and any(map(is_generated, change.path.parts)):
            history.writing(change.path, change.before, change.after)


def _put_back(places: KeptPlaces, changes: Sequence[PlaceChange]) -> None:
    """All of them, whatever becomes of one.

    Raises:
        OSError: what became of the first that could not be put back.
    """
    problems: list[OSError] = []
    for change in changes:
        try:
            places.put_back(change)
        except OSError as problem:
            problems.append(problem)
    if problems:
        raise problems[0]


def _comes_along(change: PlaceChange, changes: Sequence[PlaceChange], command: str, cwd: Path) -> bool:
    """Whether it is what the command installs: programs of packages, in their own place."""
    place = run_later(change.path)
    if place is None or not command or place.comes_with.isdisjoint(installers(command, cwd)):
        return False
    # Packages never change how an environment is activated; making it again does.
    is_made = any(each.path.name == "pyvenv.cfg" for each in changes)
    return is_made or change.was is None or not change.path.name.startswith("activate")


@functools.lru_cache(maxsize=64)
def installers(command: str, cwd: Path) -> frozenset[str]:
    """The package managers that a command runs so that they change what is installed."""
    from tools.approval.commands.bash.interpreter import read_command  # noqa: PLC0415 - much to load, and a start needs none of it

    found: set[str] = set()
    for call in read_command(command, cwd).invocations:
        words = [each.text for each in call.arguments]
        program = call.program
        if program.startswith("python") and words[:1] == ["-m"] and words[1:]:
            program, words = words[1], words[2:]
        plain = [word for word in words if not word.startswith("-")]
        if plain and plain[0] in _RUNS_OTHERS:
            continue
        if plain or program in _NEEDS_NO_WORD:
            found.add(program)
    return frozenset(found)


def _told(changes: Sequence[PlaceChange]) -> str:
    folders = list(dict.fromkeys(str(change.path.parent) for change in changes))
    more = f" and {len(folders) - _MOST_NAMED} more directories" if len(folders) > _MOST_NAMED else ""
    return f"Installing has changed {len(changes)} programs in {', '.join(folders[:_MOST_NAMED])}{more}."


# Which commands are confined, and how far.

_MOST_NAMES = 3


def _nowhere_else() -> str:
    return ""


def _not_set_up() -> str:
    return "no sandbox is set up"


@dataclass(frozen=True, slots=True)
class Grounds:
    """Places on this machine, resolved, as in `Confinement`."""

    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class InGit:
    """Secret files of the workspace that git has, by the project that they are of; resolved.

    Attributes:
        printed: what is in them may be shown by the command.
        compared: it looks whether they have changed.
    """

    printed: Mapping[Path, tuple[Path, ...]] = field(default_factory=dict)
    compared: Mapping[Path, tuple[Path, ...]] = field(default_factory=dict)


def may_bring_anything(confinement: Confinement | None, *, only_looks: bool) -> bool:
    """Whether a command may print what others wrote, and nobody would know: nothing keeps it from the network."""
    return not only_looks and (confinement is None or confinement.network == "on")


@dataclass(frozen=True, slots=True)
class Containment:
    """What the commands of one session may do when nobody was asked.

    Attributes:
        sandbox: who sees to it, where `why_not` says nothing else; None: nobody.
        why_not: why there is nobody, in words that follow "it is not contained: …", '' where there is somebody; asked
            when the first command is judged.
        level, network, limits: what the user's settings say.
        grounds: where commands may change files, and what they do not see; asked when the first of them runs.
        places_told, hosts_told: where commands may change files, and which hosts they reach without a question, in
            words for the model.
        places: what is looked at after a command, because others run it later.
        secrets: files of the workspace that what only looks does not see.
        projects: of a session in copies, the project that a directory of it is a copy of.
        hosts: asks whether a host may be reached.
        elsewhere: why commands run where nobody can confine them at the moment; '' where they do not.
        git_place: where git is asked what a command would run along; None: on this machine.
        on_close: called at the session's end, before the sandbox is closed.
    """

    sandbox: Sandbox | None = None
    why_not: Callable[[], str] = _not_set_up
    level: Level = "workspace-write"
    network: Network = "proxy"
    limits: Limits = field(default_factory=Limits)
    grounds: Callable[[], Grounds] = Grounds
    places_told: str = "the session's directories"
    hosts_told: tuple[str, ...] = ()
    places: KeptPlaces = field(default_factory=KeptPlaces)
    secrets: WorkspaceSecrets = field(default_factory=WorkspaceSecrets)
    projects: Mapping[Path, Path] = field(default_factory=dict)
    hosts: GatedHosts = field(default_factory=GatedHosts)
    elsewhere: Callable[[], str] = _nowhere_else
    git_place: GitPlace | None = None
    on_close: Callable[[], None] = lambda: None

    @property
    def confines(self) -> Confines:
        """As the policy wants to know it. Whoever has set `full` has decided that ordinary commands need nobody."""
        return Confines(self._why_nobody, is_wanted=self.level != "full")

    @property
    def contains(self) -> bool:
        """Whether there is somebody who confines commands."""
        return not self._why_nobody()

    def _why_nobody(self) -> str:
        return self.why_not() or ("" if self.sandbox is not None else _not_set_up())

    def exposed(self, command: str, cwd: Path, *, is_here: bool = True) -> Mapping[Path, tuple[Path, ...]]:
        """Secret files of the workspace that a command could read unasked if it is not one that only looks.

        Args:
            is_here: it runs where it can be confined.

        Returns:
            by the project that they are of; resolved.
        """
        found = {root: paths for root, paths in self.secrets.reachable(command, cwd).items() if paths}
        if not found or self.confines.why_not or not (is_here or self.level == "full"):
            return {}
        hidden = self.grounds().hidden if is_here and self.contains else ()
        return {
            self.projects.get(root, root): tuple(
                path for path in paths if not any(path.is_relative_to(each) for each in hidden)
            )
            for root, paths in found.items()
        }

    def in_git(self, command: str, cwd: Path) -> InGit:
        """Secret files of the workspace that git has, where a command has it look: no sandbox hides those."""
        looks = looks_of_git(command, cwd)
        known = self.secrets.reachable(command, cwd) if looks else {}
        if not any(known.values()):
            return InGit()
        printed, compared = set[Path](), set[Path]()
        for look in looks:
            files = None if look.directory is None else tracked_files(look.directory, look.only)
            found = {path for paths in known.values() for path in paths if files is None or path in files}
            compared |= found
            printed |= found if look.shows else set()
        return InGit(
            {self.projects.get(root, root): tuple(filter(printed.__contains__, known[root])) for root in known},
            {self.projects.get(root, root): tuple(filter(compared.__contains__, known[root])) for root in known},
        )

    @property
    def can_hide(self) -> bool:
        """Whether files can be hidden from commands that may change what is next to them."""
        if self.sandbox is None or not self.contains:
            return False
        return self.level == "read-only" or self.sandbox.hides_beside_changes

    def of(
        self,
        decision: Decision,
        *,
        is_planning: bool,
        command: str = "",
        cwd: Path = _SOMEWHERE,
        unread: tuple[Path, ...] = (),
        read: Collection[Path] = (),
    ) -> Confinement | None:
        """What a command may do that was let through by `decision`; None: whatever the user may.

        `elsewhere` is for the caller to look at: not every command runs where the others do.

        Args:
            command: what will run in `cwd`; '' where nobody knows.
            unread: secret files of the workspace that it may not read.
            read: those that it may read though it only looks.
        """
        if decision.outside or not self.contains:
            return None
        grounds = self.grounds()
        if is_planning or decision.only_looks:
            # What was proved to only look needs no more; were the proof wrong, the sandbox would still hold it.
            hidden = (*grounds.hidden, *(path for path in self.secrets() if path not in read))
            return Confinement("read-only", (), hidden, network="off", limits=self.limits)
        hidden = (*grounds.hidden, *unread)
        if self.level == "full":
            return Confinement("full", (), hidden, network="on", limits=self.limits)
        if self.level == "read-only":
            return Confinement("read-only", (), hidden, network=self.network, limits=self.limits)
        return Confinement(
            "workspace-write",
            grounds.writable,
            hidden,
            grounds.protected,
            self.network,
            self.limits,
            tuple(place for place in self._held(command, cwd) if place not in hidden),
        )

    def _held(self, command: str, cwd: Path) -> tuple[Path, ...]:
        """What is kept from this command where a single file can be; what installs packages may set hooks up."""
        try:
            holds = self.sandbox is not None and self.sandbox.name in HOLDING
        except OSError:  # it cannot be made: starting the command says why
            return ()
        if not holds or not installers(command, cwd).isdisjoint(PACKAGE_MANAGERS):
            return ()
        # What names such a place was asked about before it came here.
        found = classify_command(command, cwd, self.places.roots)
        if any(each.family == "persistence" for each in found.findings):
            return ()
        return tuple(place for place in self.places.held() if place not in found.secrets)

    def runs_along(self, command: str, cwd: Path, env: Mapping[str, str] | None = None) -> str:
        """What a command that only looks would run with nothing to contain it; '' for nothing.

        Args:
            env: what earlier commands have left in its shell.
        """
        if self.level != "full" and self.contains and not self.elsewhere():
            return ""
        from tools.environments.unconfined_commands import runs_along  # noqa: PLC0415 - loads the reader of commands

        return runs_along(command, cwd, (env or {}).get("PATH"), self.git_place)

    def reveals(self, command: str, cwd: Path) -> str:
        """Which secret files of the workspace a command that only looks may print where it runs; '' for none."""
        if self.contains and not self.elsewhere():
            return ""
        found = {*self.secrets.behind(command, cwd), *(self.secrets() if searches_below(command, cwd) else ())}
        names = sorted({place.name for place in found})
        more = len(names) - _MOST_NAMES
        return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")

    def variables(self, env: Mapping[str, str] | None, unset: Sequence[str]) -> tuple[str, ...]:
        """What confined commands have left in the shell, as `RunCommand` has it; PATH, which leads most, first."""
        if not self.contains:
            return ()
        names = sorted(env or {}, key=lambda name: (name != "PATH", name))
        return (*(f"{name}={(env or {})[name]}" for name in names), *(f"{name} taken away" for name in sorted(unset)))

    def is_led_astray(self, env: Mapping[str, str] | None) -> bool:
        """Whether PATH, as confined commands have left it, leads through what they may change."""
        path = (env or {}).get("PATH") if self.contains else None
        if path is None:
            return False
        writable = self.grounds().writable
        places = [Path(os.path.realpath(place)) for place in path.split(os.pathsep) if place.startswith("/")]
        is_whole = len(places) == path.count(os.pathsep) + 1  # an empty or relative one is wherever a command stands
        return not is_whole or any(place.is_relative_to(each) for place in places for each in writable)

    def any_left(self) -> bool:
        """Whether a confined process is alive that nobody waits for, as far as that is known."""
        return self.sandbox is not None and self.sandbox.any_left()

    def close(self) -> None:
        """The session has ended, and its commands with it."""
        self.on_close()
        if self.sandbox is not None:
            self.sandbox.close()
        self.places.disarm()
