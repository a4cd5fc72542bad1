"""Tables of names, written as texts with blanks between."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def names(*texts: str) -> frozenset[str]:
    """Names apart by blanks."""
    return frozenset(name for text in texts for name in text.split())


def each(text: str, value: T) -> dict[str, T]:
    """The same for each of the names in `text`."""
    return dict.fromkeys(text.split(), value)
