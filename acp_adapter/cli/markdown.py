"""A message in Markdown as what a terminal shows of it, each word as soon as it is whole.

Lines stay lines: what the model has put on a line of its own stands on one, long ones go on under their beginning.
Code is shown as it is, between two quiet rules, so that it can be copied. Without colours the marks inside lines
stay, since nothing else could tell what they say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Literal

from acp_adapter.cli.console import Colour, Style, columns, is_wide, parts

# What stands in a line: emphasis, code, links. A piece whose end is not there yet is held back until it comes, or
# cannot come any more; then its marks were only signs. So what has been shown is never taken back.

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


# Words on lines that are no wider than the window: each is placed when it is whole, and stays.

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


# What a line begins, as far as it is there.

_QUOTES = re.compile(r"(?: {0,3}> ?){1,8}")
_HEAD = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])([ \t]+)")
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*")
_MAY_BE_MORE = re.compile(r"[ \t]*(?:[-*_+#`~=>|]+[ \t]*|[-*_][-*_ \t]*|\d{1,9}[.)]?[ \t]*)?")
"""A beginning of which the rest says what it is."""
_WHOLE = re.compile(r"[ \t]*(?:#{1,6}[ \t]|`{3}|~{3}|\|)")
"""What is shown only as a whole line."""
_LONGEST_MARKS = 200

Kind = Literal["blank", "head", "rule", "item", "fence", "row", "text"]


@dataclass(frozen=True, slots=True)
class Line:
    """What a line is.

    Attributes:
        kind: of which kind.
        quotes: how deep in quotations it stands.
        indent: the blanks before it.
        mark: a list item's mark, a heading's number signs, a fence's signs.
        text: what follows: the words, or a fence's language.
    """

    kind: Kind
    quotes: int = 0
    indent: int = 0
    mark: str = ""
    text: str = ""


def line_of(text: str, *, whole: bool) -> Line | None:
    """What `text` is, the beginning of a line or a `whole` one; None where its rest has to be known first."""
    quotes = _QUOTES.match(text)
    rest = text[quotes.end() :] if quotes else text
    depth = quotes[0].count(">") if quotes else 0
    is_open = len(rest) <= _LONGEST_MARKS and _MAY_BE_MORE.fullmatch(rest)
    if not whole and (is_open or _WHOLE.match(rest)):
        return None
    if not rest.strip():
        return Line("blank", depth)
    if _RULE.fullmatch(rest):
        return Line("rule", depth)
    if head := _HEAD.fullmatch(rest):
        return Line("head", depth, mark=head[1], text=head[2] or "")
    if fence := _FENCE.fullmatch(rest):
        return Line("fence", depth, _width(fence[1]), fence[2], fence[3])
    if rest.lstrip().startswith("|"):
        return Line("row", depth, text=rest)
    if item := _ITEM.match(rest if rest.strip() != rest.lstrip() else f"{rest} "):
        return Line("item", depth, _width(item[1]), item[2], rest[item.end() :])
    words = rest.lstrip(" \t")
    return Line("text", depth, _width(rest[: len(rest) - len(words)]), text=words)


def quoted(text: str, depth: int) -> str:
    """`text` without the marks of `depth` quotations."""
    for _ in range(depth):
        text = re.sub(r"^ {0,3}> ?", "", text, count=1)
    return text


def _width(blanks: str) -> int:
    return len(blanks.expandtabs(4))


# Tables: their rows are held until the end, since each says how wide the columns are.

_BAR = re.compile(r"(?<!\\)\|")
_UNDER_HEADS = re.compile(r" {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_BETWEEN = len(" | ")
_LEAST_COLUMN = 6


def table_lines(rows: list[str], style: Style, width: int, colours: tuple[Colour, ...]) -> list[str]:
    """The lines that show the table; `rows` as they are where they make none, or one that has no room."""
    if len(rows) < len(("heads", "line under them")) or not _UNDER_HEADS.fullmatch(rows[1]):
        return rows
    heads, sides, *body = (_cells(row) for row in rows)
    table = [(cells + [""] * len(heads))[: len(heads)] for cells in (heads, *body)]
    widths = _widths([[_natural(cell, style, colours) for cell in row] for row in table], width)
    if not widths:
        return rows
    shown = _row(table[0], widths, sides, style, (*colours, "bold"))
    rule, cross = style.sign("rule"), style.sign("cross")
    shown.append(style.paint(f"{rule}{cross}{rule}".join(rule * width for width in widths), "dim"))
    for cells in table[1:]:
        shown += _row(cells, widths, sides, style, colours)
    return shown


def _cells(row: str) -> list[str]:
    row = row.strip().removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(row)]


def _row(cells: list[str], widths: list[int], sides: list[str], style: Style, look: tuple[Colour, ...]) -> list[str]:
    told = [_lines(cell, style, width, look) for cell, width in zip(cells, widths, strict=True)]
    bar = f" {style.paint(style.sign('bar'), 'dim')} "
    sides = (sides + [""] * len(cells))[: len(cells)]
    placed = (map(_aligned, parts, widths, sides) for parts in zip_longest(*told, fillvalue=""))
    return [bar.join(parts).rstrip() for parts in placed]


def _aligned(part: str, width: int, side: str) -> str:
    free = max(0, width - _seen(part))
    if side.endswith(":"):
        left = free // 2 if side.startswith(":") else free
        return f"{' ' * left}{part}{' ' * (free - left)}"
    return part + " " * free


def _lines(cell: str, style: Style, width: int, colours: tuple[Colour, ...]) -> list[str]:
    pieces = Inline(*colours).feed(cell, last=True) if style.colour else [(cell, colours)]
    if width:  # a word that is wider than its column would shift the others
        pieces = [(re.sub(rf"(\S{{{width}}})(?=\S)", r"\1 ", text), look) for text, look in pieces]
    flow = Flow(style, width)
    return (flow.put(pieces) + flow.finish()).split("\n")


def _natural(cell: str, style: Style, colours: tuple[Colour, ...]) -> int:
    return _seen(_lines(cell, style, 0, colours)[0])


def _seen(text: str) -> int:
    return columns(_ESCAPES.sub("", text))


def _widths(natural: list[list[int]], width: int) -> list[int]:
    """How wide each column is; the widest give way where there is no room for all. Empty where that does not help."""
    widths = [max(1, *column) for column in zip(*natural, strict=True)]
    over = sum(widths) + _BETWEEN * (len(widths) - 1) - width if width else 0
    while over > 0:
        widest = max(widths)
        if widest <= _LEAST_COLUMN:
            return []
        widths[widths.index(widest)] -= 1
        over -= 1
    return widths


# The message.

_LEAST_ROOM = 20
_MOST_INDENT = 24
_RULE_WIDTH = 40
_DIFF_COLOURS: dict[str, Colour] = {"+": "green", "-": "red", "@": "cyan"}
_HEAD_LOOKS: dict[int, tuple[Colour, ...]] = {1: ("bold", "underline"), 2: ("bold",)}


class Message:
    """Takes a message's text as it comes; returns what is to be written after what was written before."""

    def __init__(self, style: Style, *colours: Colour) -> None:
        """Begin it, in `colours` where Markdown says nothing else."""
        self._style = style
        self._colours = colours
        self._line = ""
        self._flow: Flow | None = None
        self._inline = Inline()
        self._fence: Line | None = None
        self._rows: list[str] = []
        self._rows_depth = 0
        self._was_blank = False

    def feed(self, text: str) -> str:
        """What `text` adds."""
        shown, (first, *others) = "", text.split("\n")
        shown += self._part(first)
        for part in others:
            shown += self._end_of_line() + self._part(part)
        return shown

    def settle(self) -> str:
        """What is held back only because more might come at once."""
        return self._flow.settle() if self._flow else ""

    def finish(self) -> str:
        """What is left; the message ends here."""
        shown = ""
        if self._line or self._flow:
            shown = self._end_of_line().removesuffix("\n")
        if self._rows or self._fence:
            shown += "" if not shown or shown.endswith("\n") else "\n"
        shown += self._end_of_table()
        if self._fence:
            shown += self._frame(self._fence)
            self._fence = None
        return shown

    def _part(self, text: str) -> str:
        if not text:
            return ""
        if self._flow:
            return self._words(text)
        self._line += text
        if self._fence:
            return ""
        line = line_of(self._line, whole=False)
        return "" if line is None else self._begin(line)

    def _end_of_line(self) -> str:
        text, self._line = self._line, ""
        if self._flow:
            return self._end_of_words()
        if self._fence:
            return self._code(self._fence, text)
        line = line_of(text, whole=True)
        assert line is not None  # noqa: S101 - a whole line is something
        return self._whole(line)

    def _begin(self, line: Line) -> str:
        """Begin to show a line of words of which only the beginning is there."""
        self._line = ""
        before = self._end_of_table()
        self._was_blank = False
        lead = self._quotes(line.quotes) + " " * min(line.indent, _MOST_INDENT)
        indent = 2 * line.quotes + min(line.indent, _MOST_INDENT)
        first = rest = lead
        if line.kind == "item":
            mark = line.mark if line.mark[0].isdigit() else self._style.sign("bullet")
            first = f"{lead}{self._style.paint(mark, *self._colours, 'cyan')} "
            rest = f"{lead}{' ' * len(mark)} "
            indent += len(mark) + 1
        width = self._style.width and max(self._style.width, indent + _LEAST_ROOM)
        self._flow = Flow(self._style, width, first=first, rest=rest, indent=indent)
        self._inline = Inline(*self._colours)
        return before + self._words(line.text)

    def _words(self, text: str) -> str:
        assert self._flow is not None  # noqa: S101 - the callers know
        return self._flow.put(self._pieces(text))

    def _end_of_words(self) -> str:
        assert self._flow is not None  # noqa: S101 - the caller knows
        shown = self._flow.put(self._pieces("", last=True)) + self._flow.finish() + "\n"
        self._flow = None
        return shown

    def _pieces(self, text: str, *, last: bool = False) -> list[Piece]:
        if self._style.colour:
            return self._inline.feed(text, last=last)
        return [(text, self._colours)] if text else []

    def _whole(self, line: Line) -> str:
        if line.kind == "row" and (not self._rows or line.quotes == self._rows_depth):
            self._rows.append(line.text)
            self._rows_depth = line.quotes
            return ""
        before = self._end_of_table()
        quotes = self._quotes(line.quotes)
        match line.kind:
            case "blank":
                blank = "" if self._was_blank else f"{quotes.rstrip()}\n"
                self._was_blank = True
                return before + blank
            case "fence":
                self._fence = line
                self._was_blank = False
                return before + self._frame(line, line.text or "code")
            case "rule":
                self._was_blank = False
                return f"{before}{quotes}{self._style.paint(self._style.sign('rule') * self._rule_width(), 'dim')}\n"
            case "head":
                self._was_blank = False
                return f"{before}{quotes}{self._head(line)}\n"
            case "row":
                return before + self._whole(line)
            case _:
                return before + self._begin(line) + self._end_of_words()

    def _head(self, line: Line) -> str:
        if not self._style.colour:
            return f"{line.mark} {line.text}"
        look = (*self._colours, *_HEAD_LOOKS.get(len(line.mark), ("bold", "italic")))
        pieces = Inline(*look).feed(line.text, last=True)
        flow = Flow(self._style, self._style.width, indent=2 * line.quotes, rest=self._quotes(line.quotes))
        return flow.put(pieces) + flow.finish()

    def _code(self, fence: Line, text: str) -> str:
        text = quoted(text, fence.quotes)
        stripped = text.strip()
        if len(stripped) >= len(fence.mark) and set(stripped) == {fence.mark[0]}:
            self._fence = None
            return self._frame(fence)
        own = text[: fence.indent]
        text = text[len(own) - len(own.lstrip()) :] if fence.indent else text
        if fence.text == "diff" and text[:1] in _DIFF_COLOURS:
            text = self._style.paint(text, *self._colours, _DIFF_COLOURS[text[0]])
        else:
            text = self._style.paint(text, *self._colours)
        return f"{self._quotes(fence.quotes)}{text}\n"

    def _frame(self, fence: Line, label: str = "") -> str:
        rule = self._style.sign("rule")
        before = f"{rule * 2} {label} " if label else ""
        line = before + rule * max(2, self._rule_width() - len(before))
        return f"{self._quotes(fence.quotes)}{self._style.paint(line, 'dim')}\n"

    def _end_of_table(self) -> str:
        rows, self._rows = self._rows, []
        if not rows:
            return ""
        self._was_blank = False
        quotes = self._quotes(self._rows_depth)
        width = self._style.width and max(self._style.width - 2 * self._rows_depth, _LEAST_ROOM)
        return "".join(f"{quotes}{row}\n" for row in table_lines(rows, self._style, width, self._colours))

    def _quotes(self, depth: int) -> str:
        return f"{self._style.paint(self._style.sign('bar'), 'dim')} " * depth

    def _rule_width(self) -> int:
        return min(self._style.width or _RULE_WIDTH, _RULE_WIDTH)
