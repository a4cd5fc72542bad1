"""Server-sent events, as far as model servers use them: the JSON text of each `data:` line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

DONE = b"[DONE]"
_BOM = b"\xef\xbb\xbf"


def data_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The payload of each `data:` line, without the final `[DONE]`'s meaning: the caller looks for `DONE`."""
    for position, line in enumerate(_lines(chunks)):
        plain = line.removeprefix(_BOM) if position == 0 else line
        if plain.startswith(b"data:"):
            yield plain[5:].strip()


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    pending: list[bytes] = []
    for chunk in chunks:
        if b"\n" not in chunk:
            pending.append(chunk)
            continue
        *lines, rest = b"".join((*pending, chunk)).split(b"\n")
        yield from lines
        pending = [rest]
    yield b"".join(pending)
