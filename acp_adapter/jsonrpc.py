"""JSON-RPC messages as bytes and back: what a line must be to be a message, and how a message becomes a line."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeGuard

from acp_adapter.errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR
from tools import quick_json
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


# Infinity would be taken for a number, and break whoever wants an integer of it.
_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=lambda _: None)
_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")  # or a whole one
_BYTE_ORDER_MARK = "\ufeff"

RequestId = str | int | None
Incoming = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RequestMeta:
    """What a handler learns beside its parameters: the request's id and its `_meta`, as one argument.

    The SDK spreads `_meta` into keyword arguments, where its keys would override real parameters; so this object is
    put in its place, under the single key `hermes_meta`.

    Attributes:
        capabilities: what the client can do, as `initialize` has it: the SDK drops what it does not know.
        servers, directories: `mcpServers` and `additionalDirectories` as they came: the SDK drops what is malformed.
    """

    request_id: RequestId = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    capabilities: object = None
    servers: object = None
    directories: object = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that is no message we can take, and the error answer to it."""

    request_id: RequestId
    code: int
    text: str


def parse_line(line: bytes) -> Incoming | Rejected | None:
    """The message in `line`, with `params` an object; None for what needs neither handling nor an answer.

    (JSON-RPC 2.0, sections 4 and 5; ACP v1 uses no batches, and no encoding but UTF-8.) A number that no float holds
    is null, and half of a surrogate pair U+FFFD, as they would be in a line of ours: nobody can store either.
    """
    try:
        text = line.decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
        message = _DECODER.decode(text)
        if _HALF_PAIR.search(text) and isinstance(message, dict):
            message = {**_whole(message), **_own_id(message)}
    except (ValueError, RecursionError) as problem:
        log.warning("a line is not JSON: %s", problem)
        return Rejected(None, PARSE_ERROR, "The line is not valid JSON (one message per line, UTF-8).")
    if not isinstance(message, dict):
        return Rejected(None, INVALID_REQUEST, "A message must be one JSON object; batches are not used in ACP.")
    return _checked_call(message) if "method" in message else _checked_response(message)


def wrap_meta(params: Incoming, request_id: RequestId) -> None:
    """Replace `_meta` in `params` by a `RequestMeta`."""
    meta = params.get("_meta")
    params["_meta"] = {
        "hermes_meta": RequestMeta(
            request_id,
            meta if isinstance(meta, dict) else {},
            params.get("clientCapabilities"),
            params.get("mcpServers"),
            params.get("additionalDirectories"),
        )
    }


def is_id(value: object) -> TypeGuard[RequestId]:
    """Whether `value` may be the id of a request."""
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


def encode(message: Mapping[str, Any]) -> bytes:
    """The line for a message, in ASCII: no U+2028 can upset a client's line splitting.

    An id is the client's, and comes back as it was sent, whatever a strict parser thinks of it.
    """
    try:
        line = quick_json.dumps(message)
        if line.isascii():
            return line + b"\n"
        text = _ENCODER.encode(message)
    except ValueError:  # half of a surrogate pair, NaN or an infinity
        text = json.dumps({**_strict(message), **_own_id(message)}, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def _checked_call(message: Incoming) -> Incoming | Rejected | None:
    method, request_id = message["method"], message.get("id")
    if not isinstance(method, str) or not is_id(request_id):
        known = request_id if is_id(request_id) else None
        return Rejected(known, INVALID_REQUEST, "A request needs a method name and a string or number as id.")
    params = message.get("params")
    if params is not None and not isinstance(params, dict):
        return Rejected(request_id, INVALID_PARAMS, "The params must be an object.") if "id" in message else None
    message["params"] = params or {}
    return message


def _checked_response(message: Incoming) -> Incoming | Rejected | None:
    answer_id = message.get("id")
    if answer_id is None and "error" in message:
        # The client could not read something of ours. An error in return could go on for ever.
        log.warning("the client reports an error: %s", message["error"])
        return None
    if isinstance(answer_id, str):
        return None  # ours are numbers
    if isinstance(answer_id, bool) or not isinstance(answer_id, int):
        return Rejected(None, INVALID_REQUEST, "A message must have a method, or the id of a request of ours.")
    if "result" not in message and not isinstance(message.get("error"), dict):
        message["error"] = {"code": INVALID_REQUEST, "message": "The client's answer has no result."}
    return message


def _whole(message: Incoming) -> Incoming:
    """`message` with U+FFFD for each half of a surrogate pair that stands alone; as deep as it may be."""
    text = json.dumps(message, ensure_ascii=False)
    if (whole := quick_json.whole_text(text)) == text:
        return message
    kept: Incoming = json.loads(whole)
    return kept


def _own_id(message: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"id": message["id"]} if "id" in message else {}


def _strict(value: Any) -> Any:
    """`value` as strict JSON parsers take it: numbers finite, no half of a surrogate pair alone."""
    match value:
        case str():
            return quick_json.whole_text(value)
        case float() if not math.isfinite(value):
            return None
        case Mapping():
            return {_strict(key): _strict(part) for key, part in value.items()}
        case list() | tuple():
            return [_strict(part) for part in value]
    return value
