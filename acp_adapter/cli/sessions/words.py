"""Words that the sessions' subcommands share: ages, short ids."""

from __future__ import annotations

from collections.abc import Sequence

_SHORTEST = 8
_AGES = ((365 * 86_400, "y"), (86_400, "d"), (3_600, "h"), (60, "min"))


def ago(seconds: float) -> str:
    """`just now`, `5 min ago`, `2 h ago`, `3 d ago`, `1 y ago`."""
    for size, name in _AGES:
        if seconds >= size:
            return f"{int(seconds // size)} {name} ago"
    return "just now"


def short_ids(ids: Sequence[str]) -> list[str]:
    """The shortest beginnings, of one length and at least 8 characters, that tell these ids apart."""
    length = _SHORTEST
    while len({each[:length] for each in ids}) < len(set(ids)):
        length += 1
    return [each[:length] for each in ids]
