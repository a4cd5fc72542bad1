"""Texts made shorter: both ends kept, one line of them, and the JSON of a call's arguments, which stays JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_HEAD = 0.7
_LONGEST_ARGUMENT = 200
_LONGEST_KEY = 60
_MOST_ITEMS = 12
_DEEPEST = 6
_PLAIN = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_ESCAPED = json.JSONEncoder(allow_nan=False)


def both_ends(text: str, limit: int) -> str:
    """`text` with about `limit` characters: its beginning, how much is left out, its end; as it is where that is all.

    Cut text never becomes longer than it was.
    """
    if len(text) <= limit:
        return text
    limit = max(limit, 0)
    end = int(limit * (1 - _HEAD))
    kept_end = text[len(text) - end :]
    cut = f"{text[: limit - end]}\n[… {len(text) - limit:,} characters left out to make room …]\n{kept_end}"
    return cut if len(cut) < len(text) else text


def one_line(text: str, limit: int) -> str:
    """`text` on one line of at most `limit` characters; what is left out is told by «…»."""
    # Of a long text only the beginning counts.
    line = " ".join(text[: 4 * limit].split())
    whole = len(text) <= 4 * limit and len(line) <= limit
    return line if whole else f"{line[: limit - 1]}…"


def shrunk_arguments(text: str, known: Mapping[str, Any] | None = None, longest: int = _LONGEST_ARGUMENT) -> str:
    """The arguments of a call with its long strings cut, each with how much is missing.

    What is a JSON object stays one, with the same keys at its top. What is no JSON becomes an object that says so.
    The result is `text` itself where it would not be shorter.

    Args:
        known: the object that `text` is, where it was read already.
    """
    value = known or _read(text, longest)
    shrunk = _as_json({key: _shrunk(item, longest, 1) for key, item in value.items()})
    return shrunk if shrunk is not None and len(shrunk) < len(text) else text


def _read(text: str, longest: int) -> Mapping[str, Any]:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        value = one_line(text, longest)
    return value if isinstance(value, dict) else {"arguments": value}


def _as_json(value: object) -> str | None:
    """JSON text that can be sent; None where a number in it is none that JSON knows."""
    try:
        text = _PLAIN.encode(value)
        text.encode()
    except UnicodeEncodeError:  # half of a pair, which stood there as an escape
        return _ESCAPED.encode(value)
    except ValueError:
        return None
    return text


def _shrunk(value: Any, longest: int, depth: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= longest else _cut(value, longest)
    if isinstance(value, list):
        if depth >= _DEEPEST:
            return f"[… {len(value)} items left out]"
        kept = [_shrunk(item, longest, depth + 1) for item in value[:_MOST_ITEMS]]
        return [*kept, f"[… {len(value) - _MOST_ITEMS} more items left out]"] if len(value) > _MOST_ITEMS else kept
    if isinstance(value, dict):
        if depth >= _DEEPEST:
            return f"[… {len(value)} keys left out]"
        return {key[:_LONGEST_KEY]: _shrunk(item, longest, depth + 1) for key, item in value.items()}
    return value


def _cut(text: str, longest: int) -> str:
    head = text[: longest // 2]
    return f"{head}… [{len(text) - len(head):,} more characters left out to make room]"
