"""Server-sent events as the WHATWG standard has them: what each holds.

Source: html.spec.whatwg.org/multipage/server-sent-events.html. Two things are more lenient than the standard: an
event counts if only its empty line is missing at the body's end, and JSON objects on lines of their own are events of
their own, for servers that forget the empty line between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

DONE = b"[DONE]"
LONGEST_PIECE = 8 * 1024 * 1024
"""Bytes that one event of an answer may have; models send a word or a picture at a time."""
_BOM = b"\xef\xbb\xbf"
_MOST_STRAY = 64 * 1024
_FIELDS = (b"data", b"event", b"id", b"retry")


class PieceTooLong(Exception):
    """One event of an answer is longer than any is read."""


class ErrorEvent(bytes):
    """What an event holds that the server calls an error."""


def data_lines(pieces: Iterable[bytes], stray: bytearray | None = None) -> Iterator[list[bytes]]:
    """What the events hold that each piece of the body completes, where it completes any; empty ones are left out.

    `[DONE]` is among them: the caller looks for `DONE`.

    Args:
        stray: takes the lines that are no part of any event, as those of a body that is no stream of events.

    Raises:
        PieceTooLong: an event has more than `LONGEST_PIECE` bytes.
    """
    reader = _EventReader(bytearray() if stray is None else stray)
    for lines in _lines(pieces):
        for line in lines:
            reader.read(line)
        if reader.complete:
            yield reader.complete
            reader.complete = []
    reader.read(b"")
    if whole := [event for event in reader.complete if event.endswith(b"}") or not event.startswith(b"{")]:
        yield whole


class _EventReader:
    """Makes events of lines. `complete` holds what they have."""

    def __init__(self, stray: bytearray) -> None:
        self.complete: list[bytes] = []
        self._stray = stray
        self._data: list[bytes] = []
        self._size = 0
        self._is_error = False

    def read(self, line: bytes) -> None:
        """Take a line; an empty one ends an event."""
        if line.startswith(b"data:"):
            self._data.append(line[5:])
            self._size += len(line)
            if self._size > LONGEST_PIECE:
                raise PieceTooLong
        elif not line:
            self._end()
        elif not line.startswith(b":"):
            self._field(line)

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"event":
            self._is_error = value.strip().lower().endswith((b"error", b"exception"))
        elif name == b"data":
            self._data.append(b"")
        elif len(self._stray) < _MOST_STRAY and not any(field.startswith(name) for field in _FIELDS):
            self._stray += line[:_MOST_STRAY] + b"\n"

    def _end(self) -> None:
        data, self._data, self._size = self._data, [], 0
        is_error, self._is_error = self._is_error, False
        if is_error and data:
            self.complete.append(ErrorEvent(b"\n".join(data).strip()))
        elif len(data) == 1:
            if only := data[0].strip():
                self.complete.append(only)
        elif data:
            self.complete += _events_of([line.strip() for line in data])


def _events_of(lines: list[bytes]) -> list[bytes]:
    """What several lines of data hold: one event, or one a line where each is an object of its own."""
    filled = [line for line in lines if line]
    if all(line == DONE or (line.startswith(b"{") and line.endswith(b"}")) for line in filled):
        return filled
    return [b"\n".join(lines).strip()]


def _lines(pieces: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The lines that each piece completes. They end with LF, CR, or both."""
    pending: list[bytes] = []
    waiting = 0
    is_first, ends_with_return = True, False
    for piece in pieces:
        if ends_with_return and piece:
            piece = piece.removeprefix(b"\n")  # noqa: PLW2901 - the other half of a line's end
            ends_with_return = False
        if b"\r" in piece:
            ends_with_return = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")  # noqa: PLW2901
        if b"\n" not in piece:
            pending.append(piece)
            waiting += len(piece)
            if waiting > LONGEST_PIECE:
                raise PieceTooLong
            continue
        *lines, rest = b"".join((*pending, piece)).split(b"\n")
        pending, waiting = [rest], len(rest)
        if is_first:
            lines[0] = lines[0].removeprefix(_BOM)
            is_first = False
        yield lines
    last = b"".join(pending)
    yield [last.removeprefix(_BOM) if is_first else last]
