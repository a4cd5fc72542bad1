"""HTML that is safe by its type: text becomes `Html` by being escaped, and nothing else is put into a page."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import NewType

from acp_adapter.cli.terminal.safe_text import safe_text, whole

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
