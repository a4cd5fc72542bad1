"""Whether a text talks about attacks, and which places in it are quotations."""

from __future__ import annotations

import re

_ABOUT = re.compile(
    r"prompt[\W_]{0,3}injection|jailbreak|red[\W_]?team|adversarial"
    r"|injection (?:attack|attempt|test|pattern|detect)\w{0,4}"
    r"|untrusted (?:text|input|content|data)|\bowasp\b|malicious (?:prompt|instruction|input|content)s?"
)
_QUOTES = "\"'`"
_OPENING, _CLOSING = "“«„「『", "”»“」』"


class Quoting:
    """Of one folded text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_about: bool | None = None
        self._fences: list[int] | None = None

    def is_quoted(self, place: int) -> bool:
        """Whether the place is within quotes, code or a quoted line, in a text about attacks."""
        if self._is_about is None:
            self._is_about = _ABOUT.search(self._text) is not None
        return self._is_about and (self._is_in_line_quotes(place) or self._is_in_fence(place))

    def _is_in_line_quotes(self, place: int) -> bool:
        begin = self._text.rfind("\n", 0, place) + 1
        before = self._text[begin:place]
        if before.lstrip().startswith(">"):
            return True
        if any(before.count(quote) % 2 for quote in _QUOTES):
            return True
        opened = sum(before.count(sign) for sign in _OPENING)
        return opened > sum(before.count(sign) for sign in _CLOSING if sign not in _OPENING)

    def _is_in_fence(self, place: int) -> bool:
        if self._fences is None:
            self._fences = [found.start() for found in re.finditer(r"(?m)^[ \t]{0,8}(?:```|~~~)", self._text)]
        return sum(1 for fence in self._fences if fence < place) % 2 == 1
