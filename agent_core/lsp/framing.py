"""Messages of the Language Server Protocol on a pipe: a header with the length, then JSON (base protocol, 3.17)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from agent_core.lsp.errors import LspFailure

_LONGEST_HEADER = 4096
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


class Frames:
    """Cuts bytes into messages of at most `longest` bytes."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._data = bytearray()
        self._needed = 0  # bytes that the next step needs, so that a long message is not looked at piece by piece

    def add(self, data: bytes) -> list[Mapping[str, Any]]:
        """The messages that `data` completes.

        Raises:
            LspFailure: that is not the protocol, or a message is too long.
        """
        self._data += data
        found: list[Mapping[str, Any]] = []
        while len(self._data) >= self._needed and (body := self._next()) is not None:
            found.append(_message(body))
        return found

    def _next(self) -> bytes | None:
        head, separator, _ = self._data[: _LONGEST_HEADER + 4].partition(b"\r\n\r\n")
        if not separator:
            if len(self._data) > _LONGEST_HEADER:
                raise LspFailure("It wrote something else than messages to its output.")
            self._needed = len(self._data) + 1
            return None
        length = _LENGTH.search(head)
        if length is None:
            raise LspFailure("It sent a message without its length.")
        if (size := int(length[1])) > self._longest:
            raise LspFailure(f"It sent a message of more than {self._longest // 1024 // 1024} MB.")
        start = len(head) + 4
        if len(self._data) < start + size:
            self._needed = start + size
            return None
        body = bytes(self._data[start : start + size])
        del self._data[: start + size]
        self._needed = 1
        return body


def framed(message: Mapping[str, Any]) -> bytes:
    """A message as it is written to the pipe."""
    # Lone surrogates of a broken file cannot be UTF-8; as an escape they can be sent.
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _message(body: bytes) -> Mapping[str, Any]:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise LspFailure("It sent a message that is no JSON.") from problem
    if not isinstance(message, dict):
        raise LspFailure("It sent a message that is no JSON object.")
    return message
