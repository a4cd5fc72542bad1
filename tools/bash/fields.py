"""The words that an expansion makes, while it goes on: where one ends and what is known of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.bash.budget import MAX_TEXT, TooMuch
from tools.bash.reading import UNKNOWN, Argument

_GLOB = re.compile(r"[*?]|\[[^\]]*\]|[+@!]\(")


class Fields:
    """Collects words. With no `ifs`, nothing is split and nothing is a pattern."""

    def __init__(self, ifs: str | None) -> None:
        self.done: list[Argument] = []
        self._ifs = ifs
        self._text: list[str] = []
        self._patterns: list[str] = []
        self._is_open = False
        self._splits = False
        self._size = 0

    def quoted(self, text: str) -> None:
        """Text that means itself."""
        self._is_open = True
        self._add(text)
        self._patterns.append("x" * len(text))

    def plain(self, text: str) -> None:
        """Text that stands unquoted in the script: its patterns count, its blanks were cut before."""
        self._is_open = True
        self._add(text)
        self._patterns.append(text)
        self._splits = self._splits or UNKNOWN in text

    def split(self, value: str) -> None:
        """The value of an unquoted expansion: it is split, and its patterns count."""
        if self._ifs is None or not self._ifs:
            if value:
                self.plain(value)
            return
        for place, piece in enumerate(re.split(f"[{re.escape(self._ifs)}]+", value)):
            if place:
                self.close()
            if piece:
                self.plain(piece)

    def several(self, values: Sequence[str]) -> None:
        """Words of their own, the first and the last of which touch what is around them."""
        for place, value in enumerate(values):
            if place:
                self.close()
            self.quoted(value)

    def unknown(self, *, splits: bool) -> None:
        """Something that only the shell can know."""
        self.quoted(UNKNOWN)
        self._splits = self._splits or splits

    def unknown_number(self, value: str | None) -> None:
        """A number: one word, whatever it is."""
        self.quoted(UNKNOWN if value is None else value)

    def close(self) -> None:
        """End the word, where there is one."""
        if not self._is_open:
            return
        text = "".join(self._text)
        expands = self._ifs is not None and _GLOB.search("".join(self._patterns)) is not None
        self.done.append(Argument(text, expands=expands, splits=self._splits and self._ifs is not None))
        self._text, self._patterns = [], []
        self._is_open = self._splits = False

    def _add(self, text: str) -> None:
        self._size += len(text)
        if self._size > MAX_TEXT:
            raise TooMuch
        self._text.append(text)
