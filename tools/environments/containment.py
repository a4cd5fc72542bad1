"""How a session's commands are confined: which of them, and how far."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from tools.approval.commands import classify_command
from tools.approval.persistence_paths import PACKAGE_MANAGERS
from tools.approval.policy import Confines, Decision
from tools.approval.searching import looks_of_git, searches_below
from tools.environments.gated_hosts import GatedHosts
from tools.environments.gated_places import installers
from tools.environments.kept_places import KeptPlaces
from tools.environments.sandbox.port import HOLDING, Confinement, Level, Limits, Network, Sandbox
from tools.environments.workspace_secrets import WorkspaceSecrets
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tools.environments.unconfined_commands import GitPlace

_MOST_NAMES = 3
_SOMEWHERE = Path("/")


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
        why_not: why there is nobody, in words that follow «it is not contained: …», '' where there is somebody; asked
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
            from tools.environments.git_state import tracked_files  # noqa: PLC0415 - few projects have such files

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
