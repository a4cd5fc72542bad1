"""How messages and events lie in a column: JSON as text, compressed where it is long."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

from agent_core.errors import StoreError
from tools import quick_json

_LONG = 1024
# Only images are that long, and to compress their base64 takes seconds and gains little.
_HUGE = 1024 * 1024
_LEVEL = 1  # a message is packed while its turn waits
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ASCII_ENCODER = json.JSONEncoder(separators=(",", ":"))


def pack(value: object) -> str | bytes:
    """What to store for a JSON value: its text, or the text's zlib-compressed UTF-8 where it is long but not huge.

    NaN, infinities and lone surrogates, as models send them, come back as they were.

    Raises:
        TypeError: it is not a JSON value.
    """
    text = _ENCODER.encode(value)
    try:
        encoded = text.encode()
    except UnicodeEncodeError:  # lone surrogates: SQLite takes UTF-8 only
        text = _ASCII_ENCODER.encode(value)
        encoded = text.encode()
    return zlib.compress(encoded, _LEVEL) if _LONG <= len(encoded) < _HUGE else text


def unpack(stored: str | bytes) -> Any:
    """The value that `pack` was given.

    Raises:
        StoreError: it is damaged (kind corrupt).
    """
    try:
        return quick_json.loads(_text(stored))
    except (ValueError, TypeError, RecursionError, zlib.error) as problem:
        raise StoreError(
            f"A stored part of the conversation is damaged ({type(problem).__name__}: {problem}). "
            "Run `hermes-acp doctor` to see what can be repaired.",
            kind="corrupt",
        ) from problem


def unpack_all(stored: Sequence[str | bytes]) -> list[Any]:
    """The values of many columns: what `unpack` makes of each, in a third of the time.

    Raises:
        StoreError: one is damaged (kind corrupt).
    """
    try:
        values: list[Any] = quick_json.loads(b"[%b]" % b",".join(map(_text, stored)))
    except (ValueError, TypeError, RecursionError, zlib.error):
        values = []
    # What is damaged may be JSON together with its neighbours, but hardly as many values.
    return values if len(values) == len(stored) else [unpack(one) for one in stored]


def _text(stored: str | bytes) -> bytes:
    return stored.encode() if isinstance(stored, str) else zlib.decompress(stored)
