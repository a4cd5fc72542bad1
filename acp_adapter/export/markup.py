"""HTML that is safe by its type: text becomes `Html` by being escaped, and nothing else is put into a page.

Markdown, what a command printed and the changes of files become such HTML, too; so do whole pages.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import html
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any, NewType

from acp_adapter.format import safe_text, whole
from tools.text.terminal_output import plain_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

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


def join(parts: Iterable[Html]) -> Html:
    """Several pieces as one."""
    return Html("".join(parts))


def _attribute(key: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.removesuffix("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(value)}"'


# A command's output as HTML, with what most programs use: bold, and eight colours for what they write.

_GRAPHICS = re.compile(r"\x1b\[([0-9;:]{0,64})m")
_BOLD, _NOT_BOLD, _PLAIN_COLOUR = 1, 22, 39
_EXTENDED = frozenset({38, 48})


def coloured(output: str) -> Html:
    """`output` as text with a `span` for each stretch that has a look of its own. Other sequences are left out."""
    lines = output.replace("\r\n", "\n").split("\n")
    # Of lines that were rewritten with carriage returns, what they were in the end.
    shown = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
    return join(_stretches(shown))


def _stretches(output: str) -> Iterator[Html]:
    bold = colour = ""
    place = 0
    for found in _GRAPHICS.finditer(output):
        yield _stretch(output[place : found.start()], bold, colour)
        bold, colour = _changed(bold, colour, found[1])
        place = found.end()
    yield _stretch(output[place:], bold, colour)


def _stretch(output: str, bold: str, colour: str) -> Html:
    shown, classes = text(plain_text(output)), " ".join(filter(None, (bold, colour)))
    return tag("span", shown, class_=classes) if shown and classes else shown


def _changed(bold: str, colour: str, codes: str) -> tuple[str, str]:
    for code in (int(code or 0) for code in re.split("[;:]", codes)):
        if code in _EXTENDED:  # what follows says which of millions of colours it is
            break
        if code == 0:
            bold = colour = ""
        elif code == _BOLD:
            bold = "b"
        elif code == _NOT_BOLD:
            bold = ""
        elif code == _PLAIN_COLOUR:
            colour = ""
        elif code // 10 in {3, 9} and code % 10 < 8:  # noqa: PLR2004 - 8 colours, and the same ones bright
            colour = f"f{code % 10}"
    return bold, colour


# Markdown as HTML. Raw HTML in it is text, pictures are links, and links lead to the web and to mail only.

_SAFE_ADDRESS = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s<>\"'`)\]*]{1,2000}(?<![.,;:!?])")
_BOX = re.compile(r"\[([ xX])\]\s+")
_SIDES = {"text-align:center": "centre", "text-align:right": "right"}
_TOP_HEADING = 2  # the page has two levels of its own
_LINK = {"rel": "noopener noreferrer nofollow", "target": "_blank"}


def markdown(source: str) -> Html:
    """`source` as HTML: headings, paragraphs, lists, quotes, tables, code."""
    return Html(whole(safe_text(_renderer().render(source))))


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - for pages only

    made = MarkdownIt("js-default", {"html": False})
    made.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005 - `_adapt` sees to the others
    made.core.ruler.push("adapted", _adapt)
    for name in ("fence", "code_block"):
        made.add_render_rule(name, _code)
    made.add_render_rule("table_open", lambda *_: '<div class="table"><table>')
    made.add_render_rule("table_close", lambda *_: "</table></div>")
    return made


def _code(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    token = tokens[place]
    language = token.info.split()[0] if token.info.strip() else None
    return tag("pre", tag("code", text(token.content.removesuffix("\n"))), class_="code", data_language=language)


def _adapt(state: StateCore) -> None:
    """What a page of ours shows in another way than Markdown says."""
    for place, token in enumerate(state.tokens):
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + _TOP_HEADING)}"
        if (style := token.attrs.pop("style", None)) in _SIDES:
            token.attrs["class"] = _SIDES[str(style)]
        if token.children:
            if place > 1 and state.tokens[place - 2].type == "list_item_open":
                _show_box(token.children[0])
            token.children = list(_inline(token.children))


def _show_box(first: Token) -> None:
    if first.type == "text" and (box := _BOX.match(first.content)):
        first.content = f"{'☑' if box[1].strip() else '☐'} {first.content[box.end() :]}"


def _inline(tokens: Sequence[Token]) -> Iterator[Token]:
    links: list[str] = []
    for token in tokens:
        if token.type == "image":
            yield from _linked(token.attrGet("src") or "", token.content, is_in_link=bool(links))
        elif token.type == "link_open":
            links.append(_point(token, token.attrGet("href")))
            yield token
        elif token.type == "link_close":
            token.tag = links.pop()
            yield token
        elif token.type == "text" and not links:
            yield from _with_addresses(token)
        else:
            yield token


def _point(token: Token, target: str | float | None) -> str:
    """Have a link lead there, where it may; the name of its element."""
    if _SAFE_ADDRESS.match(str(target)):
        token.attrs = {"href": str(target), **_LINK}
    else:
        token.tag, token.attrs = "span", {"class": "place", "title": str(target)}
    return token.tag


def _linked(target: str | float, words: str, *, is_in_link: bool = False) -> Iterator[Token]:
    from markdown_it.token import Token  # noqa: PLC0415 - as above

    label = Token("text", "", 0, content=words)
    if is_in_link:
        yield label
        return
    begin = Token("link_open", "a", 1)
    yield from (begin, label, Token("link_close", _point(begin, target), -1))


def _with_addresses(token: Token) -> Iterator[Token]:
    """A text in which each address that stands there bare is a link."""
    from markdown_it.token import Token  # noqa: PLC0415 - as above

    place = 0
    for found in _ADDRESS.finditer(token.content):
        yield Token("text", "", 0, content=token.content[place : found.start()])
        yield from _linked(found[0], found[0])
        place = found.end()
    token.content = token.content[place:]
    yield token


# The lines of a file's change, in time that grows with the file only: a page shows hundreds of them.

_CONTEXT = 3
_MOST_COMPARED = 3_000
_MOST_LINES = 5_000
_LINE_CLASSES = {"+": "line add", "-": "line del", " ": "line"}
_POSITION = re.compile(r"@@ -(\d+),\d+ \+(\d+),\d+ @@")


def change_of(before: str | None, after: str | None) -> list[str]:
    """A unified diff of two texts without the files' names; None stands for a file that is not there."""
    old, new = _lines(before), _lines(after)
    shorter = min(len(old), len(new))
    head = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    room = shorter - head
    tail = next((place for place in range(room) if old[-1 - place] != new[-1 - place]), room)
    if max(len(old), len(new)) - head - tail > _MOST_COMPARED:  # the time for comparing can grow with the square
        steps = [("replace", head, len(old) - tail, head, len(new) - tail)]
    else:
        matcher = difflib.SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail])
        steps = [(step, i + head, j + head, k + head, n + head) for step, i, j, k, n in matcher.get_opcodes()]
    if not steps:
        return []
    made = difflib.SequenceMatcher(None, "", "")
    made.opcodes = [  # type: ignore[attr-defined]  # what get_grouped_opcodes goes by
        ("equal", 0, head, 0, head),
        *steps,
        ("equal", len(old) - tail, len(old), len(new) - tail, len(new)),
    ]
    return [line for group in made.get_grouped_opcodes(_CONTEXT) for line in _hunk(group, old, new)]


