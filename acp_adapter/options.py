"""What the user can choose for a session: the permission mode, as ACP modes and as a config option, kept in sync."""

from __future__ import annotations

from typing import Any, get_args

from agent_core.errors import RequestError
from tools.approval.policy import Mode

MODE_OPTION = "mode"

_MODES: dict[Mode, tuple[str, str]] = {
    "default": ("Ask before edits", "Edits and risky commands are shown first and wait for your answer."),
    "accept_edits": (
        "Accept edits",
        "Files of the session are edited without asking; risky commands ask.",
    ),
    "dont_ask": ("Run everything without asking", "Edits and commands run at once, risky ones too."),
}


def mode_state(current: Mode) -> dict[str, Any]:
    """ACP `SessionModeState`."""
    available = [{"id": mode, "name": name, "description": text} for mode, (name, text) in _MODES.items()]
    return {"currentModeId": current, "availableModes": available}


def config_options(current: Mode) -> list[dict[str, Any]]:
    """The complete list of ACP config options."""
    choices = [{"value": mode, "name": name, "description": text} for mode, (name, text) in _MODES.items()]
    return [
        {
            "id": MODE_OPTION,
            "name": "Permissions",
            "description": "When the agent asks before it acts",
            "category": "mode",
            "type": "select",
            "currentValue": current,
            "options": choices,
        }
    ]


def parse_mode(value: object) -> Mode:
    """The mode of that id.

    Raises:
        RequestError: there is none.
    """
    for mode in get_args(Mode):
        if value == mode:
            return mode  # type: ignore[no-any-return] # get_args loses the literal's type
    raise RequestError(f"There is no mode {str(value)[:40]!r}. Choose one of: {', '.join(_MODES)}.")


def parse_option(config_id: str, value: object) -> Mode:
    """The mode that `session/set_config_option` asks for.

    Raises:
        RequestError: there is no such option, or no such value.
    """
    if config_id != MODE_OPTION:
        raise RequestError(f"There is no option {config_id[:40]!r}. The only one is {MODE_OPTION!r}.")
    return parse_mode(value)
