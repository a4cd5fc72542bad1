"""A failing input as a file, which can be played again: pieces of bytes, with sessions by their number.

Each line is a JSON text whose characters are the bytes. The ids of sessions are the agent's, new in each run: on the
tape `<session 3>` is the fourth that was opened.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

_SESSION = re.compile(rb"ses_[0-9a-f]{24}")
_NUMBER = re.compile(rb"<session (\d+)>")


class Tape:
    """The last pieces that were sent, `most` of them."""

    def __init__(self, most: int = 20_000) -> None:
        self._pieces: deque[bytes] = deque(maxlen=most)

    def put(self, piece: bytes) -> None:
        self._pieces.append(piece)

    def save(self, path: Path, opened: Sequence[str]) -> None:
        """Write it; `opened` are the ids of all sessions in the order of their opening."""
        write_tape(path, self._pieces, opened)


def write_tape(path: Path, pieces: Iterable[bytes], opened: Sequence[str]) -> None:
    """Write pieces of bytes to a file, the sessions by their number."""
    numbers = {session.encode(): b"<session %d>" % number for number, session in enumerate(opened)}
    told = (_SESSION.sub(lambda found: numbers.get(found[0], found[0]), piece) for piece in pieces)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(piece.decode("latin-1")) + "\n" for piece in told), encoding="ascii")


def read_tape(path: Path) -> list[bytes]:
    """The pieces of a file."""
    return [json.loads(line).encode("latin-1") for line in path.read_text(encoding="ascii").splitlines()]


def sessions_in(piece: bytes) -> int:
    """How many sessions must have been opened for this piece."""
    return max((int(found) + 1 for found in _NUMBER.findall(piece)), default=0)


def with_sessions(piece: bytes, opened: Sequence[str]) -> bytes:
    """A piece with the ids of the sessions that are there; those that are not stay numbers."""

    def named(found: re.Match[bytes]) -> bytes:
        number = int(found[1])
        return opened[number].encode() if number < len(opened) else found[0]

    return _NUMBER.sub(named, piece)
