"""HTML that is safe by its type: text becomes `Html` by being escaped, and nothing else is put into a page.

Markdown and the changes of files become such HTML, too; so do whole pages.
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


# Markdown as HTML. Raw HTML in it is text, pictures are named, and links lead to the web and to mail only.

_SAFE_ADDRESS = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_ADDRESS = re.compile(r"(https?://[^\s<>\"'`)\]*]{1,2000}(?<![.,;:!?]))")
_SIDES = {"text-align:center": "centre", "text-align:right": "right"}
_TOP_HEADING = 2  # the page has two levels of its own
_LINK = {"rel": "noopener noreferrer nofollow", "target": "_blank"}
_MOST_CODE = 200_000


def markdown(source: str) -> Html:
    """`source` as HTML: headings, paragraphs, lists, quotes, tables, code."""
    return Html(whole(safe_text(_renderer().render(source))))


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - for pages only

    made = MarkdownIt("js-default", {"html": False})
    made.validateLink = lambda url: bool(_SAFE_ADDRESS.match(url))  # type: ignore[method-assign]
    made.core.ruler.push("adapted", _adapt)
    for name in ("fence", "code_block"):
        made.add_render_rule(name, _code)
    made.add_render_rule("text", _words)
    made.add_render_rule("image", _picture)
    made.add_render_rule("table_open", lambda *_: '<div class="table"><table>')
    made.add_render_rule("table_close", lambda *_: "</table></div>")
    return made


def _adapt(state: StateCore) -> None:
    """What a page of ours shows in another way than Markdown says."""
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + _TOP_HEADING)}"
        if (style := token.attrs.pop("style", None)) in _SIDES:
            token.attrs["class"] = _SIDES[str(style)]
        links = 0
        for child in token.children or ():
            links += child.nesting * child.type.startswith("link_")
            if child.type == "link_open":
                child.attrs |= _LINK
            elif child.type == "text" and not links:
                child.meta["may_link"] = True


def _words(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    """A text, in which each address that stands there bare is a link."""
    token = tokens[place]
    parts = _ADDRESS.split(token.content) if token.meta.get("may_link") else [token.content]
    return join(
        tag("a", text(part), href=part, **_LINK) if number % 2 else text(part) for number, part in enumerate(parts)
    )


def _picture(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    token = tokens[place]
    return tag("span", text(token.content or "picture"), class_="mention", title=str(token.attrGet("src")))


def _code(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    token = tokens[place]
    language = token.info.split()[0] if token.info.strip() else None
    return code(token.content.removesuffix("\n"), language)


def code(content: str, language: str | None = None) -> Html:
    """A block of code, or of the lines of a change; of what is enormous the beginning."""
    left = len(content) - _MOST_CODE
    shown = content[:_MOST_CODE]
    note = tag("p", text(f"{left:,} more characters are left out."), class_="remark") if left > 0 else NOTHING
    if language == "diff":
        return join([tag("pre", join(_coloured(shown)), class_="diff", tabindex="0"), note])
    block = tag("pre", tag("code", text(shown)), class_="code", data_language=language, tabindex="0")
    return join([block, note])


_LINE_CLASSES = {"+": "line add", "-": "line del", "@": "gap"}


def _coloured(change: str) -> Iterator[Html]:
    is_in_hunk = False
    for line in change.split("\n"):
        is_in_hunk = is_in_hunk or line.startswith("@@")
        is_name = not is_in_hunk and line.startswith(("--- ", "+++ "))
        yield tag("span", text(f"{line}\n"), class_="gap" if is_name else _LINE_CLASSES.get(line[:1], "line"))


def change_of(before: str | None, after: str | None) -> str:
    """The hunks of a unified diff of two texts; None stands for a file that is not there."""
    old, new = (file.removesuffix("\n").split("\n") if file else [] for file in (before, after))
    return "\n".join(list(difflib.unified_diff(old, new, lineterm=""))[2:])


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
