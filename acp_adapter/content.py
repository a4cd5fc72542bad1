"""A prompt's content blocks as the model's content. What cannot be used is said in words, never dropped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

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
from agent_core.messages import Content, FilePart, ImagePart, Part, TextPart
from agent_core.prompt_parts import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidPart, SaidText

Block: TypeAlias = (
    TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
)

MAX_ATTACHMENT = 32 * 1024 * 1024
"""Bytes of one image or document."""

_MIB = 1024 * 1024
_PDF = "application/pdf"
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_GROUP = 4
_LONGEST_NAME = 200


def to_content(blocks: Sequence[Block]) -> Content:
    """The user's message: plain text, or parts where there are images or documents.

    Raises:
        RequestError: there is nothing in it, or an attachment cannot be read or is too large.
    """
    parts = [_part(block) for block in blocks]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    if not any(text.strip() for text in texts) and len(texts) == len(parts):
        raise RequestError("The prompt is empty. Send at least one content block with something in it.")
    return "\n\n".join(texts) if len(texts) == len(parts) else parts


def to_said(blocks: Sequence[Block]) -> tuple[SaidPart, ...]:
    """The prompt as it is shown again when the session is loaded."""
    return tuple(_said(block) for block in blocks)


def _said(block: Block) -> SaidPart:
    match block:
        case TextContentBlock():
            return SaidText(block.text)
        case ImageContentBlock():
            return SaidImage(block.mime_type, block.data, block.uri or "")
        case AudioContentBlock():
            return SaidAudio(block.mime_type, block.data)
        case ResourceContentBlock():
            return SaidLink(
                uri=block.uri,
                name=block.name,
                mime_type=block.mime_type or "",
                title=block.title or "",
                description=block.description or "",
                size=block.size,
            )
        case EmbeddedResourceContentBlock(resource=resource):
            if isinstance(resource, TextResourceContents):
                return SaidDocument(resource.uri, resource.text, mime_type=resource.mime_type or "")
            return SaidDocument(resource.uri, None, resource.blob, resource.mime_type or "")


def _part(block: Block) -> Part:
    match block:
        case TextContentBlock():
            return _text(block.text)
        case ImageContentBlock():
            return _image(block.mime_type, block.data, block.uri or "")
        case AudioContentBlock():
            return _text(f"[Audio of type {block.mime_type} was attached; this agent cannot listen to it.]")
        case ResourceContentBlock():
            return _text(f"[Linked: {block.name}, {block.uri}]")
        case EmbeddedResourceContentBlock():
            return _embedded(block.resource)


def _embedded(resource: TextResourceContents | BlobResourceContents) -> Part:
    if isinstance(resource, TextResourceContents):
        return _text(f'<attached uri="{resource.uri}">\n{resource.text}\n</attached>')
    return _file(resource)


def _file(resource: BlobResourceContents) -> Part:
    kind = (resource.mime_type or "").partition(";")[0].strip().lower()
    if kind.startswith("image/"):
        return _image(kind, resource.blob, resource.uri)
    if kind == _PDF or _name(resource.uri).lower().endswith(".pdf"):
        return _document(resource)
    shown = resource.mime_type or "unknown type"
    return _text(f"[A binary file was attached, {resource.uri} ({shown}); its content is not shown to the model.]")


def _image(kind: str, data: str, uri: str) -> ImagePart:
    data = _checked(data, f"The attached image {_name(uri)}".rstrip())
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}


def _document(resource: BlobResourceContents) -> FilePart:
    name = _name(resource.uri) or "document"
    # Servers tell a file's kind by its name.
    name = name if name.lower().endswith(".pdf") else f"{name}.pdf"
    data = _checked(resource.blob, f"The attached document {name}")
    return {"type": "file", "file": {"filename": name, "file_data": f"data:{_PDF};base64,{data}"}}


def _name(uri: str) -> str:
    """The file's name at the end of an address; '' if there is none."""
    try:
        path = urlsplit(uri).path
    except ValueError:
        path = uri
    name = re.split(r"[/\\]", unquote(path))[-1]
    return "".join(char for char in name if char.isprintable())[-_LONGEST_NAME:]


def _checked(data: str, what: str) -> str:
    """`data` as one run of base64. It is not decoded: this happens on the event loop."""
    if not _BASE64.fullmatch(data):
        data = "".join(data.split())
    if not _BASE64.fullmatch(data) or len(data) % _GROUP:
        raise RequestError(f"{what} cannot be read: its data is not valid base64. Attach the file again.")
    size = len(data) // _GROUP * 3 - data[-2:].count("=")
    if size > MAX_ATTACHMENT:
        raise RequestError(
            f"{what} is too large: it has {size / _MIB:.1f} MiB, and an attachment may have {MAX_ATTACHMENT // _MIB} "
            "MiB at most. Attach a smaller file, or only the pages that matter."
        )
    return data


def _text(text: str) -> TextPart:
    return {"type": "text", "text": text}
