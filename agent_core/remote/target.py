"""The machine that a session works on, as the user's settings have it, and the variables that its programs get."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.errors import SettingsError
from agent_core.providers.resolve import variables_named
from agent_core.settings.model import Settings
from agent_core.settings.project import FILE, ProjectPolicy, policy_in, unreadable
from tools.approval.rule_patterns import below_home, moved, with_real_places
from tools.errors import FileMissing, ToolError
from tools.home_tools import exported
from tools.ports import FileHistory, NoHistory, real_path

if TYPE_CHECKING:
    from agent_core.background_tasks import News
    from agent_core.sessions.checkpoints.restore import Disk
    from agent_core.sessions.checkpoints.versions import CallHistory
    from agent_core.settings.sections import TerminalPart
    from agent_core.workspace import Workspace
    from tools.approval.rules import PermissionRule
    from tools.environments.backends import Elsewhere, Factory, Wanted
    from tools.environments.guardian import Guardian
    from tools.settings import ToolSettings


class OwnVariables(Mapping[str, str]):
    """The environment as it is now, without the names of `hidden`, and without what is there from the home's `.env`
    only because a file of the user's asked for it.
    """

    def __init__(self, hidden: frozenset[str] = frozenset()) -> None:
        self._hidden = hidden

    def __getitem__(self, name: str) -> str:
        if name in self._hidden or name in exported():
            raise KeyError(name)
        return os.environ[name]

    def __iter__(self) -> Iterator[str]:
        hidden = self._hidden | exported()
        return (name for name in os.environ.copy() if name not in hidden)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def elsewhere_of(
    settings: Settings,
    session_id: str,
    roots: tuple[Path, ...],
    limits: ToolSettings,
    guardian: Guardian,
    *,
    tell: Callable[[str, News], None] = lambda *_: None,
) -> Elsewhere | None:
    """Where a session works; None for this machine. Blocks for a connection.

    Args:
        roots: the session's directories as its editor names them, its working directory first.
        tell: stores news for a session, of what was saved of a killed process.

    Raises:
        SettingsError: there is no such backend, or its settings are wrong. A session never works on this machine
            because another one was not found.
    """
    if settings.terminal.backend == "local":
        return None
    from agent_core.remote.session_copy import rescue_of_copies, with_words  # noqa: PLC0415 - most sessions work here
    from tools.environments.backends import Wanted  # noqa: PLC0415 - the same

    options = settings.terminal.model_dump()
    own = OwnVariables(variables_named(settings))
    wanted = Wanted(session_id, roots[0], roots[1:], options, limits, guardian, rescue_of_copies(tell), own)
    try:
        made = make_elsewhere(settings.terminal.backend, wanted)
    except ToolError as problem:
        raise SettingsError(str(problem)) from problem
    return None if made is None else with_words(made, settings.terminal)


def make_elsewhere(name: str, wanted: Wanted) -> Elsewhere | None:
    """Where the session works; None for this machine.

    Raises:
        ToolError: there is no such backend, or its options are wrong.
    """
    from tools.environments.backends import LOCAL, backend_names, registered_backend  # noqa: PLC0415 - most work here

    if name == LOCAL:
        return None
    factory = registered_backend(name) or _built_in(name)
    if factory is None:
        raise ToolError(
            f"terminal.backend is {name!r}, and there is no such backend here. There are: "
            f"{', '.join(backend_names())}. Nothing is run on this machine in its place."
        )
    return factory(wanted)


def policies_there(elsewhere: Elsewhere | None) -> tuple[ProjectPolicy, ...]:
    """What the projects in a session's directories deny, where these are not this machine's. Blocks.

    Where that cannot be looked at, everything is asked about.
    """
    if elsewhere is None or elsewhere.shared:
        return ()
    if elsewhere.problem:
        return (unreadable(f"{FILE} on {elsewhere.where}", "it cannot be reached"),)
    return tuple(_policy_of(root / FILE, elsewhere) for root in elsewhere.roots)


def is_copied(settings: TerminalPart, elsewhere: Elsewhere) -> bool:
    """Whether a session's directory is copied to where it works."""
    return settings.sync != "off" and elsewhere.begin is not None


def denied_there(
    rule: PermissionRule, elsewhere: Elsewhere | None, copied: Path | None = None
) -> tuple[PermissionRule, ...]:
    """What a rule that denies means besides, where a session's files are another machine's. Blocks.

    `~/` is the home there as well, a path is denied under the name that the links there lead to.

    Args:
        copied: the directory here that is copied there: what is denied in it is denied in the copy.
    """
    if elsewhere is None or elsewhere.shared:
        return ()
    there = () if copied is None else tuple(_in_copy(rule, elsewhere, copied))
    if elsewhere.problem:
        return (below_home(rule, "/**"), *there)  # nobody knows yet where the home there is
    try:
        files, theirs = elsewhere.files(None), below_home(rule, str(elsewhere.facts().home))
        real = (*with_real_places(theirs, elsewhere.real_roots, lambda path: str(real_path(files, Path(path)))),)
    except ToolError:
        return (below_home(rule, "/**"), *there)
    return (*real, *there)


def _in_copy(rule: PermissionRule, elsewhere: Elsewhere, top: Path) -> Iterator[PermissionRule]:
    tops = dict.fromkeys((top, Path(os.path.realpath(top))))
    roots = dict.fromkeys((elsewhere.roots[0], elsewhere.real_roots[0]))
    for each in with_real_places(rule):
        yield from (there for here in tops for root in roots for there in moved(each, here, root))


def _policy_of(path: Path, elsewhere: Elsewhere) -> ProjectPolicy:
    try:
        files = elsewhere.files(None)
        with files.open(real_path(files, path)) as stream:
            return policy_in(stream.read(), path)
    except FileMissing:
        return ProjectPolicy()
    except ToolError as problem:
        return unreadable(f"{path} on {elsewhere.where}", str(problem))


def disk_of(workspace: Workspace) -> Disk:
    """Whose files an undo of the workspace's session changes."""
    from agent_core.sessions.checkpoints.restore import FarDisk, LocalDisk  # noqa: PLC0415 - with the first undo

    elsewhere = workspace.elsewhere
    if elsewhere is None or not keeps_history(elsewhere):
        return LocalDisk(workspace.approvals.rules.roots if elsewhere is None else ())
    return FarDisk(elsewhere.where, lambda: elsewhere.files(None))


def history_there(elsewhere: Elsewhere, rows: CallHistory) -> FileHistory:
    """The history of a call whose files are not this machine's."""
    if not keeps_history(elsewhere):
        return NoHistory()
    from agent_core.sessions.checkpoints.restore import FarHistory  # noqa: PLC0415 - most sessions work here

    return FarHistory(rows, elsewhere.where, lambda: elsewhere.files(None))


def keeps_history(elsewhere: Elsewhere) -> bool:
    """Whether its files are worth an undo: a container's own go with it."""
    return elsewhere.wall == "machine" and not elsewhere.shared


def _built_in(name: str) -> Factory | None:
    # Loaded when they are chosen: most sessions work here.
    if name == "ssh":
        from tools.environments.remote.ssh import ssh_backend  # noqa: PLC0415

        return ssh_backend
    if name == "docker":
        from tools.environments.remote.containers import docker_backend  # noqa: PLC0415

        return docker_backend
    return None