def _lines(file: str | None) -> list[str]:
    lines = (file or "").split("\n")
    return lines if lines[-1] else lines[:-1]


def _hunk(group: Sequence[tuple[str, int, int, int, int]], old: list[str], new: list[str]) -> Iterator[str]:
    _, i, _, k, _ = group[0]
    _, _, j, _, n = group[-1]
    yield f"@@ -{i + (j > i)},{j - i} +{k + (n > k)},{n - k} @@"
    for step, i, j, k, n in group:
        if step == "equal":
            yield from (f" {line}" for line in old[i:j])
            continue
        yield from (f"-{line}" for line in old[i:j])
        yield from (f"+{line}" for line in new[k:n])


def counted(change: Sequence[str]) -> tuple[int, int]:
    """How many lines a change adds and how many it removes."""
    signs = [line[0] for line in change]
    return signs.count("+"), signs.count("-")


def diff_lines(change: Sequence[str]) -> Html:
    """The hunks one below the other, with the lines' numbers; the first 5,000 lines."""
    return tag("pre", join(_numbered(change)), class_="diff")


def _numbered(change: Sequence[str]) -> Iterator[Html]:
    old = new = shown = 0
    for line in change:
        if position := _POSITION.match(line):
            old, new = int(position[1]), int(position[2])
            if 0 < shown < _MOST_LINES:
                yield tag("span", text("⋯"), class_="gap", aria_hidden="true")
            continue
        sign = line[0]
        shown += 1
        if shown <= _MOST_LINES:
            number = str(old if sign == "-" else new)
            yield tag("span", text(f"{line}\n"), class_=_LINE_CLASSES[sign], data_n=number)
        old, new = old + (sign != "+"), new + (sign != "-")
    if shown > _MOST_LINES:
        yield tag("span", text(f"{shown - _MOST_LINES:,} more lines are left out."), class_="gap")


# What every page of ours is in: one HTML file that needs nothing else. A browser may show it, and do nothing else.


def page_in_frame(title: str, body: str, style: str, script: str) -> str:
    """The page: `body` is HTML; only this script counts in it, and this style sheet behind that of all pages."""
    style = resource("acp_adapter.export", "frame.css") + style
    return Template(resource("acp_adapter.export", "frame.html")).substitute(
        policy="; ".join(
            (
                "default-src 'none'",
                "img-src data:",
                f"style-src {_hash(style)}",
                f"script-src {_hash(script)}",
                "base-uri 'none'",
                "form-action 'none'",
            )
        ),
        title=text(title),
        style=style,
        body=body,
        script=script,
    )


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def resource(package: str, name: str) -> str:
    """A text that lies beside the modules of `package`."""
    return files(package).joinpath(name).read_text("utf-8")
