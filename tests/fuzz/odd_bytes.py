"""Lines that were damaged on their way: bits, pieces, encodings, and two lines in one another."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

Damage = Callable[[random.Random, bytes, bytes], bytes]

_PIECES = (
    b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\x00", b"\r",
    b"\n", b"\n\n", b'"', b"\\", b"{", b"}", b"[", b",", b"null", b"NaN", b"-", b"1e999", b"\\u0000", b"\\ud83d",
    b"\x1b[2J",
)  # fmt: skip


def _flip(chance: random.Random, line: bytes, _: bytes) -> bytes:
    made = bytearray(line)
    for _step in range(chance.choice((1, 1, 2, 8))):
        made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    return bytes(made)


def _insert(chance: random.Random, line: bytes, _: bytes) -> bytes:
    at = chance.randrange(len(line) + 1)
    return line[:at] + chance.choice(_PIECES) * chance.choice((1, 1, 1, 5)) + line[at:]


def _cut(chance: random.Random, line: bytes, _: bytes) -> bytes:
    return line[: chance.randrange(len(line))]


def _behead(chance: random.Random, line: bytes, _: bytes) -> bytes:
    return line[chance.randrange(len(line)) :]


def _leave_out(chance: random.Random, line: bytes, _: bytes) -> bytes:
    first, last = sorted((chance.randrange(len(line)), chance.randrange(len(line))))
    return line[:first] + line[last:]


def _interleave(chance: random.Random, line: bytes, other: bytes) -> bytes:
    """As two writers to one pipe would leave it."""
    made, step = [], max(1, len(line) // chance.choice((2, 3, 5)))
    for at in range(0, max(len(line), len(other)), step):
        made += [line[at : at + step], other[at : at + step]]
    return b"".join(made)


def _glue(_chance: random.Random, line: bytes, other: bytes) -> bytes:
    return line + other


def _inside(chance: random.Random, line: bytes, other: bytes) -> bytes:
    at = chance.randrange(len(line) + 1)
    return line[:at] + other + line[at:]


def _noise(chance: random.Random, _line: bytes, _other: bytes) -> bytes:
    return chance.randbytes(chance.choice((1, 7, 100, 3_000)))


def _carriage(_chance: random.Random, line: bytes, _other: bytes) -> bytes:
    return line + b"\r"


def _marked(_chance: random.Random, line: bytes, _other: bytes) -> bytes:
    return b"\xef\xbb\xbf" + line


def _wide(chance: random.Random, line: bytes, _other: bytes) -> bytes:
    return line.decode("utf-8", "replace").encode(
        chance.choice(("utf-16", "utf-16-le", "utf-32", "latin-1")), "replace"
    )


def _twice_the_keys(_chance: random.Random, line: bytes, _other: bytes) -> bytes:
    return line[:-1] + b"," + line[1:] if line[:1] == b"{" and line[-1:] == b"}" else line


def _batch(_chance: random.Random, line: bytes, other: bytes) -> bytes:
    return b"[" + line + b"," + other + b"]"


def _deep(chance: random.Random, line: bytes, _other: bytes) -> bytes:
    opening = chance.choice((b"[", b'{"a":'))
    return line[: chance.randrange(len(line))] + opening * 100_000


def _spaced(_chance: random.Random, line: bytes, _other: bytes) -> bytes:
    return b" \t" * 200 + line + b" \t" * 200


def _escaped(_chance: random.Random, line: bytes, _other: bytes) -> bytes:
    """JSON in a JSON text."""
    return json.dumps(line.decode("utf-8", "replace")).encode()


DAMAGES: tuple[Damage, ...] = (
    _flip, _flip, _insert, _insert, _cut, _cut, _behead, _leave_out, _interleave, _glue, _inside, _noise, _carriage,
    _marked, _wide, _twice_the_keys, _batch, _deep, _spaced, _escaped,
)  # fmt: skip


def damaged(chance: random.Random, line: bytes, other: bytes) -> bytes:
    """`line`, which is not empty, damaged in one way, or in two."""
    made = chance.choice(DAMAGES)(chance, line, other)
    return chance.choice(DAMAGES)(chance, made, other) if made and chance.random() < 0.2 else made
