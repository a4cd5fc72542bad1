"""What a hook has answered, from the forms that people know: those of upstream's hooks and of the community's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agent_core.hooks.hook import NOTHING, HookFailed, Permission, Verdict
from agent_core.settings.hooks import HookName
from tools.result import ToolResult

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
