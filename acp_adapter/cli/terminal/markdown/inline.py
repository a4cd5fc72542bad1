"""What stands in a line of Markdown: emphasis, code, links. It is read as it comes.

A piece of which the end is not there yet is held back until it comes, or cannot come any more; then its marks were
only signs. So what has been shown is never taken back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from acp_adapter.cli.terminal.style import Colour

Piece = tuple[str, tuple[Colour, ...]]

_LONGEST_SPAN = 600
_MOST_LOOKS = 8
_LONGEST_LINK = 3000
_PLAIN = re.compile(r"[^\\`*_~\[!<]+")
_MARKS = re.compile(r"\*{1,3}|_{1,3}|~~")
_RUN = re.compile(r"(.)\1*")
_ESCAPED = re.compile(r"\\[!-/:-@\[-`{-~]")
_BACKTICKS = re.compile(r"`+")
_LINK = re.compile(
    r"(!?)\[((?:[^\[\]\\]|\\.)*)\]"  # the words
    r"\(\s*<?((?:[^\s()<>]|\([^\s()]*\))*)>?"  # where to
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"  # a title
)
_LINK_BEGUN = re.compile(r"!?\[(?:[^\[\]\\]|\\.)*(?:\](?:\([^)]*)?)?\\?")
_ADDRESS = re.compile(r"<((?:https?://|mailto:)[^\s<>]+)>")
_ADDRESS_BEGUN = re.compile(r"<(?:[a-z]{0,6}|(?:https?:|mailto:)[^\s<>]*)")
_RUNS = {mark: re.compile(rf"\\.|`+|{re.escape(mark)}+") for mark in "*_~"}
_COLOURS: dict[str, tuple[Colour, ...]] = {
    "*": ("italic",),
    "_": ("italic",),
    "**": ("bold",),
    "__": ("bold",),
    "***": ("bold", "italic"),
    "___": ("bold", "italic"),
    "~~": ("strike",),
}


class Inline:
    """The text of one line; `feed` gives what can be shown."""

    def __init__(self, *colours: Colour) -> None:
        self._colours = colours
        self._held = ""
        self._before = ""

    def feed(self, text: str, *, last: bool = False) -> list[Piece]:
        """The pieces that are whole with `text`; with `last` all that is left."""
        held, pieces = self._held + text, []
        position = 0
        while position < len(held):
            found = self._next(held, position, last=last)
            if found is None:
                break
            told, position = found
            self._before = held[position - 1]
            pieces += told
        self._held = held[position:]
        return pieces

    def _next(self, text: str, at: int, *, last: bool) -> tuple[list[Piece], int] | None:
        """The piece at `at`, and where it ends; None where that cannot be said yet."""
        if plain := _PLAIN.match(text, at):
            return [(plain[0], self._colours)], plain.end()
        if text[at] == "\\" and at + 1 == len(text) and not last:
            return None
        if escaped := _ESCAPED.match(text, at):
            return [(escaped[0][1], self._colours)], escaped.end()
        if text[at] == "`":
            return self._code(text, at, last=last)
        if text[at] in "[!":
            return self._link(text, at, last=last)
        if text[at] == "<":
            return self._address(text, at, last=last)
        return self._emphasis(text, at, last=last)

    def _code(self, text: str, at: int, *, last: bool) -> tuple[list[Piece], int] | None:
        marks = _BACKTICKS.match(text, at)
        assert marks is not None  # noqa: S101 - the caller has seen one
        for closing in _BACKTICKS.finditer(text, marks.end(), marks.end() + _LONGEST_SPAN):
            if len(closing[0]) != len(marks[0]):
                continue
            if closing.end() == len(text) and not last:
                return None
            code = text[marks.end() : closing.start()]
            if code.startswith(" ") and code.endswith(" ") and code.strip():
                code = code[1:-1]
            return [(code, (*self._colours, "cyan"))], closing.end()
        return self._signs(text, at, marks.end(), _LONGEST_SPAN, last=last)

    def _link(self, text: str, at: int, *, last: bool) -> tuple[list[Piece], int] | None:
        if link := _LINK.match(text, at):
            words = _whole(link[2], *self._colours, "underline")
            place = link[3]
            if not link[2].strip():
                return [(place, (*self._colours, "underline"))], link.end()
            if link[2].strip() in {place, place.removeprefix("mailto:")}:
                return words, link.end()
            return [*words, (f" ({place})", (*self._colours, "dim"))], link.end()
        may_be = len(text) - at <= _LONGEST_LINK
        is_open = at + 1 == len(text) or (may_be and _LINK_BEGUN.fullmatch(text, at) is not None)
        return self._signs(text, at, at + 1, _LONGEST_LINK if is_open else 0, last=last)

    def _address(self, text: str, at: int, *, last: bool) -> tuple[list[Piece], int] | None:
        if address := _ADDRESS.match(text, at):
            return [(address[1], (*self._colours, "underline"))], address.end()
        is_open = len(text) - at <= _LONGEST_LINK and _ADDRESS_BEGUN.fullmatch(text, at) is not None
        return self._signs(text, at, at + 1, _LONGEST_LINK if is_open else 0, last=last)

    def _emphasis(self, text: str, at: int, *, last: bool) -> tuple[list[Piece], int] | None:
        marks = _MARKS.match(text, at)
        if marks is None or len(self._colours) > _MOST_LOOKS:
            return self._signs(text, at, at + 1, 1 if at + 1 == len(text) else 0, last=last)
        end = marks.end()
        if end == len(text):  # what follows says whether something begins here
            return self._signs(text, at, end, _LONGEST_SPAN, last=last)
        before = self._before
        if text[end].isspace() or (marks[0][0] == "_" and before.isalnum()) or text[end] == marks[0][0]:
            run = _RUN.match(text, at)
            end = run.end() if run else end
            return [(text[at:end], self._colours)], end
        closing = _closing(text, end, marks[0], last=last)
        if closing is None:
            return self._signs(text, at, end, _LONGEST_SPAN, last=last)
        inside = _whole(text[end:closing], *self._colours, *_COLOURS[marks[0]])
        return inside, closing + len(marks[0])

    def _signs(self, text: str, at: int, end: int, longest: int, *, last: bool) -> tuple[list[Piece], int] | None:
        """Marks that begin nothing are signs; while they still may begin something they are held back."""
        if not last and len(text) - at <= longest:
            return None
        return [(text[at:end], self._colours)], end


def _whole(text: str, *colours: Colour) -> list[Piece]:
    return Inline(*colours).feed(text, last=True)


def _closing(text: str, start: int, marks: str, *, last: bool) -> int | None:
    """Where the emphasis that began before `start` ends; None where it does not, or not yet."""
    for at, end in _runs(text, start, marks[0]):
        if end == len(text) and not last:
            return None
        if text[at - 1].isspace() or (marks[0] == "_" and text[end : end + 1].isalnum()):
            continue
        if end - at == len(marks) or end - at == len("***"):
            return end - len(marks)
    return None


def _runs(text: str, start: int, mark: str) -> Iterator[tuple[int, int]]:
    """Where runs of `mark` begin and end, outside of code and not escaped."""
    at, end = start, min(len(text), start + _LONGEST_SPAN)
    pattern = _RUNS[mark]
    while found := pattern.search(text, at, end):
        at = found.end()
        if found[0][0] == mark:
            yield found.span()
        elif found[0][0] == "`":
            closing = next((run for run in _BACKTICKS.finditer(text, at, end) if len(run[0]) == len(found[0])), None)
            at = closing.end() if closing else at
