"""`$ARGUMENTS` and `$1` to `$9` in texts of the person's own: what was typed behind a command's name."""

from __future__ import annotations

import re
import shlex

_PLACE = re.compile(r"\$(?:(ARGUMENTS)\b|([1-9])(?![0-9]))")
ALL = "$ARGUMENTS"


def has_places(body: str) -> bool:
    """Whether there is a place for arguments."""
    return _PLACE.search(body) is not None


def placed(body: str, arguments: str) -> tuple[str, int]:
    """`body` with the arguments in their places, and how many places there are.

    `$ARGUMENTS` is all of them as they were typed, `$1` to `$9` are single words, or what stands in quotes. A word
    that was not typed is empty. What the arguments themselves hold is not looked at.
    """
    words = _words(arguments)

    def value(found: re.Match[str]) -> str:
        if found[1] is not None:
            return arguments
        place = int(found[2]) - 1
        return words[place] if place < len(words) else ""

    return _PLACE.subn(value, body)


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # an apostrophe is no open quote
        return arguments.split()
