"""How attached content, and what could not be attached, is put to the model."""

from __future__ import annotations

import html
from pathlib import Path

from agent_core.messages import TextPart
from tools.text.encoding import with_escapes

_LONGEST_NAME = 300


def attached(uri: str, text: str, **facts: str) -> str:
    """`text` between tags that it cannot close: where it holds the closing tag itself, the tags get a number.

    Nothing of the text is changed, so that the model can quote it in an edit.

    Args:
        facts: more attributes of the tag; empty ones are left out.
    """
    tag, folded = "attached", text.casefold()
    count = 1
    while f"</{tag}" in folded:
        count += 1
        tag = f"attached-{count}"
    given = {"uri": uri, **facts}
    attributes = "".join(f' {name}="{_attribute(value)}"' for name, value in given.items() if value)
    return f"<{tag}{attributes}>\n{text}\n</{tag}>"


def named_only(name: str, uri: str) -> str:
    """A link of which nothing was read, in words."""
    return f"[Linked: {_described(name, uri)}; its content was not read.]"


def not_read(name: str, uri: str, why: str) -> str:
    """A link that could not be read, in words. `why` is one or more sentences: what happened and what to do."""
    return f"[Linked: {_described(name, uri)}. It was not read: {why}]"


def said_again(name: str, uri: str) -> str:
    """A link whose content stands further up already, in words."""
    return f"[Linked again: {_described(name, uri)}; its content is above.]"


def shown_path(path: Path) -> str:
    """`path` as text that can be sent anywhere, and given back: bytes that are not UTF-8 become escapes."""
    return with_escapes(str(path))


def one_line(text: str) -> str:
    """`text` without line breaks, and not endless: names come from outside."""
    plain = "".join(char if char.isprintable() else " " for char in text).strip()
    return plain if len(plain) <= _LONGEST_NAME else f"{plain[:_LONGEST_NAME]}…"


def text_part(text: str) -> TextPart:
    """`text` as a part of a message."""
    return {"type": "text", "text": text}


def _described(name: str, uri: str) -> str:
    name, uri = one_line(name), one_line(uri)
    return uri if not name or name == uri else f"{name}, {uri}"


def _attribute(text: str) -> str:
    return html.escape(one_line(text), quote=True)
