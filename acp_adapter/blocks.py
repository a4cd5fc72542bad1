"""A prompt's content blocks as the protocol has them, in our own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from agent_core.prompt_parts import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidPart, SaidText

if TYPE_CHECKING:
    from acp_adapter.sdk import (
        AudioContentBlock,
        EmbeddedResourceContentBlock,
        ImageContentBlock,
        ResourceContentBlock,
        TextContentBlock,
    )

Block: TypeAlias = (
    "TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock"
)


def to_said(blocks: Sequence[Block]) -> tuple[SaidPart, ...]:
    """What blocks say that the SDK has read."""
    return tuple(_said(block) for block in blocks)


def texts_of(params: Mapping[str, Any]) -> tuple[SaidText, ...] | None:
    """What the parameters of a `session/prompt` say, as they came; None where there is more in them than plain text.

    What is malformed is left to the SDK, too, which says what is wrong.
    """
    blocks = params.get("prompt")
    if not isinstance(blocks, list) or not blocks or params.keys() - {"sessionId", "prompt", "_meta"}:
        return None
    if not all(isinstance(block, dict) and _is_plain(block) for block in blocks):
        return None
    return tuple(SaidText(block["text"]) for block in blocks)


def _is_plain(block: Mapping[str, Any]) -> bool:
    rest = {name for name, value in block.items() if value is not None} - {"type", "text"}
    return block.get("type") == "text" and isinstance(block.get("text"), str) and not rest


def _said(block: Block) -> SaidPart:
    if block.type == "text":
        return SaidText(block.text)
    if block.type == "image":
        return SaidImage(block.mime_type, block.data, block.uri or "")
    if block.type == "audio":
        return SaidAudio(block.mime_type, block.data)
    if block.type == "resource_link":
        return SaidLink(
            uri=block.uri,
            name=block.name,
            mime_type=block.mime_type or "",
            title=block.title or "",
            description=block.description or "",
            size=block.size,
        )
    if block.type == "resource":
        resource = block.resource
        text, data = getattr(resource, "text", None), getattr(resource, "blob", None)
        return SaidDocument(resource.uri, text, data, resource.mime_type or "")
    assert_never(block)
