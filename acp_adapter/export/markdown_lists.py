"""Lists in Markdown as HTML: bullets, numbers, boxes to tick, and whatever is indented below an item."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field

from acp_adapter.export.markdown_inline import inline
from acp_adapter.export.markup import Html, join, tag, text
from tools.light_dataclass import dataclass

ITEM = re.compile(r"(?P<indent> {0,3})(?P<mark>[-*+]|\d{1,9}[.)])(?:(?P<space> {1,4})(?P<text>\S.*)?|(?P<bare>)$)")
"""A line that begins an item; `text` is None or absent where the item's first line is empty."""

_BOX = re.compile(r"\[([ xX])\]\s+")


@dataclass(slots=True)
class _Item:
    lines: list[str] = field(default_factory=list)


def take_list(
    lines: Sequence[str],
    place: int,
    inner: Callable[[Sequence[str]], Html],
    begins_block: Callable[[str], bool],
) -> tuple[Html, int]:
    """The list that begins at `place`, and the place after it.

    Args:
        inner: makes HTML of an item's own blocks.
        begins_block: whether a line begins a block that ends the list when it is not indented.
    """
    first = _item_at(lines[place])
    sign = first[1][-1]
    items: list[_Item] = []
    width, end, is_loose = 0, place, False
    while end < len(lines):
        line = lines[end]
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            following = next((index for index in range(end, len(lines)) if lines[index].strip()), len(lines))
            if following == len(lines) or not _goes_on(lines[following], width, sign):
                break
            is_loose = True
            items[-1].lines += [""] * (following - end)
            end = following
            continue
        if items and indent >= width:
            items[-1].lines.append(line[width:])
        elif ITEM.match(line) and _item_at(line)[1][-1] == sign and not _is_rule_like(line):
            width, _, rest = _item_at(line)
            items.append(_Item([rest]))
        elif items[-1].lines[-1] and not begins_block(line) and not ITEM.match(line):
            items[-1].lines.append(line.strip())
        else:
            break
        end += 1
    made = join(_item(item.lines, inner, is_loose=is_loose) for item in items)
    if sign in ".)":
        start = str(int(first[1][:-1]))
        return tag("ol", made, start=start if start != "1" else None), end
    return tag("ul", made), end


def _item_at(line: str) -> tuple[int, str, str]:
    """How far the content of an item is indented, its mark, and the first line of its content."""
    found = ITEM.match(line)
    if found is None:
        return 0, "", ""
    space, content = found["space"] or " ", found["text"] or ""
    return len(found["indent"]) + len(found["mark"]) + (len(space) if content else 1), found["mark"], content


def _goes_on(line: str, width: int, sign: str) -> bool:
    """Whether a line after an empty one still belongs to the list."""
    return len(line) - len(line.lstrip()) >= width or _item_at(line)[1][-1:] == sign


def _is_rule_like(line: str) -> bool:
    signs = line.replace(" ", "")
    return len(signs) > 2 and not signs.strip(signs[0]) and signs[0] in "-*"  # noqa: PLR2004 - a rule has three


def _item(lines: Sequence[str], inner: Callable[[Sequence[str]], Html], *, is_loose: bool) -> Html:
    box = _BOX.match(lines[0])
    content = [lines[0][box.end() :] if box else lines[0], *lines[1:]]
    sign = tag("span", text("☑ " if box[1].strip() else "☐ "), class_="box") if box else text("")
    if is_loose:
        return tag("li", sign, inner(content))
    plain = next((place for place, line in enumerate(content) if place and _nests(line)), len(content))
    first = inline("\n".join(content[:plain])) if not _nests(content[0]) else inner(content[:plain])
    return tag("li", sign, first, inner(content[plain:]))


def _nests(line: str) -> bool:
    """Whether a line within an item begins a block of its own."""
    return bool(ITEM.match(line)) or line.lstrip().startswith(("```", "~~~", ">", "#", "|"))
