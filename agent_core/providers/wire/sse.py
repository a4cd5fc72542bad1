"""Server-sent events, as far as model servers use them: the JSON text of each `data:` line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

DONE = b"[DONE]"
LONGEST_PIECE = 8 * 1024 * 1024
"""Bytes that one event of an answer may have; models send a word or a picture at a time."""
_BOM = b"\xef\xbb\xbf"


class PieceTooLong(Exception):
    """One event of an answer is longer than any is read."""


def data_lines(pieces: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The payloads of the `data:` lines that each piece of the body completes, where it completes any.

    `[DONE]` is among them: the caller looks for `DONE`.

    Raises:
        PieceTooLong: a line has more than `LONGEST_PIECE` bytes.
    """
    for lines in _lines(pieces):
        if found := [line[5:].strip() for line in lines if line.startswith(b"data:")]:
            yield found


def _lines(pieces: Iterable[bytes]) -> Iterator[list[bytes]]:
    pending: list[bytes] = []
    waiting = 0
    is_first = True
    for piece in pieces:
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
