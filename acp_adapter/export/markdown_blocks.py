"""Markdown as HTML: the blocks that answers of models are made of. Raw HTML in it is text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from acp_adapter.export.markdown_inline import inline
from acp_adapter.export.markdown_lists import ITEM, take_list
from acp_adapter.export.markdown_tables import is_table, take_table
from acp_adapter.export.markup import Html, join, tag, text

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})\s*([^`]*)$")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s+(.*))?$")
_QUOTE = re.compile(r" {0,3}> ?")
_RULES = frozenset("-*_")
_LEAST_RULE = 3
_DEEPEST = 8
_CODE_INDENT = "    "
_TOP_HEADING = 2  # the page has two levels of its own


def markdown(source: str) -> Html:
    """`source` as HTML: headings, paragraphs, lists, quotes, tables, code; links lead to the web and to mail only."""
    return blocks(source.expandtabs(4).replace("\r\n", "\n").replace("\r", "\n").split("\n"), 0)


def blocks(lines: Sequence[str], depth: int) -> Html:
    """The blocks that `lines` make; deeper than a few levels they are plain text."""
    if depth > _DEEPEST:
        return tag("p", text("\n".join(lines)))
    out: list[Html] = []
    place = 0
    while place < len(lines):
        if not lines[place].strip():
            place += 1
            continue
        block, place = _block(lines, place, depth)
        out.append(block)
    return join(out)


def _block(lines: Sequence[str], place: int, depth: int) -> tuple[Html, int]:
    """The block that begins at `place`, and the place after it."""
    line = lines[place]
    if fence := _FENCE.match(line):
        return _take_code(lines, place, fence)
    if heading := _HEADING.match(line):
        level = min(6, len(heading[1]) + _TOP_HEADING)
        return tag(f"h{level}", inline((heading[2] or "").rstrip().rstrip("#").rstrip())), place + 1
    if _is_rule(line):
        return tag("hr"), place + 1
    if _QUOTE.match(line):
        end = _first(lines, place, lambda each: not _QUOTE.match(each))
        quoted = [_QUOTE.sub("", each, count=1) for each in lines[place:end]]
        return tag("blockquote", blocks(quoted, depth + 1)), end
    if ITEM.match(line):
        return take_list(lines, place, lambda inner: blocks(inner, depth + 1), _begins_block)
    if is_table(lines, place):
        return take_table(lines, place)
    if line.startswith(_CODE_INDENT):
        end = _first(lines, place, lambda each: bool(each.strip()) and not each.startswith(_CODE_INDENT))
        code = "\n".join(each[len(_CODE_INDENT) :] for each in lines[place:end])
        return _code(code.rstrip("\n"), ""), end
    end = place + 1
    while end < len(lines) and not _ends_paragraph(lines, end):
        end += 1
    return tag("p", inline("\n".join(each.lstrip() for each in lines[place:end]).rstrip())), end


def _take_code(lines: Sequence[str], place: int, fence: re.Match[str]) -> tuple[Html, int]:
    mark, info = fence[1], fence[2].strip()
    end = place + 1
    while end < len(lines) and not _closes(lines[end], mark):
        end += 1
    return _code("\n".join(lines[place + 1 : end]), info.partition(" ")[0]), end + 1


def _closes(line: str, mark: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(mark) and not stripped.strip(mark[0])


def _code(code: str, language: str) -> Html:
    return tag("pre", tag("code", text(code)), class_="code", data_language=language or None)


def _is_rule(line: str) -> bool:
    signs = line.replace(" ", "")
    return len(signs) >= _LEAST_RULE and signs[0] in _RULES and not signs.strip(signs[0])


def _begins_block(line: str) -> bool:
    return bool(_FENCE.match(line) or _HEADING.match(line) or _QUOTE.match(line)) or _is_rule(line)


def _ends_paragraph(lines: Sequence[str], place: int) -> bool:
    line = lines[place]
    if not line.strip() or _begins_block(line) or is_table(lines, place):
        return True
    item = ITEM.match(line)
    return item is not None and bool(item["text"].strip()) and item["mark"] in {"-", "*", "+", "1.", "1)"}


def _first(lines: Sequence[str], place: int, is_other: Callable[[str], bool]) -> int:
    return next((index for index in range(place, len(lines)) if is_other(lines[index])), len(lines))
