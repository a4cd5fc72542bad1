"""Which model a session asks: the one that was chosen for it, or used in it, or that the settings name."""

from __future__ import annotations

from collections.abc import Callable

from agent_core.config import Configuration
from agent_core.errors import AuthRequired, SettingsError
from agent_core.providers.available_models import command_line_decides, resolve_chosen
from agent_core.providers.choice import ModelChoice
from agent_core.providers.resolve import resolve_model


def session_model(config: Configuration, chosen: str, used: str, on_note: Callable[[str], None]) -> ModelChoice:
    """The model, as provider:model in `chosen` or `used`; '' for none.

    Args:
        on_note: is told where the session's own model cannot be used any more, and another answers.

    Raises:
        AuthRequired, SettingsError: no usable model.
    """
    own = chosen or ("" if command_line_decides(config) else used)
    if not own:
        return resolve_model(config)
    try:
        return resolve_chosen(config, own)
    except (AuthRequired, SettingsError) as problem:
        choice = resolve_model(config)
        on_note(f"This session's model, {own}, cannot be used now ({problem.public}) {choice.name} answers.")
        return choice
