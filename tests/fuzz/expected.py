"""Which answers bytes on stdin call for, by JSON-RPC and ACP alone: read without a line of the product.

(JSON-RPC 2.0, sections 4 and 5: a request with an id is answered once; what is no request is answered with id null.)
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
MAX_LINE = 64 * 1024 * 1024
_LONG = 8 * 1024 * 1024
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')
_BRACKETS = re.compile(rb"[][{}]")
_SURELY_READ, _SURELY_NOT = 900, 50_000


@dataclass(frozen=True, slots=True)
class Expected:
    """The one answer to a line.

    Attributes:
        key: the id that it has, as `key_of` has it.
        method: what was asked; None where the line is no request.
        line: its beginning, for whoever misses the answer.
        unsure: the line may be too deep to be read: then the answer's id is null.
    """

    key: str
    method: str | None = None
    params: Any = None
    unsure: bool = False
    line: bytes = b""


def key_of(request_id: Any) -> str:
    """An id as text: 1 and "1" differ."""
    return json.dumps(request_id)


NOBODY = key_of(None)


def expected(line: bytes) -> Expected | None:
    """The answer to a line, without its end; None for what is not answered."""
    if not line.strip():
        return None
    if len(line) > MAX_LINE:
        return Expected(NOBODY)
    depth = _most_open(line)
    if depth > _SURELY_NOT:
        return Expected(NOBODY)
    try:
        message = json.loads(line.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
    except (ValueError, RecursionError):
        return Expected(NOBODY)
    if not isinstance(message, dict):
        return Expected(NOBODY)
    return _to_call(message, unsure=depth > _SURELY_READ) if "method" in message else _to_answer(message)


def _to_call(message: dict[str, Any], *, unsure: bool) -> Expected | None:
    method, request_id, params = message["method"], message.get("id"), message.get("params")
    if not isinstance(method, str) or not _is_id(request_id):
        return Expected(key_of(request_id) if _is_id(request_id) else NOBODY)
    if "id" not in message:
        return Expected(NOBODY, unsure=True) if unsure else None
    return Expected(key_of(request_id), method, params, unsure)


def _to_answer(message: dict[str, Any]) -> Expected | None:
    answer_id = message.get("id")
    if answer_id is None and "error" in message:
        return None
    if isinstance(answer_id, str) or (isinstance(answer_id, int) and not isinstance(answer_id, bool)):
        return None
    return Expected(NOBODY)


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


def _most_open(line: bytes) -> int:
    """How deep a line's arrays and objects are; more where it is broken."""
    if len(line) > _LONG:
        return 0  # one of the huge texts
    most = line.count(b"[") + line.count(b"{")
    if not _SURELY_READ < most < _SURELY_NOT:
        return most
    depth = most = 0
    for bracket in _BRACKETS.findall(_TEXT.sub(b"", line)):
        depth += 1 if bracket in b"[{" else -1
        most = max(most, depth)
    return most
