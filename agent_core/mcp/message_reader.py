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

_SHOWN_BYTES = 200
_BOM = b"\xef\xbb\xbf"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_ID = r'"id"\s*:\s*(\d+|"[^"]*")'
_ENVELOPE = re.compile(rf'"jsonrpc"\s*:\s*"2\.0"\s*,\s*{_ID}|{_ID}\s*,\s*"jsonrpc"')
_ANY_ID = re.compile(_ID)
_ANSWERS = re.compile(r'"(?:result|error)"\s*:')
_NOT_JSON: Any = object()


class MessageReader:
    """Turns lines into messages; knows which requests wait for an answer.

    Args:
        on_noise: is told the beginning of each line that is no message.
        longest: bytes of a message that is spread over several lines; what is longer is passed over.
    """

    def __init__(self, on_noise: Callable[[str], None], longest: int) -> None:
        self._on_noise = on_noise
        self._longest = longest
        self._waiting: dict[RequestId, None] = {}
        self._last = 0
        # Of each notification the last request before it. Some servers answer notifications, too, and name none.
        self._notified: list[int] = []
        # Unreadable answers, and why; nobody knows to which of several requests each belongs.
        self._strays: list[McpServerFault] = []
        # Lines of an object that has no end yet, how deep its brackets are open, and how long it is.
        self._block: list[str] = []
        self._depth = self._length = 0

    def sent(self, message: JSONRPCMessage) -> None:
        """A message is about to be sent to the server."""
        if isinstance(message, JSONRPCRequest):
            self._waiting[_key(message.id)] = None
            self._last = max(self._last, message.id) if isinstance(message.id, int) else self._last
        elif isinstance(message, JSONRPCNotification):
            self._notified.append(self._last)
            if message.method == "notifications/cancelled":
                self._waiting.pop(_key((message.params or {}).get("requestId")), None)

    def read(self, line: bytes) -> list[JSONRPCMessage]:
        """The messages of a line: none, one, or an error for each request that it answers unreadably."""
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            return [*self._read_unreadable(line), *self._fail_strays()]
        cut_off = self._end_block()
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            if message.id is None or not self._is_known(message.id):
                words = message.error.message if isinstance(message, JSONRPCError) else ""
                self._stray(message.id, _fault("it does not name the request that it answers", words))
                return [*cut_off, *self._fail_strays()]
            self._answered(_key(message.id))
        return [*cut_off, message, *self._fail_strays()]

    def _is_known(self, found: RequestId) -> bool:
        key = _key(found)
        return key in self._waiting or (isinstance(key, int) and key <= self._last)

    def _answered(self, key: Any) -> None:
        self._waiting.pop(key, None)
        if isinstance(key, int):  # what was said to the server before that request is past being answered
            self._notified = [last for last in self._notified if last >= key]

    def _stray(self, request: Any, fault: McpServerFault) -> None:
        if request is None and self._notified:
            del self._notified[0]
        else:
            self._strays.append(fault)

    def end(self) -> None:
        """Nothing more comes."""
        self._end_block()

    def _read_unreadable(self, line: bytes) -> Iterator[JSONRPCMessage]:
        text = line.decode("utf-8", "replace").removeprefix("\ufeff")
        value = _parsed(text)
        if value is _NOT_JSON:
            # An envelope on one line is a message that is broken; one that is spread has a part of it on each line.
            is_broken = bool(_ENVELOPE.search(text) and _ANSWERS.search(text))
            yield from self._end_block() if is_broken else ()
            yield from self._add_to_block(text, ends=is_broken)
        elif any(map(self._is_answer, _all(value))):
            yield from self._end_block()
            yield from self._failures(value, _why_line(line, value))
        elif self._block:
            yield from self._add_to_block(text)
        else:
            self._on_noise(_beginning(text))

    def _add_to_block(self, text: str, *, ends: bool = False) -> Iterator[JSONRPCMessage]:
        if not self._block and not text.lstrip().startswith(("{", "[")):
            self._on_noise(_beginning(text))
            return
        self._block.append(text)
        self._length += len(text)
        bare = _STRING.sub("", text)
        self._depth += sum(map(bare.count, "{[")) - sum(map(bare.count, "}]"))
        if ends or self._depth <= 0 or self._length > self._longest:
            yield from self._end_block()

    def _end_block(self) -> list[JSONRPCMessage]:
        """Nothing more is added to what the last lines began: the failures of the requests that it answers."""
        text = "\n".join(self._block)
        self._block, self._depth, self._length = [], 0, 0
        if not text:
            return []
        value = _parsed(text)
        if value is not _NOT_JSON:
            found = list(self._failures(value, "it is spread over several lines"))
        else:
            found = list(self._failures_of_text(text))
        if not found:
            self._on_noise(_beginning(text))
        return found

    def _failures(self, value: Any, why: str) -> Iterator[JSONRPCMessage]:
        """The failures of the requests that a value answers.

        Args:
            why: it could not be read; '' for what is wrong with the value itself.
        """
        for answer in filter(self._is_answer, _all(value)):
            error = answer.get("error")
            said = error.get("message") if isinstance(error, dict) else error
            fault = _fault(why or _why_value(answer), said if isinstance(said, str) else "")
            yield from self._failed(answer.get("id"), fault)

    def _failures_of_text(self, text: str) -> Iterator[JSONRPCMessage]:
        if not ('"jsonrpc"' in text and _ANSWERS.search(text)) or '"method"' in text:
            return
        fault = _fault("it is no valid JSON")
        if envelope := _ENVELOPE.search(text):
            yield from self._failed(json.loads(envelope[1] or envelope[2]), fault)
            return
        named = {_key(json.loads(found)) for found in _ANY_ID.findall(text)} & self._waiting.keys()
        yield from self._failed(named.pop() if len(named) == 1 else None, fault)

    def _is_answer(self, value: Any) -> bool:
        if not isinstance(value, dict) or "method" in value:
            return False
        # Programs log objects, too, with an `error` or an `id` in them.
        return "jsonrpc" in value or (
            _key(value.get("id")) in self._waiting and bool({"result", "error"} & value.keys())
        )

    def _failed(self, request: Any, fault: McpServerFault) -> Iterator[JSONRPCMessage]:
        key = _key(request)
        if key in self._waiting:
            self._answered(key)
            yield _failure(key, fault)
        elif not isinstance(key, int) or key > self._last:
            self._stray(request, fault)

    def _fail_strays(self) -> Iterator[JSONRPCMessage]:
        """Once as many answers are unreadable as there are requests, they belong to these."""
        if not self._waiting:
            self._strays.clear()
        if self._strays and len(self._strays) >= len(self._waiting):
            for request, fault in zip(tuple(self._waiting), self._strays, strict=False):
                yield _failure(request, fault)
            self._waiting.clear()
            self._strays.clear()


