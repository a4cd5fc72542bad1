"""Server-sent events, as far as model servers use them: the JSON text of each `data:` line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

DONE = b"[DONE]"
_BOM = b"\xef\xbb\xbf"


def data_lines(pieces: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The payloads of the `data:` lines that each piece of the body completes, where it completes any.

    `[DONE]` is among them: the caller looks for `DONE`.
    """
    for lines in _lines(pieces):
        if found := [line[5:].strip() for line in lines if line.startswith(b"data:")]:
            yield found


def _lines(pieces: Iterable[bytes]) -> Iterator[list[bytes]]:
    pending: list[bytes] = []
    is_first = True
    for piece in pieces:
        if b"\n" not in piece:
            pending.append(piece)
            continue
        *lines, rest = b"".join((*pending, piece)).split(b"\n")
        pending = [rest]
        if is_first:
            lines[0] = lines[0].removeprefix(_BOM)
            is_first = False
        yield lines
    last = b"".join(pending)
    yield [last.removeprefix(_BOM) if is_first else last]
