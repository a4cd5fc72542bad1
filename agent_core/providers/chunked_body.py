"""Answers whose bodies come in chunks (RFC 9112, section 7.1), read without the HTTP library's part in each of them.

Model servers send each event as a chunk of its own, and the library does more for a chunk than all else that is done
for an event. So it reads the head, and the end of the body with whatever is wrong in it; what the chunks hold is read
here.
"""

from __future__ import annotations

import re

_HEAD_END = re.compile(rb"\n\r?\n")
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3})")
_IN_CHUNKS = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n", re.IGNORECASE)
_WITHOUT_BODY = frozenset({b"101", b"204", b"304"})

_SIZE = rb"([0-9A-Fa-f]{1,15})(?:;[^\r\n]*)?[ \t]*\r\n"
_FIRST_FRAME = re.compile(_SIZE)
_NEXT_FRAME = re.compile(rb"\r\n" + _SIZE)
"""What stands between two chunks: the end of one, and the size of the other."""
_PART_OF_FRAME = re.compile(rb"(?:\r|(?:\r\n)?[0-9A-Fa-f]{0,15}(?:;[^\r\n]*)?[ \t]*\r?)")
_MOST_HELD = 16_384


class AnswerHead:
    """Finds the end of an answer's head.

    Attributes:
        is_over: it has ended, or is none that is known here.
        in_chunks: the body comes in chunks.
    """

    def __init__(self) -> None:
        self._seen = b""
        self.is_over = False
        self.in_chunks = False

    def feed(self, data: bytes) -> int:
        """How much of `data` belongs to the head; all of it where what follows does not come in chunks."""
        before, self._seen = len(self._seen), self._seen + data
        while not self.is_over and (end := _HEAD_END.search(self._seen)):
            status = _STATUS.match(self._seen)
            if status is not None and status[1].startswith(b"1") and status[1] not in _WITHOUT_BODY:
                before -= end.end()  # it only announces another head
                self._seen = self._seen[end.end() :]
                continue
            self.is_over = True
            self.in_chunks = (
                status is not None
                and status[1] not in _WITHOUT_BODY
                and _IN_CHUNKS.search(self._seen, 0, end.start() + 1) is not None
            )
            if self.in_chunks:
                return end.end() - before
        self.is_over = self.is_over or len(self._seen) > _MOST_HELD
        return len(data)


class ChunkedBody:
    """Reads what the chunks of one body hold. Nothing of it waits here, only a part of a frame for the rest of it.

    Attributes:
        rest: what the library is to go on with, as if the body began there; None while chunks follow.
    """

    def __init__(self) -> None:
        self._held = b""
        self._frame = _FIRST_FRAME
        self._missing = 0
        self.rest: bytes | None = None

    def feed(self, data: bytes) -> bytes:
        """What `data` brings of the body."""
        data, self._held = self._held + data, b""
        pieces: list[bytes] = []
        at = 0
        while at < len(data):
            if not self._missing:
                frame = self._frame.match(data, at)
                size = int(frame[1], 16) if frame is not None else 0
                if frame is None or not size:
                    self._stop(data[at:])
                    break
                self._frame, self._missing, at = _NEXT_FRAME, size, frame.end()
            piece = data[at : at + self._missing]
            pieces.append(piece)
            self._missing -= len(piece)
            at += len(piece)
        return b"".join(pieces)

    def _stop(self, following: bytes) -> None:
        """No chunk begins here: the frame is not complete yet, or it is the last one, or wrong."""
        if len(following) < _MOST_HELD and _PART_OF_FRAME.fullmatch(following):
            self._held = following
        elif self._frame is _NEXT_FRAME and following.startswith(b"\r\n"):
            self.rest = following[2:]
        elif self._frame is _NEXT_FRAME:
            self.rest = b"\r\n" + following  # the chunk's end is missing: for the library, its size
        else:
            self.rest = following
