"""A prompt's content blocks as the model's content. What cannot be used is said in words, never dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from agent_core.errors import RequestError
from agent_core.messages import Content, ImagePart, TextPart

Block: TypeAlias = (
    TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
)


def to_content(blocks: Sequence[Block]) -> Content:
    """The user's message: plain text, or parts where there are images.

    Raises:
        RequestError: there is nothing in it.
    """
    parts = [_part(block) for block in blocks]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    if not any(text.strip() for text in texts) and len(texts) == len(parts):
        raise RequestError("The prompt is empty. Send at least one content block with something in it.")
    return "\n\n".join(texts) if len(texts) == len(parts) else parts


def _part(block: Block) -> TextPart | ImagePart:
    match block:
        case TextContentBlock():
            return _text(block.text)
        case ImageContentBlock():
            return {"type": "image_url", "image_url": {"url": f"data:{block.mime_type};base64,{block.data}"}}
        case AudioContentBlock():
            return _text(f"[Audio of type {block.mime_type} was attached; this agent cannot listen to it.]")
        case ResourceContentBlock():
            return _text(f"[Linked: {block.name}, {block.uri}]")
        case EmbeddedResourceContentBlock():
            return _text(_embedded(block.resource))


def _embedded(resource: TextResourceContents | BlobResourceContents) -> str:
    if isinstance(resource, TextResourceContents):
        return f'<attached uri="{resource.uri}">\n{resource.text}\n</attached>'
    kind = resource.mime_type or "unknown type"
    return f"[A binary file was attached, {resource.uri} ({kind}); its content is not shown to the model.]"


def _text(text: str) -> TextPart:
    return {"type": "text", "text": text}
