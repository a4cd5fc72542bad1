"""Tables in Markdown as HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acp_adapter.export.markdown_inline import inline
from acp_adapter.export.markup import Html, join, tag

_RULE_CELL = re.compile(r":?-+:?")
_PIPE = re.compile(r"(?<!\\)\|")


def is_table(lines: Sequence[str], place: int) -> bool:
    """Whether a table begins at `place`: a row, and under it a rule of as many cells."""
    if "|" not in lines[place] or place + 1 >= len(lines) or "-" not in lines[place + 1]:
        return False
    rule = _cells(lines[place + 1])
    return len(rule) == len(_cells(lines[place])) and all(_RULE_CELL.fullmatch(cell) for cell in rule)


def take_table(lines: Sequence[str], place: int) -> tuple[Html, int]:
    """The table that begins at `place`, and the place after it."""
    sides = [_side(cell) for cell in _cells(lines[place + 1])]
    end = place + 2
    while end < len(lines) and "|" in lines[end]:
        end += 1
    head = tag("thead", _row(lines[place], "th", sides))
    body = join(_row(line, "td", sides) for line in lines[place + 2 : end])
    return tag("div", tag("table", head, tag("tbody", body)), class_="table"), end


def _row(line: str, name: str, sides: Sequence[str | None]) -> Html:
    cells = _cells(line)[: len(sides)]
    cells += [""] * (len(sides) - len(cells))
    made = (tag(name, inline(cell), class_=side) for cell, side in zip(cells, sides, strict=True))
    return tag("tr", *made)


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _PIPE.split(inner)]


def _side(rule: str) -> str | None:
    match rule.startswith(":"), rule.endswith(":"):
        case True, True:
            return "centre"
        case False, True:
            return "right"
    return None
