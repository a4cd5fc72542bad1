"""What the person said ⇄ JSON."""

from __future__ import annotations

from typing import Any

from agent_core.prompt_parts import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidPart, SaidText
from agent_core.sessions.events.stored_values import Body, number_or_none, plain, text_in, text_or_none


def part_body(part: SaidPart) -> dict[str, Any]:
    """A piece of a prompt as JSON; what is not known is left out."""
    match part:
        case SaidText(text=text):
            return {"kind": "text", "text": plain(text)}
        case SaidImage():
            return _body("image", mime_type=part.mime_type, data=part.data, uri=part.uri or None)
        case SaidAudio():
            return _body("audio", mime_type=part.mime_type, data=part.data)
        case SaidLink():
            return _body(
                "link",
                uri=part.uri,
                name=part.name,
                mime_type=part.mime_type or None,
                title=part.title or None,
                description=part.description or None,
                size=part.size,
            )
        case SaidDocument():
            return _body("document", uri=part.uri, text=part.text, data=part.data, mime_type=part.mime_type or None)


def read_part(body: Body) -> SaidPart:
    """A piece of a prompt from its JSON.

    Raises:
        KeyError, TypeError, ValueError: it is not one.
    """
    match text_in(body, "kind"):
        case "text":
            return SaidText(text_in(body, "text"))
        case "image":
            return SaidImage(text_in(body, "mime_type"), text_in(body, "data"), text_in(body, "uri", ""))
        case "audio":
            return SaidAudio(text_in(body, "mime_type"), text_in(body, "data"))
        case "link":
            return SaidLink(
                text_in(body, "uri"),
                text_in(body, "name"),
                text_in(body, "mime_type", ""),
                text_in(body, "title", ""),
                text_in(body, "description", ""),
                number_or_none(body, "size"),
            )
        case "document":
            return SaidDocument(
                text_in(body, "uri"),
                text_or_none(body, "text"),
                text_or_none(body, "data"),
                text_in(body, "mime_type", ""),
            )
        case kind:
            raise ValueError(f"a prompt has no part {kind!r}")


def _body(kind: str, **values: object) -> dict[str, Any]:
    return {"kind": kind, **{name: plain(value) for name, value in values.items() if value is not None}}
