"""What a line of Markdown begins, as far as it is there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

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
