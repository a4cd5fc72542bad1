"""One message in Markdown as what a terminal shows of it, each word as soon as it is whole.

Lines stay lines: what the model has put on a line of its own stands on one, long ones go on under their beginning.
Code is shown as it is, between two quiet rules, so that it can be copied. Without colours the marks inside lines
stay, since nothing else could tell what they say.
"""

from __future__ import annotations

from acp_adapter.cli.terminal.markdown.flow import Flow
from acp_adapter.cli.terminal.markdown.inline import Inline, Piece
from acp_adapter.cli.terminal.markdown.lines import Line, line_of, quoted
from acp_adapter.cli.terminal.markdown.tables import table_lines
from acp_adapter.cli.terminal.style import Colour, Style

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
