"""How many columns of a terminal a text takes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import groupby

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
    if fitting(text, room) == len(text):
        return text
    return f"{text[: fitting(text, room - len(more))].rstrip()}{more}"


def fitting(text: str, room: int) -> int:
    """How many characters from the beginning of `text` have room in so many columns."""
    if text[: max(0, room) + 1].isascii():
        return min(len(text), max(0, room))
    taken = 0
    for place, sign in enumerate(text):
        taken += _columns_of(sign)
        if taken > room:
            return place
    return len(text)


def wrapped(text: str, width: int, first: str = "", rest: str = "", *, breaks_words: bool = False) -> list[str]:
    """`text` in lines of `width` columns, broken between words, or between wide signs.

    Args:
        first: what stands before the first line, `rest` before the others; both count.
        breaks_words: a word that has no room in a line goes on in the next; else it is left whole, to be copied.
    """
    lines: list[str] = []
    line, blanks = first, ""
    taken, is_begun = columns(first), False
    for part in parts(text):
        if part.isspace():
            blanks = part.expandtabs() if is_begun or not lines else ""
            continue
        if is_begun and taken + len(blanks) + columns(part) > width:
            lines.append(line)
            line, taken, is_begun, blanks = rest, columns(rest), False, ""
        left = blanks + part
        while (
            breaks_words
            and taken + columns(left) > width
            and (some := max(1, fitting(left, width - taken))) < len(left)
        ):
            lines.append(line + left[:some])
            line, taken, left = rest, columns(rest), left[some:]
        line, taken, is_begun, blanks = line + left, taken + columns(left), True, ""
    return [*lines, line] if is_begun else lines


def parts(text: str) -> Iterator[str]:
    """Blanks, wide signs one by one, and what stands between them."""
    for kind, run in groupby(text, key=_kind):
        if kind == "wide":
            yield from run
        else:
            yield "".join(run)


def is_wide(sign: str) -> bool:
    """Whether the sign takes two columns: between two of those a line may break."""
    return not sign.isascii() and unicodedata.east_asian_width(sign) in _WIDE


def _columns_of(sign: str) -> int:
    if unicodedata.category(sign) in _INVISIBLE:
        # A symbol that is asked to be an emoji takes a column more.
        return 1 if sign == _EMOJI_PRESENTATION else 0
    return 2 if is_wide(sign) else 1


def _kind(sign: str) -> str:
    if sign.isspace():
        return "blank"
    return "wide" if is_wide(sign) else "word"
