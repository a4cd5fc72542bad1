"""A message in Markdown as what a terminal shows of it, while it comes.

`markdown-it-py` says what the text means. Lines stay lines: what the model has put on a line of its own stands on
one, long ones go on under their beginning. Code is shown as it is, between two quiet rules, so that it can be copied.
Without colours the marks inside lines stay, since nothing else could tell what they say.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from itertools import takewhile, zip_longest

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode as Node
from wcwidth import center, ljust, rjust

from acp_adapter.cli.console import Colour, Style, columns, wrapped
from acp_adapter.format import safe_text

# A text as lines. What is read from it is made safe once more: Markdown has ways of writing any character.

_LEAST_ROOM = 20
_RULE_WIDTH = 40
_UNKNOWN_WIDTH = 100_000
_LEAST_COLUMN = 6
_BETWEEN = len(" | ")
_DIFF_COLOURS: dict[str, Colour] = {"+": "green", "-": "red", "@": "cyan"}
_HEAD_LOOKS: dict[str, tuple[Colour, ...]] = {"h1": ("bold", "underline"), "h2": ("bold",)}
_INLINE_LOOKS: dict[str, Colour] = {"strong": "bold", "em": "italic", "s": "strike"}
_ALIGNED = {"text-align:right": rjust, "text-align:center": center}


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"])
    # What models write so is meant as it stands there.
    parser.disable(["html_block", "html_inline", "entity", "reference", "lheading", "code"])
    parser.normalizeLink = str  # type: ignore[method-assign, assignment]  # it is shown, not opened
    return parser


def _read(source: str) -> list[Node]:
    return Node(_parser().parse(source)).children


def _first_line(node: Node) -> int:
    return node.map[0] if node.map else 0


class Page:
    """The lines of a text in Markdown."""

    def __init__(
        self, source: str, style: Style, *colours: Colour, goes_on: bool = False, ended: bool = True
    ) -> None:
        """Read it.

        Args:
            colours: where Markdown says nothing else.
            goes_on: it begins with code whose beginning was shown.
            ended: nothing follows; else code at the end may not be all.
        """
        self._source = source.split("\n")
        self._style = style
        self._colours = colours
        self._goes_on = goes_on
        self._ended = ended

    def lines(self, nodes: Sequence[Node], lead: str = "", *, in_block: bool = False) -> Iterator[str]:
        """What shows these blocks, each line behind `lead`; empty lines between them are one."""
        for number, node in enumerate(nodes):
            if (number or not in_block) and self.follows_blank(_first_line(node)):
                yield lead.rstrip()
            yield from self._block(node, lead)

    def follows_blank(self, line: int) -> bool:
        """Whether the line before that one is empty."""
        return line > 0 and not self._source[line - 1].strip("> \t")

    def is_open(self, node: Node) -> bool:
        """Whether it is code that may go on."""
        if node.type != "fence":
            return False
        start, stop = node.map or (0, 0)
        last = self._source[stop - 1].strip("> \t")
        is_end = len(last) >= len(node.markup) and not last.strip(node.markup[0])
        return stop - start < len(("begin", "end")) or not is_end

    def _block(self, node: Node, lead: str) -> Iterator[str]:
        width = max(self._style.width or _UNKNOWN_WIDTH, columns(lead) + _LEAST_ROOM)
        match node.type:
            case "paragraph" | "heading":
                for line in self._words(node).split("\n"):
                    yield from wrapped(line, width, lead, lead)
            case "bullet_list" | "ordered_list":
                for number, item in enumerate(node.children):
                    if number and self.follows_blank(_first_line(item)):
                        yield lead.rstrip()
                    yield from self._item(item, lead)
            case "blockquote":
                bar = self._style.paint(self._style.sign("bar"), "dim")
                yield from self.lines(node.children, f"{lead}{bar} ", in_block=True)
            case "fence":
                # Without the blanks of a list around it, to be copied.
                yield from (f"{lead if lead.strip() else ''}{line}" for line in self._code(node))
            case "table":
                yield from (f"{lead}{line}" for line in self._table(node, width - columns(lead)))
            case _:
                yield f"{lead}{self._style.paint(self._style.sign('rule') * self._rule_width(), 'dim')}"

    def _words(self, node: Node) -> str:
        if node.type == "paragraph":
            return self._inline(node)
        look = _HEAD_LOOKS.get(node.tag, ("bold", "italic"))
        return self._inline(node, *look) if self._style.colour else f"{node.markup} {self._inline(node)}"

    def _inline(self, node: Node, *look: Colour) -> str:
        """A paragraph's words, or a cell's; without colours as they were written."""
        inner = node.children[0] if node.children else None
        if inner is None:
            return ""
        if not self._style.colour:
            return safe_text(inner.content)
        return "".join(self._pieces(inner.children, *self._colours, *look))

    def _pieces(self, nodes: Sequence[Node], *look: Colour) -> Iterator[str]:
        paint = self._style.paint
        for node in nodes:
            match node.type:
                case "softbreak" | "hardbreak":
                    yield "\n"
                case "strong" | "em" | "s":
                    yield from self._pieces(node.children, *look, _INLINE_LOOKS[node.type])
                case "code_inline":
                    yield paint(safe_text(node.content), *look, "cyan")
                case "link" | "image":
                    yield from self._link(node, *look)
                case _:
                    yield paint(safe_text(node.content), *look)

    def _link(self, node: Node, *look: Colour) -> Iterator[str]:
        place = safe_text(str(node.attrs.get("href") or node.attrs.get("src") or ""))
        words = "".join(child.content for child in node.walk() if not child.children and child is not node)
        yield from self._pieces(node.children, *look, "underline")
        if not words.strip():
            yield self._style.paint(place, *look, "underline")
        elif words.strip() not in {place, place.removeprefix("mailto:")}:
            yield self._style.paint(f" ({place})", *look, "dim")

    def _item(self, item: Node, lead: str) -> Iterator[str]:
        mark = f"{item.info}{item.markup}" if item.info else self._style.sign("bullet")
        painted = f"{lead}{self._style.paint(mark, *self._colours, 'cyan')}"
        further = f"{lead}{' ' * len(mark)} "
        first, *more = self.lines(item.children, further, in_block=True) if item.children else [further]
        if first.startswith(further):
            yield f"{painted} {first.removeprefix(further)}".rstrip()
        else:  # code
            yield from (painted, first)
        yield from more

    def _code(self, fence: Node) -> Iterator[str]:
        label = safe_text(fence.info.split()[0]) if fence.info.split() else "code"
        if not self._goes_on or _first_line(fence):
            yield self._frame(f"{self._style.sign('rule') * 2} {label} ")
        for line in fence.content.removesuffix("\n").split("\n") if fence.content else ():
            colour = _DIFF_COLOURS.get(line[:1]) if label == "diff" else None
            yield self._style.paint(line, *self._colours, *([colour] if colour else ()))
        if self._ended or not self.is_open(fence):
            yield self._frame("")

    def _frame(self, begin: str) -> str:
        return self._style.paint(begin + self._style.sign("rule") * max(2, self._rule_width() - len(begin)), "dim")

    def _rule_width(self) -> int:
        return min(self._style.width or _RULE_WIDTH, _RULE_WIDTH)

    def _table(self, table: Node, width: int) -> Iterator[str]:
        rows = [row.children for part in table.children for row in part.children]
        cells = [[self._inline(cell, *(("bold",) if cell.type == "th" else ())) for cell in row] for row in rows]
        widths = _widths([[columns(cell) for cell in row] for row in cells], width)
        if not widths:
            start, stop = table.map or (0, 0)
            yield from (line for line in self._source[start:stop] if line.strip())
            return
        sides = [_ALIGNED.get(str(cell.attrs.get("style")), ljust) for cell in rows[0]]
        bar = f" {self._style.paint(self._style.sign('bar'), 'dim')} "
        for number, row in enumerate(cells):
            told = [wrapped(cell, room, breaks_words=True) for cell, room in zip(row, widths, strict=True)]
            for parts in zip_longest(*told, fillvalue=""):
                yield bar.join(
                    side(part, room) for side, part, room in zip(sides, parts, widths, strict=True)
                ).rstrip()
            if not number:
                rule, cross = self._style.sign("rule"), self._style.sign("cross")
                yield self._style.paint(f"{rule}{cross}{rule}".join(rule * room for room in widths), "dim")


def _widths(natural: list[list[int]], width: int) -> list[int]:
    """How wide each column is; the widest give way where there is no room for all. Empty where that does not help."""
    widths = [max(1, *column) for column in zip(*natural, strict=True)]
    for _ in range(sum(widths) + _BETWEEN * (len(widths) - 1) - width):
        if max(widths) <= _LEAST_COLUMN:
            return []
        widths[widths.index(max(widths))] -= 1
    return widths


# Lines at the end of the transcript that are drawn over again while they change.

_UNKNOWN_HEIGHT = 24


class Drawing:
    """The lines as they were drawn last; the cursor stands behind the last of them."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._lines: list[str] = []
        self._is_begun = False

    def draw(self, lines: list[str]) -> str:
        """What has to be written to show `lines` in place of those before."""
        before, self._lines = self._lines, lines
        if not before:
            lead = "\n" if lines and self._is_begun else ""
            self._is_begun |= bool(lines)
            return lead + "\n".join(lines)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, lines, strict=False)))
        if same == len(before):
            return "".join(f"\n{line}" for line in lines[same:])
        if same == len(before) - 1 and same < len(lines) and lines[same].startswith(before[same]):
            return "\n".join([lines[same][len(before[same]) :], *lines[same + 1 :]])
        if same and same == len(lines):
            same -= 1
        # What has left the window at its top cannot be drawn over.
        while same < len(before) - 1 and self._rows(before[same:]) > (self._style.height or _UNKNOWN_HEIGHT):
            same += 1
        above = self._rows(before[same:]) - 1
        self._is_begun = bool(lines)
        return "\r" + (f"\x1b[{above}A" if above > 0 else "") + "\x1b[J" + "\n".join(lines[same:])

    def settle(self, many: int) -> None:
        """The first so many lines are drawn for good."""
        del self._lines[:many]

    def _rows(self, lines: Sequence[str]) -> int:
        """The rows of the window that they take: in one made narrower since, each may take several."""
        width = self._style.width or _UNKNOWN_WIDTH
        return sum(max(1, -(-columns(line) // width)) for line in lines)


# The message.

_MUCH = 800
_GROWN = 6


class Message:
    """Takes a message's text as it comes; returns what is to be written after what was written before.

    Blocks before the last are shown for good and forgotten, and so are the items of a list and the lines of code
    before the last; only the rest is read and drawn again. A table is shown once it has ended, since each row says
    how wide its columns are.
    """

    def __init__(self, style: Style, *colours: Colour) -> None:
        """Begin it, in `colours` where Markdown says nothing else."""
        self._style = style
        self._colours = colours
        self._source = ""
        self._unseen = 0
        self._drawing = Drawing(style)
        self._goes_on = False

    def feed(self, text: str) -> str:
        """What `text` adds."""
        self._source += text
        self._unseen += len(text)
        if len(self._source) > _MUCH and self._unseen < len(self._source) // _GROWN:
            return ""  # reading much again for each word would take long
        return self._shown()

    def settle(self) -> str:
        """Nothing more comes for a while: where a line has ended, others may write below it."""
        nodes = _read(self._source)
        if not self._source.endswith("\n") or not nodes or nodes[-1].type == "fence" or _is_held(nodes[-1]):
            return self._shown() if self._unseen else ""
        shown = self._shown()
        self._source = "\n" if self._source.endswith("\n\n") else ""
        self._drawing = Drawing(self._style)
        return f"{shown}\n"

    def finish(self) -> str:
        """What is left; the message ends here."""
        return self._shown(ended=True)

    def _shown(self, *, ended: bool = False) -> str:
        self._unseen = 0
        nodes = _read(self._source)
        page = self._page(self._source, ended=ended)
        is_held = not ended and bool(nodes) and _is_held(nodes[-1])
        written = self._drawing.draw(list(page.lines(nodes[:-1] if is_held else nodes)))
        if nodes and not ended:
            self._forget(page, nodes[-1])
        return written

    def _forget(self, page: Page, last: Node) -> None:
        """Forget what is shown for good: the text before the block, the item or the line that may go on."""
        lines = self._source.split("\n")
        is_open, start = page.is_open(last), _first_line(last)
        if is_open:
            cut = len(lines) - 1 if len(lines) - 1 > start + 1 else start
        else:
            cut = _first_line(last.children[-1]) if last.type.endswith("_list") else start
        begins = [lines[start]] if is_open and cut > start else []
        if not begins and page.follows_blank(cut):
            cut -= 1
        if cut <= 0:
            return
        head = "".join(f"{line}\n" for line in lines[:cut])
        self._drawing.settle(len(list(self._page(head, ended=not begins).lines(_read(head)))))
        self._source = "\n".join([*begins, *lines[cut:]])
        self._goes_on = bool(begins)

    def _page(self, source: str, *, ended: bool) -> Page:
        return Page(source, self._style, *self._colours, goes_on=self._goes_on, ended=ended)


def _is_held(node: Node) -> bool:
    is_row = node.type == "paragraph" and bool(node.children) and node.children[0].content.startswith("|")
    return node.type == "table" or is_row
