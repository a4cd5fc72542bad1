"""Whether the machine that sessions work on can be reached, where it is not this one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.finding import Finding, failing, well

if TYPE_CHECKING:
    from agent_core.settings.model import Settings
    from tools.environments.guardian import Guardian

_NAME = "terminal"
_STEP = "See docs/environments.md; with terminal.backend: local sessions work on this machine."


def check_elsewhere(case: Case) -> Iterator[Finding]:
    """Go there as a session would, and leave nothing."""
    config = case.config()
    if config is None or config.settings.terminal.backend == "local":
        return
    from agent_core.config import ConfigSource  # noqa: PLC0415 - after the settings
    from agent_core.plugins.plugins import Plugins  # noqa: PLC0415 - the same
    from tools.environments.guardian import Guardian  # noqa: PLC0415 - starts processes

    with case.plugins:
        Plugins(ConfigSource(case.home)).load_for_backend(config.settings.terminal.backend)
    guardian = Guardian()
    try:
        with case.endings.by(guardian.kill_all):
            yield from _reached(case, config.settings, guardian)
    finally:
        guardian.kill_all()


def _reached(case: Case, settings: Settings, guardian: Guardian) -> Iterator[Finding]:
    from agent_core.elsewhere import elsewhere_of  # noqa: PLC0415 - as above
    from agent_core.errors import SettingsError  # noqa: PLC0415 - the same
    from tools.errors import CommandError  # noqa: PLC0415 - the same
    from tools.settings import ToolSettings  # noqa: PLC0415 - the same

    # A container gets a directory: an empty one will do.
    folder = case.scratch / "elsewhere"
    folder.mkdir()
    backend = settings.terminal.backend
    try:
        elsewhere = elsewhere_of(settings, "", (folder,), ToolSettings(), guardian)
        if elsewhere is None:
            return
        try:
            facts = elsewhere.facts()
            note = f". {elsewhere.note}" if elsewhere.note else ""
            text = f"sessions work on {elsewhere.where} ({facts.system}, {facts.shell}){note}"
            yield well(_NAME, text, backend=backend, where=elsewhere.where)
        finally:
            elsewhere.close()
    except (SettingsError, CommandError) as problem:
        yield failing(_NAME, str(problem), _STEP, backend=backend)
