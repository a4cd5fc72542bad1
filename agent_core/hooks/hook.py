"""What a hook is, what it is told, what it may want and how it says that; and the bounded time that it has."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from agent_core.settings.hooks import HookName, names_of_tool
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.result import ToolResult

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


# What a hook has answered, from the forms that people know: those of upstream's hooks and of the community's.

LONGEST_TEXT = 20_000
"""Characters of a text of a hook's that somebody reads."""

_PERMISSIONS: Mapping[str, Permission] = {
    "allow": "allow",
    "approve": "allow",
    "deny": "deny",
    "block": "deny",
    "ask": "ask",
    "defer": "",
}


def verdict_of(event: HookName, answer: object) -> Verdict:
    """What an answer means: None, a text, a mapping in one of the known forms, or (of a result) a `ToolResult`.

    Raises:
        HookFailed: it means nothing.
    """
    match answer:
        case None:
            return NOTHING
        case Verdict():
            return answer
        case ToolResult() if event == "post_tool_call":
            return Verdict(result=answer)
        case str():
            return _of_text(event, answer)
        case Mapping():
            return _of_mapping(event, cast("Mapping[str, Any]", answer))
        case _:
            raise HookFailed(f"answered with a {type(answer).__name__}, which means nothing at {event}")


def _of_text(event: HookName, text: str) -> Verdict:
    if not text.strip():
        return NOTHING
    match event:
        case "prompt" | "session_start":
            return Verdict(context=_cut(text))
        case "post_tool_call":
            return Verdict(result=text)
        case "pre_tool_call" | "pre_model_call" | "stop" | "subagent_stop":
            return Verdict(refusal=_cut(text))
        case _:
            return NOTHING


def _of_mapping(event: HookName, answer: Mapping[str, Any]) -> Verdict:
    own = answer.get("hookSpecificOutput")
    specific = cast("Mapping[str, Any]", own) if isinstance(own, Mapping) else {}
    refusal, permission, reason = _decision(event, answer)
    if event == "pre_tool_call" and "permissionDecision" in specific:
        permission = _permission(specific["permissionDecision"])
        reason = _text(specific, "permissionDecisionReason")
        refusal = reason or "A hook of the user's refuses this call." if permission == "deny" else refusal
    decided = specific.get("decision")
    if event == "permission" and isinstance(decided, Mapping):
        permission, reason = _permission(decided.get("behavior")), _text(decided, "message")
    return Verdict(
        refusal=_cut(refusal),
        arguments=_arguments(answer, specific),
        permission=permission,
        reason=_cut(reason),
        context=_cut(_text(answer, "context") or _text(specific, "additionalContext")),
        result=_result(event, answer, specific),
        note=_cut(_text(answer, "systemMessage")),
        ends=_cut(_text(answer, "stopReason") or reason) if answer.get("continue") is False else None,
    )


def _decision(event: HookName, answer: Mapping[str, Any]) -> tuple[str, Permission, str]:
    """Refusal, permission and reason, of `decision` (the community's) or `action` (upstream's)."""
    reason = _text(answer, "reason") or _text(answer, "message")
    decision, action = _text(answer, "decision"), _text(answer, "action")
    refuses = decision in {"block", "deny"} or action == "block" or (action == "continue" and event == "stop")
    if event == "permission":
        return "", "deny" if refuses else _permission(answer.get("decision")), reason
    if refuses:
        return reason or _NO_REASON, "deny", reason
    if action == "approve":  # upstream's word for «the person is to be asked»
        return "", "ask", reason
    if decision in {"approve", "allow", "ask"}:
        return "", _permission(decision), reason
    return "", "", reason


def _permission(value: object) -> Permission:
    if value is None:
        return ""
    if not isinstance(value, str) or value not in _PERMISSIONS:
        raise HookFailed(f"answered with the decision {str(value)[:40]!r}; it may be allow, deny or ask")
    return _PERMISSIONS[value]


def _arguments(answer: Mapping[str, Any], specific: Mapping[str, Any]) -> Mapping[str, Any] | None:
    changed = answer.get("action") == "modify" or answer.get("decision") == "modify"
    given = specific.get("updatedInput")
    if given is None and changed:
        given = answer.get("args", answer.get("tool_input"))
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise HookFailed("changes the arguments to something that is no object")
    return given


def _result(event: HookName, answer: Mapping[str, Any], specific: Mapping[str, Any]) -> str | None:
    given = specific.get("updatedToolOutput", answer.get("result"))
    return given if event == "post_tool_call" and isinstance(given, str) else None


def _text(answer: Mapping[str, Any], key: str) -> str:
    value = answer.get(key)
    return value.strip() if isinstance(value, str) else ""


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} […]"


_NO_REASON = "A hook of the user's refuses it, and does not say why."


# Runs code of the user's on a thread of its own, for a bounded time.

log = logging.getLogger(__name__)

_T = TypeVar("_T")


def bounded(work: Callable[[], _T], seconds: float, interrupt: Interrupt | None, name: str) -> _T:
    """What `work` returns.

    Args:
        interrupt: ends the wait; None where nothing does.
        name: whose it is, for the thread and the log.

    Raises:
        HookFailed: it raised, or has not ended after `seconds`; then it goes on, and nobody waits for it.
        ToolInterrupted: the turn is over.
    """
    done = threading.Event()
    values: list[_T] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            values.append(work())
        except BaseException as problem:  # noqa: BLE001 - it is code of the user's, and is told below
            problems.append(problem)
        finally:
            done.set()
            if interrupt is not None:
                interrupt.notify()

    threading.Thread(target=run, name=name, daemon=True).start()
    if interrupt is None:
        done.wait(seconds)
    else:
        interrupt.wait_for(done.is_set, seconds)
    if not done.is_set():
        if interrupt is not None and interrupt.is_set():
            raise ToolInterrupted
        raise HookFailed(f"has not answered within {seconds:g} seconds")
    if problems:
        problem = problems[0]
        if isinstance(problem, HookFailed | ToolInterrupted):
            raise problem
        log.warning("%s failed", name, exc_info=problem)
        raise HookFailed(f"failed: {type(problem).__name__}: {problem}") from problem
    return values[0]


def in_background(work: Callable[[], object], name: str) -> None:
    """Do `work` on a thread of its own; nobody waits for it, and what it raises is logged."""

    def run() -> None:
        try:
            work()
        except Exception:
            log.warning("%s failed in the background", name, exc_info=True)

    threading.Thread(target=run, name=name, daemon=True).start()
