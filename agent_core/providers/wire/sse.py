"""Server-sent events, as far as model servers use them: the JSON text of each `data:` line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

DONE = b"[DONE]"


def data_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The payload of each `data:` line, without the final `[DONE]`'s meaning: the caller looks for `DONE`."""
    pending = b""
    for chunk in chunks:
        pending += chunk
        *lines, pending = pending.split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].strip()
    if pending.startswith(b"data:"):
        yield pending[5:].strip()
