"""Brace expansion: `a{b,c}` is two words before anything else is looked at (bash manual, 3.5.1)."""

from __future__ import annotations

import itertools
import re

from tools.bash.budget import MAX_EXPANDED
from tools.bash.lexing import Lexer

_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?")


def words_of_braces(word: str, lexer: Lexer) -> tuple[str, ...] | None:
    """The words that `word` becomes; None where they are more than anybody wants to see.

    Args:
        lexer: reads `word`.
    """
    if "{" not in word:
        return (word,)
    for opened in _unquoted(word, lexer, "{"):
        parts = _parts(word, lexer, opened)
        if parts is None:
            continue
        values, closed = parts
        if len(values) > MAX_EXPANDED:
            return None
        rest = words_of_braces(word[closed:], lexer_for(word[closed:], lexer))
        if rest is None:
            return None
        inner: list[str] = []
        for value in values:
            deeper = words_of_braces(value, lexer_for(value, lexer))
            if deeper is None:
                return None
            inner.extend(deeper)
        if len(inner) * len(rest) > MAX_EXPANDED:
            return None
        return tuple(word[:opened] + middle + end for middle, end in itertools.product(inner, rest))
    return (word,)


def lexer_for(word: str, lexer: Lexer) -> Lexer:
    """A lexer of the same kind for another text, one level deeper."""
    return type(lexer)(word, lexer.budget, lexer.depth + 1)


def _unquoted(word: str, lexer: Lexer, wanted: str) -> list[int]:
    places, place = [], 0
    while place < len(word):
        if word[place] in wanted:
            places.append(place)
        elif word[place] in "<>" and word.startswith("(", place + 1):
            place = lexer.script_end(place + 2)
            continue
        place = lexer.part_end(place)
    return places


def _parts(word: str, lexer: Lexer, opened: int) -> tuple[list[str], int] | None:
    """What stands between the braces, and where they end; None for braces that mean themselves."""
    depth, start, values = 0, opened + 1, []
    for place in _unquoted(word, lexer, "{},"):
        if place <= opened:
            continue
        if word[place] == "{":
            depth += 1
        elif word[place] == "}" and depth:
            depth -= 1
        elif not depth and word[place] == ",":
            values.append(word[start:place])
            start = place + 1
        elif not depth:
            if values:
                return [*values, word[start:place]], place + 1
            run = _range(word[start:place])
            return (run, place + 1) if run else None
    return None


def _range(text: str) -> list[str] | None:
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    first, last = found[1], found[2]
    if first.isalpha() != last.isalpha():
        return None
    low, high = (ord(first), ord(last)) if first.isalpha() else (int(first), int(last))
    step = abs(int(found[3] or 1)) or 1
    count = abs(high - low) // step + 1
    sign = 1 if high >= low else -1
    numbers = [low + sign * step * index for index in range(min(count, MAX_EXPANDED + 1))]
    if first.isalpha():
        return [chr(number) for number in numbers]
    width = max(len(first), len(last)) if re.match(r"-?0\d", first) or re.match(r"-?0\d", last) else 0
    return [str(number).zfill(width) for number in numbers]
