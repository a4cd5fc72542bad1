"""Whether a text fits a pattern in which `*` is any text and `?` one character; also where parts are not known."""

from __future__ import annotations

import functools
import re

from tools.bash.unknown import UNKNOWN

_LONGEST = 8_000


def fits(pattern: str, text: str) -> bool:
    """Whether `text` fits, whatever stands for its unknown parts: only a `*` covers one of them."""
    return len(text) <= _LONGEST and _fits(_with_optional_rest(pattern), text)


def may_fit(pattern: str, text: str) -> bool:
    """Whether `text` could fit, if its unknown parts are what they may be; letter case does not count."""
    if len(text) > _LONGEST:
        return True
    folded = _with_optional_rest(pattern.casefold())
    # With no sign in it, what is denied is denied with more words, too.
    patterns = folded if "*" in pattern or "?" in pattern else (*folded, f"{pattern.casefold()} *")
    if UNKNOWN not in text:
        return _fits(patterns, text.casefold())
    return any(_could_reach_end(each, text.casefold()) for each in patterns)


def _with_optional_rest(pattern: str) -> tuple[str, ...]:
    """`make *` is `make` alone, too."""
    return pattern, pattern.removesuffix(" *")


def _fits(patterns: tuple[str, ...], text: str) -> bool:
    return any(_compiled(pattern).fullmatch(text) for pattern in patterns)


@functools.lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Several stars in a row would only make it slow.
    parts = re.split(r"(\*+|\?)", pattern)
    signs = {"?": f"[^{UNKNOWN}]"}
    text = "".join(".*" if part.startswith("*") else signs.get(part, re.escape(part)) for part in parts)
    return re.compile(text, re.DOTALL)


def _could_reach_end(pattern: str, text: str) -> bool:
    """Follow every way through the pattern at once; an unknown part leads to any later place."""
    end = len(pattern)
    places = _past_stars({0}, pattern)
    for sign in text:
        if not places:
            return False
        if sign == UNKNOWN:
            places = set(range(min(places), end + 1))
            continue
        stay = {place for place in places if place < end and pattern[place] == "*"}
        step = {place + 1 for place in places if place < end and pattern[place] in {sign, "?"}}
        places = _past_stars(stay | step, pattern)
    return end in places


def _past_stars(places: set[int], pattern: str) -> set[int]:
    found = set(places)
    for place in places:
        after = place
        while after < len(pattern) and pattern[after] == "*":
            after += 1
            found.add(after)
    return found


@functools.lru_cache(maxsize=512)
def path_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern of paths as an expression: `*` stays within a name, `**` goes over several."""
    text = ""
    for part in re.split(r"(\*\*/|/\*\*\Z|\*\*|\*|\?)", pattern):
        match part:
            case "**/":
                text += "(?:.*/)?"
            case "/**":
                text += "/.*"
            case "**":
                text += ".*"
            case "*":
                text += "[^/]*"
            case "?":
                text += "[^/]"
            case _:
                text += re.escape(part)
    return re.compile(text, re.DOTALL)
