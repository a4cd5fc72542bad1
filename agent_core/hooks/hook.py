"""What a hook is, what it is told, and what it may want."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from agent_core.settings.hooks import HookName, names_of_tool
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.result import ToolResult

SECONDS = 60.0
"""A hook has so long, where it says nothing else."""

Permission = Literal["", "allow", "deny", "ask"]

_MATCHED_BY: Mapping[HookName, str] = {
    "session_start": "source",
    "session_end": "reason",
    "notification": "notification_type",
    "pre_compact": "trigger",
}


class HookFailed(Exception):
    """A hook could not be asked, or its answer cannot be understood; the text completes «it …»."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """What a hook is told.

    Attributes:
        event: what happens.
        session_id, cwd: of the session.
        mode: its permission mode.
        facts: the rest, by the names that docs/hooks.md lists for the event.
        transcript: the path of a file with the conversation, made when it is asked for; '' where there is none.
    """

    event: HookName
    session_id: str
    cwd: Path
    mode: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    transcript: Callable[[], str] = str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a hook wants; nothing, where it says nothing.

    Attributes:
        refusal: why what is about to happen must not; at `stop`, what the model is to do before it ends.
        arguments: the tool call's, changed; None leaves them.
        permission: what it says to a question, or to a call before it is asked about.
        reason: why, for `permission`.
        context: what the model is told beside.
        result: stands in place of the tool's result; None leaves it.
        note: for the person.
        ends: why the turn is to end; None where it goes on.
    """

    refusal: str = ""
    arguments: Mapping[str, Any] | None = None
    permission: Permission = ""
    reason: str = ""
    context: str = ""
    result: str | ToolResult | None = None
    note: str = ""
    ends: str | None = None


NOTHING = Verdict()

Run = Callable[[HookCall, Interrupt | None], Verdict]
"""Asks a hook, and blocks no longer than its time.

Raises:
    HookFailed: as that says. ToolInterrupted: the turn is over.
"""


@dataclass(frozen=True, slots=True)
class Hook:
    """Something of the user's that hears of an event.

    Attributes:
        source: whose it is, for people: «the plugin weather», «a command in config.yaml (check.sh)».
        matcher: which calls it hears of, an expression for the whole tool name (or of what the event is told apart
            by); '' and `*` are all.
        in_background: nobody waits for it, and it decides nothing.
        refuses_when_failing: where it cannot be asked, the answer is no.
    """

    event: HookName
    source: str
    run: Run
    matcher: str = ""
    in_background: bool = False
    refuses_when_failing: bool = False

    def matches(self, call: HookCall) -> bool:
        """Whether it hears of this."""
        if self.matcher in {"", "*"}:
            return True
        tool = call.facts.get("tool_name")
        if isinstance(tool, str):
            return any(re.fullmatch(self.matcher, name) for name in names_of_tool(tool))
        by = _MATCHED_BY.get(call.event)
        return by is None or re.fullmatch(self.matcher, str(call.facts.get(by, ""))) is not None
