"""How many columns of a terminal a text takes."""

from __future__ import annotations

import unicodedata

_WIDE = frozenset("WF")
_INVISIBLE = frozenset({"Mn", "Me", "Cf"})
_EMOJI_PRESENTATION = "\ufe0f"


def columns(text: str) -> int:
    """The columns that `text` takes: two for wide signs, none for accents that stand on the sign before them."""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


def clipped(text: str, room: int, more: str) -> str:
    """`text` in `room` columns: where it takes more, its beginning, and `more` to say so."""
    if columns(text) <= room:
        return text
    while text and columns(text) > room - len(more):
        text = text[:-1]
    return f"{text.rstrip()}{more}"


def is_wide(sign: str) -> bool:
    """Whether the sign takes two columns: between two of those a line may break."""
    return not sign.isascii() and unicodedata.east_asian_width(sign) in _WIDE


def _columns_of(sign: str) -> int:
    if unicodedata.category(sign) in _INVISIBLE:
        # A symbol that is asked to be an emoji takes a column more.
        return 1 if sign == _EMOJI_PRESENTATION else 0
    return 2 if is_wide(sign) else 1
