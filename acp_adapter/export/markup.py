"""HTML that is safe by its type: text becomes `Html` by being escaped, and nothing else is put into a page.

Markdown, what a command printed and the changes of files become such HTML, too; so do whole pages.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from importlib.resources import files
from string import Template
from typing import NewType

from acp_adapter.export.diffs import Change, Line
from acp_adapter.format import safe_text, whole
from tools.light_dataclass import dataclass
from tools.text.terminal_output import plain_text

Html = NewType("Html", str)
"""Well-formed, escaped HTML."""

NOTHING = Html("")
_EMPTY_TAGS = frozenset({"br", "hr", "img", "input", "meta"})


def text(value: str) -> Html:
    """`value` as text: escaped, without control characters and what changes the direction of writing."""
    # Most pieces of a page are short and plain, and there are many.
    shown = value if value.isprintable() else whole(safe_text(value))
    return Html(html.escape(shown, quote=True))


def tag(name: str, *children: Html, **attributes: str | bool | None) -> Html:
    """An element.

    Args:
        children: what is in it, in order.
        attributes: values as text; True for an attribute without a value, None and False for none. A trailing
            underscore is left out, others become hyphens (`class_`, `aria_label`).
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _EMPTY_TAGS:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{''.join(children)}</{name}>")


def join(parts: Iterable[Html], between: str = "") -> Html:
    """Several pieces as one, with the text `between` between them."""
    return Html(text(between).join(parts))


