"""Globs as editors write them: `*`, `**`, `?`, `[abc]`, `{a,b}`. No glob makes a match take long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import PurePosixPath

_LONGEST = 200
_MOST_FORMS = 64
_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\[\]/]+\]|.", re.DOTALL)


def fits(glob: str, path: PurePosixPath) -> bool:
    """Whether a glob means a path; one without a slash is for the name alone. None that is too long does."""
    text = path.name if "/" not in glob else str(path)
    return any(_is_whole(form, text) for form in _forms(glob))


@lru_cache(maxsize=256)
def _forms(glob: str) -> tuple[tuple[str, ...], ...]:
    """The glob without its braces, a form for each choice, in tokens."""
    if len(glob) > _LONGEST:
        return ()
    spread = _spread(f"{glob}**" if glob.endswith("/") else glob)
    return tuple(tuple(_TOKEN.findall(form)) for form in islice(spread, _MOST_FORMS))


def _spread(glob: str) -> Iterator[str]:
    begin = glob.find("{")
    end = _end_of_braces(glob, begin)
    if begin < 0 or end < 0:
        yield glob
        return
    for choice in _choices(glob[begin + 1 : end]):
        for rest in _spread(f"{choice}{glob[end + 1 :]}"):
            yield f"{glob[:begin]}{rest}"


def _end_of_braces(glob: str, begin: int) -> int:
    """Where the braces that begin there are closed; -1 where they are not."""
    depth = 0
    for place in range(max(begin, 0), len(glob)):
        depth += (glob[place] == "{") - (glob[place] == "}")
        if depth == 0:
            return place
    return -1


def _choices(inner: str) -> Iterator[str]:
    depth = start = 0
    for place, sign in enumerate(inner):
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth == 0:
            yield inner[start:place]
            start = place + 1
    yield inner[start:]


def _is_whole(tokens: tuple[str, ...], text: str) -> bool:
    """Whether the tokens take in all of the text: where each may end is followed, all ways at once."""
    reached = {0}
    for token in tokens:
        reached = _after(token, text, reached)
        if not reached:
            return False
    return len(text) in reached


def _after(token: str, text: str, reached: set[int]) -> set[int]:
    first, end = min(reached), len(text)
    match token:
        case "**":
            return set(range(first, end + 1))
        case "**/":
            return reached | {place + 1 for place in range(first, end) if text[place] == "/"}
        case "*":
            found: set[int] = set()
            for place in range(first, end + 1):
                if place in reached or (place - 1 in found and text[place - 1] != "/"):
                    found.add(place)
            return found
    return {place + 1 for place in reached if place < end and _is_sign(token, text[place])}


def _is_sign(token: str, sign: str) -> bool:
    if len(token) == 1:
        return sign != "/" if "?" in token else token == sign
    form = _class(token)
    return form is not None and form.match(sign) is not None


@lru_cache(maxsize=256)
def _class(token: str) -> re.Pattern[str] | None:
    """`[a-z]` or `[!a-z]`; None for one that can be none."""
    signs = token[1:-1]
    inverted = signs.startswith("!")
    escaped = re.escape(signs[inverted:]).replace(r"\-", "-")
    try:
        return re.compile(f"[{'^/' * inverted}{escaped}]", re.DOTALL)
    except re.error:
        return None
