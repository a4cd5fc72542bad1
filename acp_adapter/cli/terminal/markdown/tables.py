"""A table of Markdown: its rows are held until it ends, since each says how wide the columns are."""

from __future__ import annotations

import re
from itertools import zip_longest

from acp_adapter.cli.terminal.columns import columns
from acp_adapter.cli.terminal.markdown.flow import Flow
from acp_adapter.cli.terminal.markdown.inline import Inline
from acp_adapter.cli.terminal.style import Colour, Style

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
