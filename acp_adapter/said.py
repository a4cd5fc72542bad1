"""What a person sent, as ACP content blocks again."""

from __future__ import annotations

from typing import Any

from agent_core.prompt_parts import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidPart, SaidText


def said_block(part: SaidPart) -> dict[str, Any]:
    """The content block that shows a piece of a prompt: the one that it came as."""
    match part:
        case SaidText(text=text):
            return {"type": "text", "text": text}
        case SaidImage(mime_type=kind, data=data, uri=uri):
            return {"type": "image", "mimeType": kind, "data": data, **_without_gaps(uri=uri)}
        case SaidAudio(mime_type=kind, data=data):
            return {"type": "audio", "mimeType": kind, "data": data}
        case SaidLink():
            offered = _without_gaps(
                mimeType=part.mime_type, title=part.title, description=part.description, size=part.size
            )
            return {"type": "resource_link", "uri": part.uri, "name": part.name, **offered}
        case SaidDocument(uri=uri, text=text, data=data, mime_type=kind):
            content = {"text": text} if text is not None else {"blob": data or ""}
            return {"type": "resource", "resource": {"uri": uri, **content, **({"mimeType": kind} if kind else {})}}


def _without_gaps(**values: object) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in {None, ""}}
