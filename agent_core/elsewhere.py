"""The machine that a session works on, as the user's settings have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core.errors import SettingsError
from agent_core.settings import Settings
from tools.errors import ToolError

if TYPE_CHECKING:
    from pathlib import Path

    from tools.environments.backends import Elsewhere
    from tools.environments.guardian import Guardian
    from tools.settings import ToolSettings


def elsewhere_of(
    settings: Settings,
    session_id: str,
    roots: tuple[Path, ...],
    limits: ToolSettings,
    guardian: Guardian,
) -> Elsewhere | None:
    """Where a session works; None for this machine. Blocks for a connection.

    Args:
        roots: the session's directories as its editor names them, its working directory first.

    Raises:
        SettingsError: there is no such backend, or its settings are wrong. A session never works on this machine
            because another one was not found.
    """
    if settings.terminal.backend == "local":
        return None
    from tools.environments.backends import Wanted, make_elsewhere  # noqa: PLC0415 - most sessions work here

    options = settings.terminal.model_dump()
    wanted = Wanted(session_id, roots[0], roots[1:], options, limits, guardian)
    try:
        return make_elsewhere(settings.terminal.backend, wanted)
    except ToolError as problem:
        raise SettingsError(str(problem)) from problem
