"""A message in Markdown as the lines that a terminal shows of it, while it comes.

`markdown-it-py` says what the text means. Lines stay lines: what the model has put on a line of its own stands on
one, long ones go on under their beginning. Code is shown as it is, between two quiet rules, so that it can be copied.
Without colours the marks inside lines stay, since nothing else could tell what they say.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from itertools import zip_longest

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


def first_line(node: Node) -> int:
    """The line of the source at which a block begins."""
    return node.map[0] if node.map else 0


class Page:
    """The lines of a text in Markdown, in `colours` where it says nothing else."""

    def __init__(self, source: str, style: Style, *colours: Colour) -> None:
        self.source = source.split("\n")
        self.blocks = Node(_parser().parse(source)).children
        self._style = style
        self._colours = colours

    def lines(self, nodes: Sequence[Node], lead: str = "", *, in_block: bool = False) -> Iterator[str]:
        """What shows these blocks, each line behind `lead`; empty lines between them are one."""
        for number, node in enumerate(nodes):
            if (number or not in_block) and self.follows_blank(first_line(node)):
                yield lead.rstrip()
            yield from self._block(node, lead)

    def follows_blank(self, line: int) -> bool:
        """Whether the line before that one is empty."""
        return line > 0 and not self.source[line - 1].strip("> \t")

    def _block(self, node: Node, lead: str) -> Iterator[str]:
        width = max(self._style.width or _UNKNOWN_WIDTH, columns(lead) + _LEAST_ROOM)
        match node.type:
            case "paragraph" | "heading":
                for line in self._words(node).split("\n"):
                    yield from wrapped(line, width, lead, lead)
            case "bullet_list" | "ordered_list":
                for number, item in enumerate(node.children):
                    if number and self.follows_blank(first_line(item)):
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
        yield self._frame(f"{self._style.sign('rule') * 2} {label} ")
        for line in fence.content.removesuffix("\n").split("\n") if fence.content else ():
            colour = _DIFF_COLOURS.get(line[:1]) if label == "diff" else None
            yield self._style.paint(line, *self._colours, *([colour] if colour else ()))
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
            yield from (line for line in self.source[start:stop] if line.strip())
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


# The message.

_MUCH = 2000
_GROWN = 8


class Message:
    """Takes a message's text as it comes: blocks before the last are final, the last one may still change.

    Attributes:
        tail: the lines of the last block. A table is shown once it has ended: each row says how wide its columns are.
    """

    def __init__(self, style: Style, *colours: Colour) -> None:
        """Begin it, in `colours` where Markdown says nothing else."""
        self.tail: list[str] = []
        self._style = style
        self._colours = colours
        self._source = ""
        self._unseen = 0

    def feed(self, text: str) -> list[str]:
        """The lines that `text` makes final."""
        self._source += text
        self._unseen += len(text)
        if len(self._source) > _MUCH and self._unseen < len(self._source) // _GROWN:
            return []  # reading much again for each word would take long
        return self.settle()

    def settle(self) -> list[str]:
        """The same for what was not looked at so far."""
        self._unseen = 0
        page = Page(self._source, self._style, *self._colours)
        if not page.blocks:
            return []
        *whole, last = page.blocks
        start = first_line(last)
        if not whole or start == len(page.source) - 1:  # one more sign may make the last line another's
            self.tail = list(page.lines([*whole] if _is_held(last) else page.blocks))
            return []
        self.tail = [] if _is_held(last) else list(page.lines([last]))
        self._source = "\n".join(page.source[start - page.follows_blank(start) :])
        return list(page.lines(whole))

    def finish(self) -> list[str]:
        """The lines that are left; the message ends here."""
        page = Page(self._source, self._style, *self._colours)
        return list(page.lines(page.blocks))


def _is_held(node: Node) -> bool:
    is_row = node.type == "paragraph" and bool(node.children) and node.children[0].content.startswith("|")
    return is_row or node.type == "table"
