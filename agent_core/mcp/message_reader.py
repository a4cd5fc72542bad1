"""Reads the lines of a stdio server as messages. An answer that cannot be read fails its request, and says why.

The SDK passes over what it cannot read, and whoever waits for that answer waits until the call times out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from mcp_types import (
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)

from agent_core.mcp.specs import McpServerFault

_SHOWN_CHARS = 200
_BOM = b"\xef\xbb\xbf"
_ID = re.compile(r'"id"\s*:\s*(\d+|"[^"]*")')
_ANSWERS = re.compile(r'"(?:result|error)"\s*:')


class MessageReader:
    """Turns lines into messages; knows which requests wait for an answer.

    Args:
        on_noise: is told the beginning of each line that is no message.
    """

    def __init__(self, on_noise: Callable[[str], None]) -> None:
        self._on_noise = on_noise
        self._waiting: set[RequestId] = set()
        self._last = 0
        # Notifications since the last answer. Some servers answer these, too, and name no request.
        self._notified = 0

    def sent(self, message: JSONRPCMessage) -> None:
        """A message is about to be sent to the server."""
        if isinstance(message, JSONRPCRequest):
            self._waiting.add(_key(message.id))
            self._last = max(self._last, message.id) if isinstance(message.id, int) else self._last
        elif isinstance(message, JSONRPCNotification):
            self._notified += 1
            if message.method == "notifications/cancelled":
                self._waiting.discard(_key((message.params or {}).get("requestId")))

    def read(self, line: bytes) -> list[JSONRPCMessage]:
        """The messages of a line: none, one, or an error for each request that it answers unreadably."""
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            return list(self._read_unreadable(line))
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            key = _key(message.id)
            if key not in self._waiting and not (isinstance(key, int) and key <= self._last):
                words = message.error.message if isinstance(message, JSONRPCError) else ""
                return list(self._failed(None, _fault(_NAMELESS, words)))
            self._answered(key)
        return [message]

    def _answered(self, key: Any) -> None:
        self._waiting.discard(key)
        self._notified = 0

    def _read_unreadable(self, line: bytes) -> Iterator[JSONRPCMessage]:
        text = line.decode("utf-8", "replace").removeprefix("\ufeff")
        try:
            value = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            if '"jsonrpc"' in text and _ANSWERS.search(text) and '"method"' not in text:
                found = _ID.search(text)
                yield from self._failed(json.loads(found[1]) if found else None, _fault("it is no valid JSON"))
            else:
                self._on_noise(text[:_SHOWN_CHARS])
            return
        answers = list(filter(self._is_answer, value if isinstance(value, list) else [value]))
        for answer in answers:
            error = answer.get("error")
            said = error.get("message") if isinstance(error, dict) else error
            fault = _fault(_why_line(line, value) or _why_value(answer), said if isinstance(said, str) else "")
            yield from self._failed(answer.get("id"), fault)
        if not answers:
            self._on_noise(text[:_SHOWN_CHARS])

    def _is_answer(self, value: Any) -> bool:
        if not isinstance(value, dict) or "method" in value:
            return False
        # Programs log objects, too, with an `error` or an `id` in them.
        return "jsonrpc" in value or (
            _key(value.get("id")) in self._waiting and bool({"result", "error"} & value.keys())
        )

    def _failed(self, request: Any, fault: McpServerFault) -> Iterator[JSONRPCMessage]:
        """The failure of a request; where an answer names none, of the only one that waits."""
        key = _key(request)
        if key not in self._waiting:
            if isinstance(key, int) and key <= self._last:
                return
            if self._notified or len(self._waiting) != 1:
                self._notified = max(self._notified - 1, 0)
                return
            (key,) = self._waiting
        self._answered(key)
        # What is in `data` cannot have come from a server: `Peer` raises it.
        about = ErrorData(code=PARSE_ERROR, message=str(fault), data=fault)
        yield JSONRPCError(jsonrpc="2.0", id=key, error=about)


_NAMELESS = "it does not name the request that it answers"


def _fault(why: str, words: str = "") -> McpServerFault:
    return McpServerFault(f"Its answer could not be read: {why}. That is an error of the server's.", words)


def _key(request: Any) -> Any:
    """What two spellings of a request's id have in common; None for what is none."""
    if isinstance(request, str):
        return int(request) if request.isascii() and request.isdecimal() else request
    return request if isinstance(request, int) and not isinstance(request, bool) else None


def _why_line(line: bytes, value: Any) -> str:
    """What is wrong with a line, whatever the value is that it holds; '' for nothing."""
    if isinstance(value, list):
        return "it came in a batch (a JSON array), which MCP does not have"
    if line.startswith(_BOM):
        return "it begins with a byte order mark"
    try:
        line.decode()
    except UnicodeDecodeError:
        return "it is not valid UTF-8"
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "it holds half of a surrogate pair, which is no character"
    return ""


def _why_value(answer: dict[str, Any]) -> str:
    error = answer.get("error")
    if answer.get("jsonrpc") != "2.0":
        return "its `jsonrpc` is missing, or not 2.0"
    if _key(answer.get("id")) is None:
        return _NAMELESS
    if "result" in answer and not isinstance(answer["result"], dict):
        return "its `result` is null" if answer["result"] is None else "its `result` is no object"
    if "error" not in answer:
        return "it has no `result` and no `error`" if "result" not in answer else "it is no answer that MCP knows"
    if not isinstance(error, dict):
        return "its `error` is no object"
    if not isinstance(error.get("code"), int) or isinstance(error["code"], bool):
        return "the `code` of its error is no whole number"
    return "its error has no `message`"
