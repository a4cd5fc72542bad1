"""Lines of a terminal, with their colours, as SVG: text that scales, can be searched and needs no font of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from operator import itemgetter

from scripts.pictures.pseudo_terminal import COLUMNS

_CODE = re.compile(r"\x1b\[([\d;]*)m")
_OTHER = re.compile(r"\x1b(?:\[[\d;?]*[A-Za-ln-z]|\][^\x07]*\x07|[=>])")
_COLOURS = {31: "#f2777a", 32: "#8bc98b", 33: "#e8c872", 34: "#7fa8e8", 35: "#c792d8", 36: "#6cc4c4"}
_BACK, _BAR, _TEXT, _DIM = "#1d2430", "#2b3444", "#d8dee9", "#8791a3"
_BLANK = "\N{NO-BREAK SPACE}"
_BOLD, _FAINT = 1, 2
_WIDE, _HIGH, _MARGIN, _TOP = 8.4, 18, 16, 52


def drawn(lines: Sequence[str], title: str) -> str:
    """The picture of a window with that title."""
    rows = [row for line in lines for row in _folded(line)]
    width, height = round(COLUMNS * _WIDE + 2 * _MARGIN), _TOP + len(rows) * _HIGH
    text = "\n".join(_row(row, _TOP + number * _HIGH) for number, row in enumerate(rows))
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">
<title>{escape(title)}</title>
<rect width="{width}" height="{height}" rx="8" fill="{_BACK}"/>
<path d="M0 8a8 8 0 0 1 8-8h{width - 16}a8 8 0 0 1 8 8v24H0z" fill="{_BAR}"/>
<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14">
<text x="{_MARGIN}" y="21" fill="{_DIM}">$ {escape(title)}</text>
{text}
</g>
</svg>
"""


def _folded(line: str) -> Iterator[list[tuple[str, str]]]:
    """The line's pieces, in as many rows as the terminal needs for them."""
    row: list[tuple[str, str]] = []
    room = COLUMNS
    # How a streamed text came in pieces is not to be seen.
    for look, group in groupby(_pieces(_OTHER.sub("", line)), key=itemgetter(1)):
        rest = "".join(text for text, _ in group)
        while len(rest) > room:
            yield [*row, (rest[:room], look)]
            row, rest, room = [], rest[room:], COLUMNS
        row.append((rest, look))
        room -= len(rest)
    yield row


def _row(pieces: Sequence[tuple[str, str]], y: int) -> str:
    spans, column = [], 0
    for text, look in pieces:
        words = text.strip(" ")
        if words:
            # Each piece has its place, so that a font with other widths moves no column.
            begin = column + len(text) - len(text.lstrip(" "))
            place = f'x="{_MARGIN + begin * _WIDE:.1f}" textLength="{len(words) * _WIDE:.1f}"'
            spans.append(f"<tspan {place} {look}>{escape(words).replace(' ', _BLANK)}</tspan>")
        column += len(text)
    return f'<text y="{y}">{"".join(spans)}</text>'


def _pieces(line: str) -> Iterator[tuple[str, str]]:
    """Text with its look."""
    codes: list[int] = []
    at = 0
    for found in (*_CODE.finditer(line), None):
        text = line[at : found.start() if found else len(line)]
        if text:
            yield text, _look(codes)
        if found is None:
            return
        for code in (int(part or 0) for part in found[1].split(";")):
            codes = [*codes, code] if code else []
        at = found.end()


def _look(codes: Sequence[int]) -> str:
    colour = next(
        (_COLOURS[code] for code in reversed(codes) if code in _COLOURS), _DIM if _FAINT in codes else _TEXT
    )
    weight = ' font-weight="bold"' if _BOLD in codes else ""
    return f'fill="{colour}"{weight}'
