"""Values that models and tools make up, as strict JSON holds them; and reading them back with care.

A row must never fail because of what it holds. So this replaces what JSON or UTF-8 does not have, in the same way as
the wire does: what is replayed then looks like what was shown live.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tools.quick_json import whole_text

_MAX_DEPTH = 100
_MAX_BITS = 10_000  # Python writes no longer numbers as decimals

Body = Mapping[str, Any]


def plain_text(text: str) -> str:
    """`text` as a row holds it: `whole_text`, which every row's text passes."""
    return whole_text(text)


def plain(value: Any, depth: int = 0) -> Any:
    """`value` as JSON: numbers finite, keys text, bytes read as UTF-8, objects of other kinds as their text."""
    if depth > _MAX_DEPTH:
        return "… (nested too deeply)"
    match value:
        case str():
            return plain_text(value)
        case None | bool():
            return value
        case int():
            return value if value.bit_length() <= _MAX_BITS else hex(value)
        case float():
            return value if math.isfinite(value) else None
        case bytes() | bytearray():
            return value.decode("utf-8", "replace")
        case Mapping():
            return {plain_text(str(key)): plain(part, depth + 1) for key, part in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(part, depth + 1) for part in value]
    return plain_text(str(value))


def text_in(body: Body, key: str, default: str | None = None) -> str:
    """The text under `key`; `default` where there is none, unless that is None.

    Raises:
        KeyError, TypeError: it is missing, or no text.
    """
    value = body[key] if default is None else body.get(key, default)
    if not isinstance(value, str):
        raise TypeError(f"{key!r} is not text")
    return value


def text_or_none(body: Body, key: str) -> str | None:
    """The text under `key`, None where it is null or missing.

    Raises:
        TypeError: it is something else.
    """
    return None if body.get(key) is None else text_in(body, key)


def number_in(body: Body, key: str) -> int:
    """The whole number under `key`.

    Raises:
        KeyError, TypeError: it is missing, or no whole number.
    """
    value = body[key]
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{key!r} is not a whole number")
    return value


def number_or_none(body: Body, key: str) -> int | None:
    """The whole number under `key`, None where it is null or missing.

    Raises:
        TypeError: it is something else.
    """
    return None if body.get(key) is None else number_in(body, key)


def mapping_in(body: Body, key: str) -> dict[str, Any]:
    """The object under `key`.

    Raises:
        KeyError, TypeError: it is missing, or no object.
    """
    value = body[key]
    if not isinstance(value, dict):
        raise TypeError(f"{key!r} is not an object")
    return value


def list_in(body: Body, key: str) -> list[dict[str, Any]]:
    """The list of objects under `key`.

    Raises:
        KeyError, TypeError: it is missing, or something else.
    """
    value = body[key]
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise TypeError(f"{key!r} is not a list of objects")
    return value
