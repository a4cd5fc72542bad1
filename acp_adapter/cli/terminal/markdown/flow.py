"""Words on lines that are no wider than the window: each is placed when it is whole, and stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from acp_adapter.cli.terminal.columns import columns, is_wide, parts
from acp_adapter.cli.terminal.markdown.inline import Piece
from acp_adapter.cli.terminal.style import Colour, Style

_CLOSING = frozenset("、。，．！？：；」』）】〉》”’")
"""Signs that begin no line."""


class Flow:
    """The lines of one paragraph."""

    def __init__(self, style: Style, width: int, *, first: str = "", rest: str = "", indent: int = 0) -> None:
        """Begin it.

        Args:
            width: where lines end; 0 where they do not.
            first: what stands before its first line; it is shown with the first word.
            rest: what stands before its other lines.
            indent: how many columns each of the two takes.
        """
        self._style = style
        self._width = width
        self._first, self._rest = first, rest
        self._indent = self._column = indent
        self._blanks = 0
        self._look_of_blanks: tuple[Colour, ...] = ()
        self._word: list[Piece] = []
        self._began = False

    def put(self, pieces: Iterable[Piece]) -> str:
        """What can be shown now that these came: all but the word that may go on."""
        split = ((part, colours) for text, colours in pieces for part in parts(text))
        return self._painted(placed for part in split for placed in self._take(*part))

    def settle(self) -> str:
        """The word so far, because nothing more comes for a while; it may still go on."""
        return self._painted(self._place())

    def finish(self) -> str:
        """What is left, without a line break; the lead-in of a paragraph without words."""
        return self.settle() + self._begin()

    def _take(self, text: str, colours: tuple[Colour, ...]) -> Iterator[Piece]:
        if text.isspace():
            yield from self._place()
            self._blanks += len(text)
            self._look_of_blanks = colours
            return
        after_wide = bool(self._word) and is_wide(self._word[-1][0][-1])
        if (is_wide(text[0]) or after_wide) and not (self._word and text in _CLOSING):
            yield from self._place()
        self._word.append((text, colours))

    def _place(self) -> Iterator[Piece]:
        word, self._word = self._word, []
        if not word:
            return
        if lead := self._begin():
            yield lead, ()
        room = sum(columns(text) for text, _ in word)
        is_first = self._column <= self._indent
        if self._width and not is_first and self._column + self._blanks + room > self._width:
            yield f"\n{self._rest}", ()
            self._column, is_first = self._indent, True
        if self._blanks and not is_first:
            # The blanks inside a link belong to it; those between it and other words do not.
            look = self._look_of_blanks
            yield " " * self._blanks, look if look == word[0][1][: len(look)] else ()
            self._column += self._blanks
        self._blanks = 0
        self._column += room
        if self._width and self._column > self._width:  # too long for any line: the terminal breaks it
            self._column %= self._width
        yield from word

    def _begin(self) -> str:
        if self._began:
            return ""
        self._began = True
        return self._first

    def _painted(self, pieces: Iterable[Piece]) -> str:
        runs = groupby(pieces, key=lambda piece: piece[1])
        return "".join(self._style.paint("".join(text for text, _ in run), *colours) for colours, run in runs)