def _failure(request: RequestId, fault: McpServerFault) -> JSONRPCError:
    # What is in `data` cannot have come from a server: `Peer` raises it.
    return JSONRPCError(
        jsonrpc="2.0", id=request, error=ErrorData(code=PARSE_ERROR, message=str(fault), data=fault)
    )  # fmt: skip


def _fault(why: str, words: str = "") -> McpServerFault:
    return McpServerFault(f"Its answer could not be read: {why}. That is an error of the server's.", words)


def _key(request: Any) -> Any:
    """What two spellings of a request's id have in common; None for what is none."""
    if isinstance(request, str):
        return int(request) if request.isascii() and request.isdecimal() else request
    return request if isinstance(request, int) and not isinstance(request, bool) else None


def _all(value: Any) -> list[Any]:
    """The messages of a batch, or the one."""
    return value if isinstance(value, list) else [value]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return _NOT_JSON


def _beginning(text: str) -> str:
    return text[:_SHOWN_BYTES]


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
        return "it does not name the request that it answers"
    if "result" in answer and not isinstance(answer["result"], dict):
        return "its `result` is null" if answer["result"] is None else "its `result` is no object"
    if "error" not in answer:
        return "it has no `result` and no `error`" if "result" not in answer else "it is no answer that MCP knows"
    if not isinstance(error, dict):
        return "its `error` is no object"
    if not isinstance(error.get("code"), int) or isinstance(error["code"], bool):
        return "the `code` of its error is no whole number"
    return "its error has no `message`"
