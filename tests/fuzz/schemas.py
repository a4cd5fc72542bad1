"""What a client may send, as JSON schemas: from the SDK's models, and by hand for what those do not have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import acp_adapter.sdk  # noqa: F401 - first: it loads the SDK's models for a third of what they cost

# isort: split
from acp import schema
from pydantic import TypeAdapter

Schema = Mapping[str, Any]

_MODELS: dict[str, Any] = {
    "initialize": schema.InitializeRequest,
    "authenticate": schema.AuthenticateRequest,
    "logout": schema.LogoutRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/resume": schema.ResumeSessionRequest,
    "session/fork": schema.ForkSessionRequest,
    "session/list": schema.ListSessionsRequest,
    "session/close": schema.CloseSessionRequest,
    "session/delete": schema.DeleteSessionRequest,
    "session/set_mode": schema.SetSessionModeRequest,
    "session/set_config_option": schema.SetSessionConfigOptionSelectRequest
    | schema.SetSessionConfigOptionBooleanRequest,
    "session/prompt": schema.PromptRequest,
}

_NOTICES: dict[str, Any] = {
    "session/cancel": schema.CancelNotification,
    "$/cancel_request": schema.CancelRequestNotification,
}

_RESULTS: dict[str, Any] = {
    "session/request_permission": schema.RequestPermissionResponse,
    "fs/read_text_file": schema.ReadTextFileResponse,
    "fs/write_text_file": schema.WriteTextFileResponse,
    "terminal/create": schema.CreateTerminalResponse,
    "terminal/output": schema.TerminalOutputResponse,
    "terminal/wait_for_exit": schema.WaitForTerminalExitResponse,
    "terminal/kill": schema.KillTerminalResponse,
    "terminal/release": schema.ReleaseTerminalResponse,
    "elicitation/create": schema.AcceptElicitationResponse | schema.DeclineElicitationResponse,
}


def _own(**properties: Schema) -> Schema:
    fields = {"sessionId": {"type": "string"}, "_meta": {"type": "object"}, **properties}
    return {"type": "object", "properties": fields, "required": ["sessionId"]}


_TEXT: Schema = {"type": "string"}
_SWITCH: Schema = {"type": "boolean"}
_TEXT_BLOCK: Schema = {
    "type": "object",
    "properties": {"type": {"const": "text"}, "text": _TEXT},
    "required": ["type", "text"],
}
_OWN: dict[str, Schema] = {
    "_session/steering": _own(prompt={"type": "array", "items": _TEXT_BLOCK}),
    "_hermes/session/rewind": _own(
        turns={"type": "integer", "minimum": 0, "maximum": 4},
        redo=_SWITCH,
        preview=_SWITCH,
        found=_SWITCH,
        overwrite={"type": "array", "items": _TEXT},
    ),
    "_hermes/session/activity": _own(),
    "_hermes/session/tasks": _own(action={"enum": ["stop", "pause", "resume"]}, taskId=_TEXT),
}

REQUESTS: tuple[str, ...] = (*_MODELS, *_OWN)
"""Every method that is answered."""

NOTICES: tuple[str, ...] = tuple(_NOTICES)
"""Every method that is not."""


@cache
def params_of(method: str) -> Schema:
    """The schema of a method's parameters; its definitions are under `$defs`."""
    if method in _OWN:
        return _OWN[method]
    return TypeAdapter(_MODELS.get(method) or _NOTICES[method]).json_schema(by_alias=True)


@cache
def result_of(method: str) -> Schema | None:
    """The schema of what an editor answers to a request of the agent; None for a method that is not known."""
    model = _RESULTS.get(method)
    return None if model is None else TypeAdapter(model).json_schema(by_alias=True)
