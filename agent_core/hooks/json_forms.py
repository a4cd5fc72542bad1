"""What the command of a hook is told, in upstream's form or in the community's, and what it says."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent_core.hooks.answers import LONGEST_TEXT, verdict_of
from agent_core.hooks.hook import NOTHING, HookCall, HookFailed, Verdict
from agent_core.hooks.process import Ran
from agent_core.settings.hooks import COMMUNITY, HookName, community_tool
from tools.os_compat import absolute

_BLOCKED = 2
_WORDS = frozenset({"prompt", "session_start"})
_NOT_FOUND = (126, 127)
_MODES = {"accept_edits": "acceptEdits", "dont_ask": "bypassPermissions"}
_SOURCES = {"new": "startup"}
_PATH, _THEIR_PATH = "path", "file_path"


def to_json(written: str, call: HookCall) -> bytes:
    """What a command is told of `call`, in the form that belongs to the event's name as it was written."""
    told = _community(written, call) if written in COMMUNITY else _upstream(written, call)
    return json.dumps(told, ensure_ascii=False, default=str).encode("utf-8", "replace")


def from_run(written: str, call: HookCall, ran: Ran) -> Verdict:
    """What a command wants that has ended.

    Raises:
        HookFailed: it broke, or what it says means nothing.
    """
    said, complaint = _said(call.event, ran.stdout), ran.stderr.strip()[:LONGEST_TEXT]
    if ran.exit_code == _BLOCKED:
        reason = ""
        with contextlib.suppress(HookFailed):  # it is a no, whatever else it says
            reason = verdict_of(call.event, _parsed(said)).refusal if said.startswith("{") else ""
        return _blocked(call.event, reason or complaint or "it does not say why")
    if ran.exit_code != 0:
        raise HookFailed(_broke(ran.exit_code, complaint))
    if not said.startswith("{"):
        # Plain words count only where they can be nothing but words for the model.
        return verdict_of(call.event, said) if call.event in _WORDS else NOTHING
    verdict = verdict_of(call.event, _parsed(said))
    if verdict.arguments is not None and written in COMMUNITY:
        verdict = replace(verdict, arguments=_our_arguments(call, verdict.arguments))
    return verdict


def _said(event: HookName, output: str) -> str:
    """What a command says: its last line, where that is an object and something of no meaning stands before it."""
    said = output.strip().removeprefix("\ufeff")
    last = said.rpartition("\n")[2]
    if event in _WORDS or said.startswith("{") or not (last.startswith("{") and last.endswith("}")):
        return said
    with contextlib.suppress(HookFailed):
        _parsed(last)
        return last
    return said


def _community(written: str, call: HookCall) -> dict[str, Any]:
    facts = call.facts
    told: dict[str, Any] = {
        "session_id": call.session_id,
        "transcript_path": call.transcript(),
        "cwd": str(call.cwd),
        "permission_mode": _MODES.get(call.mode, call.mode or "default"),
        "hook_event_name": written,
    }
    if "tool_name" in facts:
        told["tool_name"] = community_tool(str(facts["tool_name"]))
        told["tool_input"] = _their_arguments(call)
        told["tool_use_id"] = facts.get("tool_call_id", "")
    match call.event:
        case "post_tool_call":
            told |= {"tool_response": facts["response"], "duration_ms": facts["duration_ms"]}
        case "permission":
            told |= {"message": facts["action"], "reason": facts["reason"]}
        case "stop" | "subagent_stop":
            told |= {
                "stop_hook_active": facts["stop_hook_active"],
                "last_assistant_message": facts["answer"],
            }
        case "session_start":
            told |= {"source": _SOURCES.get(facts["source"], facts["source"]), "model": facts["model"]}
        case "pre_compact":
            told |= {"trigger": facts["trigger"], "custom_instructions": facts["topic"]}
        case "prompt" | "session_end" | "notification":
            told |= facts
        case _:
            pass
    return told


def _upstream(written: str, call: HookCall) -> dict[str, Any]:
    facts = dict(call.facts)
    if call.event == "prompt":
        facts["user_message"] = facts["prompt"]
    return {
        "hook_event_name": written,
        "tool_name": facts.pop("tool_name", None),
        "tool_input": facts.pop("args", None),
        "session_id": call.session_id,
        "cwd": str(call.cwd),
        "extra": facts,
    }


def _their_arguments(call: HookCall) -> dict[str, Any]:
    arguments = dict(call.facts["args"])
    path = arguments.get(_PATH)
    if isinstance(path, str):
        arguments[_THEIR_PATH] = absolute(path, call.cwd)
    return arguments


def _our_arguments(call: HookCall, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that a hook changed, without the name that only the community has for one of them."""
    told = _their_arguments(call)
    arguments = {name: value for name, value in given.items() if name != _THEIR_PATH}
    if _THEIR_PATH in given and given[_THEIR_PATH] != told.get(_THEIR_PATH):
        arguments[_PATH] = given[_THEIR_PATH]
    return arguments


def _blocked(event: HookName, reason: str) -> Verdict:
    match event:
        case "permission":
            return Verdict(permission="deny", reason=reason)
        case "session_end" | "notification" | "pre_compact" | "post_model_call" | "session_start":
            return Verdict(note=reason)
        case _:
            return Verdict(refusal=reason)


def _broke(exit_code: int, complaint: str) -> str:
    why = f": {complaint[:400]}" if complaint else ""
    if exit_code < 0:
        return f"was ended by signal {-exit_code}{why}"
    if exit_code in _NOT_FOUND:
        return f"could not be run (status {exit_code}){why}"
    return f"ended with status {exit_code}{why}"


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise HookFailed(f"answered with what is no JSON ({problem})") from problem
    if not isinstance(value, Mapping):
        raise HookFailed("answered with JSON that is no object")
    return value
