"""The one place where errors become JSON-RPC errors: a code, one line for people, never a secret or a traceback."""

from __future__ import annotations

import logging
from typing import Any, TypedDict

from agent_core.errors import AuthRequired, HermesError, RequestError, UnknownSession

log = logging.getLogger(__name__)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
AUTH_REQUIRED = -32000
NOT_FOUND = -32002

_MAX_TEXT = 1_000
_UNEXPECTED = (
    "Something went wrong inside the agent. Its log file (logs/hermes-acp.log in its home directory) has the details."
)


class WireError(TypedDict):
    """A JSON-RPC error object; some clients show `message`, others `data.details`."""

    code: int
    message: str
    data: dict[str, Any]


def wire_error(problem: BaseException) -> WireError:
    """What the client is told of `problem`."""
    match problem:
        case AuthRequired():
            return make_error(AUTH_REQUIRED, problem.public)
        case UnknownSession():
            return make_error(NOT_FOUND, problem.public)
        case RequestError():
            return make_error(INVALID_PARAMS, problem.public)
        case HermesError():
            return make_error(INTERNAL_ERROR, problem.public)
        case _:
            return make_error(INTERNAL_ERROR, _UNEXPECTED)


def logged_error(problem: BaseException, what: str) -> WireError:
    """The same; what nobody has foreseen is in the log, with the name of what failed."""
    if not isinstance(problem, HermesError):
        log.error("%s failed", what, exc_info=problem)
    return wire_error(problem)


def make_error(code: int, text: str) -> WireError:
    """An error object whose text is one line of bounded length."""
    from tools.redaction import redact  # noqa: PLC0415 - most sessions have no errors

    line = redact(" ".join(text.split()))
    line = line if len(line) <= _MAX_TEXT else f"{line[:_MAX_TEXT]}…"
    return {"code": code, "message": line, "data": {"details": line}}


def sanitised(error: object) -> WireError:
    """An error object made by a library, without echoes of the input and links to its documentation."""
    if not isinstance(error, dict):
        return make_error(INTERNAL_ERROR, _UNEXPECTED)
    code, message, data = error.get("code", INTERNAL_ERROR), str(error.get("message", "")), error.get("data")
    if isinstance(data, dict) and isinstance(data.get("errors"), list):
        return make_error(
            INVALID_PARAMS, f"Invalid params: {'; '.join(_field_problem(item) for item in data['errors'])}"
        )
    if code == METHOD_NOT_FOUND:
        name = data.get("method") if isinstance(data, dict) else None
        return make_error(code, f"There is no method {name!r} here." if name else message or "Method not found.")
    own = isinstance(data, dict) and data.get("details") == message
    # What a library says of its own failure is an exception's text: it may hold anything.
    return make_error(code, message if own or code != INTERNAL_ERROR else _UNEXPECTED)


def _field_problem(item: object) -> str:
    if not isinstance(item, dict):
        return "a value is not of the right form"
    where = ".".join(str(step) for step in item.get("loc", ())) or "params"
    if item.get("type") == "union_tag_invalid":  # its message repeats the value
        return f"{where}: it is of none of the known types"
    return f"{where}: {item.get('msg', 'not of the right form')}"
