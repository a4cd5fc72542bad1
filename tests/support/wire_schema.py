"""Each message that the agent sends, held against the protocol's schema (the SDK's models)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Union

import acp_adapter.sdk  # noqa: F401 - first: it loads the SDK's models for a third of what they cost

# isort: split
from acp import schema
from pydantic import TypeAdapter, ValidationError


class WireViolation(AssertionError):
    """The agent sent what it must not send."""


CALLS: dict[str, Any] = {
    "session/request_permission": schema.RequestPermissionRequest,
    "fs/read_text_file": schema.ReadTextFileRequest,
    "fs/write_text_file": schema.WriteTextFileRequest,
    "terminal/create": schema.CreateTerminalRequest,
    "terminal/output": schema.TerminalOutputRequest,
    "terminal/wait_for_exit": schema.WaitForTerminalExitRequest,
    "terminal/kill": schema.KillTerminalRequest,
    "terminal/release": schema.ReleaseTerminalRequest,
    "elicitation/create": Union[  # noqa: UP007 - a value, not an annotation
        schema.CreateFormSessionElicitationRequest,
        schema.CreateUrlSessionElicitationRequest,
        schema.CreateFormRequestElicitationRequest,
        schema.CreateUrlRequestElicitationRequest,
    ],
}

NOTICES: dict[str, Any] = {
    "session/update": schema.SessionNotification,
    "elicitation/complete": schema.CompleteElicitationNotification,
    "$/cancel_request": schema.CancelRequestNotification,
}

ANSWERS: dict[str, Any] = {
    "initialize": schema.InitializeResponse,
    "authenticate": schema.AuthenticateResponse | None,
    "logout": schema.LogoutResponse | None,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/resume": schema.ResumeSessionResponse,
    "session/fork": schema.ForkSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/close": schema.CloseSessionResponse | None,
    "session/delete": schema.DeleteSessionResponse | None,
    "session/set_mode": schema.SetSessionModeResponse | None,
    "session/set_config_option": schema.SetSessionConfigOptionResponse,
    "session/prompt": schema.PromptResponse,
}


_TEXT, _OPTIONAL = str, (str, type(None))
NEWER_UPDATES: dict[str, dict[str, Any]] = {
    "notice": {"severity": _TEXT, "title": _TEXT, "description": _OPTIONAL},
    "compaction_update": {"compactionId": _TEXT, "status": _TEXT, "summary": (list, type(None)), "error": _OPTIONAL},
    "compaction_summary_chunk": {"compactionId": _TEXT, "content": dict},
}
"""Updates that the oldest supported models do not have, with the types of their fields."""

_UNMODELLED: dict[str, dict[str, Any]] = {
    "authMethods": {"type": "agent"},
    "update": {} if "name" in schema.ToolCallStart.model_fields else {"name": None},
    "toolCall": {} if "name" in schema.ToolCallUpdate.model_fields else {"name": None},
}
"""Fields of the specification that no model has: of what, with which value (None is any)."""

_SESSION = re.compile(r"(?<=\")ses_[0-9a-f]{24}(?=\")")
_MOST_FOUND = 5_000
_FOUND_GOOD: set[tuple[str, str]] = set()
"""What has been judged good, without the ids of sessions: greetings, options and commands come again and again."""

_NEWER_MODELS = hasattr(schema, "SessionUpdateNotice")


def check_outgoing(frame: Any, answers: str | None = None) -> None:
    """Hold one message of the agent against the schema; `answers` is the method of the request it answers.

    Raises:
        WireViolation: it does not fit, or holds fields that the schema does not know.
    """
    if not isinstance(frame, dict):
        raise WireViolation(f"a message is one JSON object, not {_short(frame)}")
    if frame.get("jsonrpc") != "2.0":
        raise WireViolation(f'"jsonrpc" is not "2.0": {_short(frame)}')
    if "method" in frame:
        _check_call(frame)
    else:
        _check_answer(frame, answers)


def _check_call(frame: dict[str, Any]) -> None:
    _only(frame, {"jsonrpc", "id", "method", "params"})
    method = frame["method"]
    if method in CALLS:
        if "id" not in frame:
            raise WireViolation(f"{method} is a request and needs an id: {_short(frame)}")
        _fits(CALLS[method], frame.get("params"), f"params of {method}")
    elif method in NOTICES:
        if "id" in frame:
            raise WireViolation(f"{method} is a notification and has no id: {_short(frame)}")
        update = (frame.get("params") or {}).get("update") or {}
        if not _NEWER_MODELS and update.get("sessionUpdate") in NEWER_UPDATES:
            _check_newer(update)
        else:
            _fits(NOTICES[method], frame.get("params"), f"params of {method}")
    elif not method.startswith("_"):
        raise WireViolation(f"no client knows the method {method!r}")


def _check_newer(update: dict[str, Any]) -> None:
    kind, fields = update["sessionUpdate"], NEWER_UPDATES[update["sessionUpdate"]]
    _only(update, {"sessionUpdate", "_meta", *fields})
    for name, types in fields.items():
        if not isinstance(update.get(name), types):
            raise WireViolation(f"{name} of {kind} is missing or of another type: {_short(update)}")


def _check_answer(frame: dict[str, Any], method: str | None) -> None:
    _only(frame, {"jsonrpc", "id", "result", "error"})
    if "id" not in frame:
        raise WireViolation(f"an answer without an id: {_short(frame)}")
    if ("result" in frame) == ("error" in frame):
        raise WireViolation(f"an answer holds either a result or an error: {_short(frame)}")
    if "error" in frame:
        _check_error(frame["error"])
    elif method in ANSWERS:
        _fits(ANSWERS[method], frame["result"], f"answer to {method}")


def _check_error(error: Any) -> None:
    if not isinstance(error, dict):
        raise WireViolation(f"an error is an object, not {_short(error)}")
    _only(error, {"code", "message", "data"})
    code, message = error.get("code"), error.get("message")
    if not isinstance(code, int) or isinstance(code, bool):
        raise WireViolation(f"an error's code is an integer: {_short(error)}")
    if not isinstance(message, str) or not message.strip():
        raise WireViolation(f"an error needs a message: {_short(error)}")
    if len(message.splitlines()) != 1:
        raise WireViolation(f"an error's message is one line: {_short(error)}")
    if "Traceback (most recent call last)" in json.dumps(error):
        raise WireViolation(f"an error shows a traceback: {_short(error)}")


def _fits(model: Any, value: Any, what: str) -> None:
    try:
        text = _SESSION.sub("", json.dumps(value))
    except (TypeError, ValueError):
        text = ""
    if not text or (what, text) not in _FOUND_GOOD:
        _judge(model, value, what)
    if text and len(_FOUND_GOOD) < _MOST_FOUND:
        _FOUND_GOOD.add((what, text))


def _judge(model: Any, value: Any, what: str) -> None:
    adapter = _adapter(model)
    try:
        parsed = adapter.validate_python(value, strict=False)
    except ValidationError as error:
        raise WireViolation(f"{what} does not fit the schema: {error}") from None
    # The models repair or drop what they cannot read, so a message is right only if it comes back unchanged.
    kept = adapter.dump_python(parsed, by_alias=True, exclude_unset=True, mode="json", warnings=False)
    difference = first_difference(_as_modelled(value), kept)
    if difference is not None:
        raise WireViolation(f"{what}: the schema does not accept {difference} in {_short(value)}")


def _as_modelled(value: Any) -> Any:
    """`value` without what the specification has and the models do not know."""
    if not isinstance(value, dict):
        return value
    kept = dict(value)
    for key, extra in _UNMODELLED.items():
        match value.get(key):
            case dict() as part:
                kept[key] = _without(part, extra)
            case list() as parts:
                kept[key] = [_without(part, extra) for part in parts]
    return kept


def _without(part: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in part.items() if key not in extra or extra[key] not in {None, each}}


def first_difference(sent: Any, kept: Any, path: str = "") -> str | None:
    """Where `kept` is not what was sent, in words; None where they are equal."""
    if isinstance(sent, dict) and isinstance(kept, dict):
        for key in [*sent, *(key for key in kept if key not in sent)]:
            where = f"{path}.{key}" if path else key
            if key not in kept or key not in sent:
                return f"{where}={_short(sent.get(key, kept.get(key)))}"
            inner = first_difference(sent[key], kept[key], where)
            if inner is not None:
                return inner
        return None
    if isinstance(sent, list) and isinstance(kept, list) and len(sent) == len(kept):
        pairs = enumerate(zip(sent, kept, strict=True))
        inners = (first_difference(one, other, f"{path}[{index}]") for index, (one, other) in pairs)
        return next((inner for inner in inners if inner is not None), None)
    return None if sent == kept and isinstance(sent, bool) == isinstance(kept, bool) else f"{path}={_short(sent)}"


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def _only(frame: dict[str, Any], allowed: set[str]) -> None:
    extra = set(frame) - allowed
    if extra:
        raise WireViolation(f"unknown fields {sorted(extra)} in {_short(frame)}")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 400 else f"{text[:400]} … ({len(text)} characters)"