def _attribute(key: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.removesuffix("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(value)}"'


# A command's output with its colours, as HTML.

_GRAPHICS = re.compile(r"\x1b\[([0-9;:]{0,64})m")
_EXTENDED = {38: "foreground", 48: "background"}
_INDEXED, _TRUE_COLOUR = 5, 2
_CUBE_START, _GREY_START, _CUBE_SIDE = 16, 232, 6
_HALF, _BRIGHT = 2.5, 4
_DARK_GREY, _LIGHT_GREY = 0.3, 0.7


@dataclass(frozen=True, slots=True)
class _Look:
    """How text looks now: colours are 0 to 15, None for the usual ones."""

    foreground: int | None = None
    background: int | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False

    def classes(self) -> str:
        named = (("b", self.bold), ("d", self.dim), ("i", self.italic), ("u", self.underline))
        names = [name for name, wanted in named if wanted]
        names += [] if self.foreground is None else [f"f{self.foreground}"]
        names += [] if self.background is None else [f"g{self.background}"]
        return " ".join(names)


def coloured(output: str) -> Html:
    """`output` as text with a `span` for each stretch that has a look of its own. Other sequences are left out."""
    return join(_pieces(_last_states(output)))


def _pieces(output: str) -> Iterator[Html]:
    look, place = _Look(), 0
    for found in _GRAPHICS.finditer(output):
        yield _piece(output[place : found.start()], look)
        look, place = _changed(look, found[1]), found.end()
    yield _piece(output[place:], look)


def _piece(output: str, look: _Look) -> Html:
    shown = text(plain_text(output))
    classes = look.classes()
    return tag("span", shown, class_=classes) if shown and classes else shown or NOTHING


def _last_states(output: str) -> str:
    """Lines that were rewritten with carriage returns, as they were in the end."""
    if "\r" not in output:
        return output
    lines = output.replace("\r\n", "\n").split("\n")
    return "\n".join(next((state for state in reversed(line.split("\r")) if state), "") for line in lines)


def _changed(look: _Look, codes: str) -> _Look:
    numbers = [int(code) if code.isdigit() else 0 for code in re.split("[;:]", codes.replace(":2::", ":2:"))]
    while numbers:
        code = numbers.pop(0)
        if code in _EXTENDED:
            colour = _extended(numbers)
            look = replace(look, foreground=colour) if code == 38 else replace(look, background=colour)  # noqa: PLR2004
        else:
            look = _simple(look, code)
    return look


def _simple(look: _Look, code: int) -> _Look:
    match code:
        case 0:
            return _Look()
        case 1:
            return replace(look, bold=True)
        case 2:
            return replace(look, dim=True)
        case 3:
            return replace(look, italic=True)
        case 4:
            return replace(look, underline=True)
        case 22:
            return replace(look, bold=False, dim=False)
        case 23:
            return replace(look, italic=False)
        case 24:
            return replace(look, underline=False)
    return _coloured(look, code)


def _coloured(look: _Look, code: int) -> _Look:
    tens, unit = divmod(code, 10)
    colour = unit if unit < 8 else None  # noqa: PLR2004 - 8 colours, and 9 for the usual one
    match tens:
        case 3:
            return replace(look, foreground=colour)
        case 4:
            return replace(look, background=colour)
        case 9:
            return replace(look, foreground=None if colour is None else colour + 8)
        case 10:
            return replace(look, background=None if colour is None else colour + 8)
    return look


def _extended(numbers: list[int]) -> int | None:
    """The colour that the numbers after 38 or 48 name, as the nearest of 16; they are taken off the list."""
    kind = numbers.pop(0) if numbers else 0
    if kind == _INDEXED and numbers:
        return _of_256(numbers.pop(0))
    if kind == _TRUE_COLOUR and len(numbers) > 2:  # noqa: PLR2004 - red, green, blue
        red, green, blue = (min(numbers.pop(0), 255) / 51 for _ in range(3))
        return _nearest(red, green, blue)
    numbers.clear()  # what is cut off has no other meaning
    return None


def _of_256(index: int) -> int | None:
    if index < _CUBE_START:
        return index
    if index >= _GREY_START:
        level = min(index - _GREY_START, 23) / 23 * 5
        return _nearest(level, level, level)
    index -= _CUBE_START
    return _nearest(index // 36, index // 6 % 6, index % 6)


def _nearest(red: float, green: float, blue: float) -> int:
    """The colour of 16 for levels from 0 to 5."""
    highest = max(red, green, blue)
    if highest - min(red, green, blue) < 1:  # a grey
        return 0 if highest < 5 * _DARK_GREY else 8 if highest < _HALF else 7 if highest < 5 * _LIGHT_GREY else 15
    on = highest / 2
    base = (red > on) + 2 * (green > on) + 4 * (blue > on)
    return base + (8 if highest > _BRIGHT else 0)


# Markdown within a line (emphasis, code, links) as HTML, in time that grows with the text's length only.

_TOKENS = re.compile(
    r"""
    (?P<escape>\\[!-/:-@\[-`{-~])
  | (?P<code>`+)
  | (?P<link>!?\[(?P<label>[^\[\]]{1,500})\]\(\s{0,9}<?
        (?P<target>[^\s()<>]{1,2000}+(?:\([^\s()<>]{0,500}\)[^\s()<>]{0,500}+)?)
        >?(?:\s{1,9}"[^"]{0,500}")?\s{0,9}\))
  | (?P<auto><(?P<address>(?:https?://|mailto:)[^\s<>]{1,2000})>)
  | (?P<bare>https?://[^\s<>"'`)\]*]{1,2000})
  | (?P<hard>(?:[ ]{2,9}|\\)\n)
  | (?P<mark>\*{1,3}|_{1,3}|~~)
    """,
    re.VERBOSE,
)
_MARKS = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del"}
_SAFE_ADDRESS = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_TRAILING = ".,;:!?"
_REL = "noopener noreferrer nofollow"


def inline(source: str) -> Html:
    """The text of one block as HTML. Links lead to the web and to mail only; of pictures the words are shown."""
    return _Inline(source).html()


class _Inline:
    """One pass over a text. Marks that are open wait on a stack; what was never closed stays as it was written."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._out: list[Html] = []
        self._open: list[tuple[str, int]] = []
        self._waiting: Counter[str] = Counter()
        self._ticks: defaultdict[int, list[int]] = defaultdict(list)
        for run in re.finditer("`+", source):
            self._ticks[len(run[0])].append(run.start())

    def html(self) -> Html:
        source, place = self._source, 0
        while found := _TOKENS.search(source, place):
            self._out.append(text(source[place : found.start()]))
            place = self._token(found)
        self._out.append(text(source[place:]))
        return join(self._out)

    def _token(self, found: re.Match[str]) -> int:
        """Add what the token says; the place after it."""
        match found.lastgroup:
            case "escape":
                self._out.append(text(found[0][1]))
            case "code":
                return self._code(found)
            case "link":
                self._out.append(_link(found["target"], inline(found["label"])))
            case "auto":
                self._out.append(_link(found["address"], text(found["address"].removeprefix("mailto:"))))
            case "bare":
                address = found[0].rstrip(_TRAILING)
                self._out.append(_link(address, text(address)))
                return found.start() + len(address)
            case "hard":
                self._out.append(tag("br"))
            case _:
                self._mark(found)
        return found.end()

    def _code(self, found: re.Match[str]) -> int:
        ticks = len(found[0])
        places = self._ticks[ticks]
        index = bisect_left(places, found.end())
        if index == len(places):
            self._out.append(text(found[0]))
            return found.end()
        code = self._source[found.end() : places[index]].replace("\n", " ")
        if code.startswith(" ") and code.endswith(" ") and code.strip():
            code = code[1:-1]
        self._out.append(tag("code", text(code)))
        return places[index] + ticks

    def _mark(self, found: re.Match[str]) -> None:
        run = found[0]
        before = self._source[found.start() - 1 : found.start()]
        after = self._source[found.end() : found.end() + 1]
        opens, closes = bool(after) and not after.isspace(), bool(before) and not before.isspace()
        if run[0] == "_":
            opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
        marks = [run] if len(run) < 3 else [run[0], run[:2]]  # noqa: PLR2004 - three: both kinds of emphasis
        if closes and all(self._waiting[mark] for mark in marks):
            for mark in marks:
                self._close(mark)
        elif opens:
            for mark in reversed(marks):
                self._open.append((mark, len(self._out)))
                self._waiting[mark] += 1
                self._out.append(text(mark))
        else:
            self._out.append(text(run))

    def _close(self, mark: str) -> None:
        while self._open:
            opened, place = self._open.pop()
            self._waiting[opened] -= 1
            if opened == mark:
                content = join(self._out[place + 1 :])
                del self._out[place:]
                self._out.append(tag(_MARKS[mark], content))
                return
        self._out.append(text(mark))


def _link(target: str, label: Html) -> Html:
    if _SAFE_ADDRESS.match(target):
        return tag("a", label, href=target, rel=_REL, target="_blank")
    return tag("span", label, class_="place", title=target)


# Lists: bullets, numbers, boxes to tick, and whatever is indented below an item.

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


# Tables.

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


# The blocks that answers of models are made of. Raw HTML in them is text.

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


# The lines of a file's change on a page.

_LINE_CLASSES = {"+": "line add", "-": "line del", " ": "line"}
_MOST_LINES = 5_000


def diff_lines(change: Change) -> Html:
    """The hunks one below the other, with the lines' numbers; the first 5,000 lines."""
    return tag("pre", join(_hunks(change)), class_="diff")


def _hunks(change: Change) -> Iterator[Html]:
    left = _MOST_LINES
    for index, hunk in enumerate(change.hunks):
        if index and left:
            yield tag("span", text("⋯"), class_="gap", aria_hidden="true")
        yield join(_line(line) for line in hunk[:left])
        left = max(0, left - len(hunk))
    more = sum(len(hunk) for hunk in change.hunks) - _MOST_LINES
    if more > 0:
        yield tag("span", text(f"{more:,} more lines are left out."), class_="gap")


def _line(line: Line) -> Html:
    return tag("span", text(f"{line.sign}{line.text}\n"), class_=_LINE_CLASSES[line.sign], data_n=str(line.number))


# What a browser may do with a page of ours: show it, and nothing else.


def content_policy(styles: tuple[str, ...], script: str) -> str:
    """What the browser may run and load: these styles, this script, pictures in the page, and nothing else."""
    rules = (
        "default-src 'none'",
        "img-src data:",
        f"style-src {' '.join(map(_hash, styles))}",
        f"script-src {_hash(script)}",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(rules)


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


# What every page of ours is in: one HTML file that needs nothing else, and may do nothing but show itself.


def page_in_frame(title: str, body: str, styles: Sequence[str], script: str) -> str:
    """The page: `body` is HTML; only these styles and this script count in it."""
    return Template(resource("acp_adapter.export", "frame.html")).substitute(
        policy=content_policy(tuple(styles), script),
        title=text(title),
        styles="".join(f"<style>{style}</style>\n" for style in styles),
        body=body,
        script=script,
    )


def resource(package: str, name: str) -> str:
    """A text that lies beside the modules of `package`."""
    return files(package).joinpath(name).read_text("utf-8")
