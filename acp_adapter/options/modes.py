"""The permission modes as a client shows them: as ACP modes, and as choices of the option `mode`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent_core.errors import RequestError
from agent_core.options import Choice

if TYPE_CHECKING:
    from tools.approval.policy import Mode

MODES: Mapping[Mode, Choice] = {
    "plan": Choice(
        "plan", "Plan first", "Nothing is changed: the agent reads, and ends with a plan for you to approve."
    ),
    "default": Choice(
        "default", "Ask before edits", "Edits and risky commands are shown first and wait for your answer."
    ),
    "accept_edits": Choice(
        "accept_edits", "Accept edits", "Files of the session are edited without asking; risky commands ask."
    ),
    "dont_ask": Choice(
        "dont_ask", "Run everything without asking", "Edits and commands run at once, risky ones too."
    ),
}
"""The most careful one first."""


def mode_state(current: Mode) -> dict[str, Any]:
    """ACP `SessionModeState`."""
    available = [{"id": mode, "name": each.name, "description": each.description} for mode, each in MODES.items()]
    return {"currentModeId": current, "availableModes": available}


def parse_mode(value: object) -> Mode:
    """The mode of that id.

    Raises:
        RequestError: there is none.
    """
    for mode in MODES:
        if value == mode:
            return mode
    raise RequestError(f"There is no mode {str(value)[:40]!r}. Choose one of: {', '.join(MODES)}.")
