"""A prompt's content blocks as the model's content. What cannot be used is said in words, never dropped."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from acp_adapter.links.addresses import lines_of
from acp_adapter.links.draft import Draft, Link
from acp_adapter.links.limits import MAX_ATTACHMENT, MIB
from acp_adapter.links.words import attached, one_line
from acp_adapter.sdk import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)
from agent_core.errors import RequestError
from agent_core.messages import AudioPart, FilePart, ImagePart, Part, TextPart
from agent_core.prompt_parts import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidPart, SaidText, audio_format
from tools.text.encoding import decode

Block: TypeAlias = (
    TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
)

__all__ = ["MAX_ATTACHMENT", "Block", "Draft", "Link", "to_draft", "to_said", "with_text"]

_PDF = "application/pdf"
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_GROUP = 4
_LONGEST_NAME = 200
_MAX_DECODED = MIB
_TEXT_KINDS = re.compile(
    r"text/.+|image/svg\+xml|application/(?:.+\+(?:json|xml|yaml)|(?:x-)?(?:json|ndjson|xml|yaml|toml|javascript|"
    r"ecmascript|typescript|python|perl|ruby|sh|shellscript|sql|graphql|tex|latex))"
)


def to_draft(blocks: Sequence[Block]) -> Draft:
    """The user's message, with its links still to be read (`acp_adapter.links.filling`). Nothing here waits.

    Raises:
        RequestError: there is nothing in it, or an attachment cannot be read or is too large.
    """
    pieces = tuple(_piece(block) for block in blocks)
    if not any(isinstance(piece, Link) or piece["type"] != "text" or piece["text"].strip() for piece in pieces):
        raise RequestError("The prompt is empty. Send at least one content block with something in it.")
    return Draft(pieces)


def with_text(blocks: Sequence[Block], text: str) -> list[Block]:
    """A prompt with `text` in place of all its texts; what else came with it stays."""
    rest = (block for block in blocks if not isinstance(block, TextContentBlock))
    return [TextContentBlock(type="text", text=text), *rest]


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


def _piece(block: Block) -> Part | Link:
    match block:
        case TextContentBlock():
            return _text(block.text)
        case ImageContentBlock():
            return _image(block.mime_type, block.data, block.uri or "")
        case AudioContentBlock():
            return _audio(block)
        case ResourceContentBlock():
            return _link(block)
        case EmbeddedResourceContentBlock():
            return _embedded(block.resource)


def _embedded(resource: TextResourceContents | BlobResourceContents) -> Part:
    if isinstance(resource, TextResourceContents):
        return _text(attached(resource.uri, resource.text))
    return _file(resource)


def _link(block: ResourceContentBlock) -> Link:
    return Link(
        uri=block.uri,
        name=block.name,
        title=block.title or "",
        mime=block.mime_type or "",
        size=block.size,
        lines=lines_of(block.uri),
    )


def _file(resource: BlobResourceContents) -> Part:
    kind = (resource.mime_type or "").partition(";")[0].strip().lower()
    if _TEXT_KINDS.fullmatch(kind):
        return _text(_decoded(resource, kind))
    if kind.startswith("image/"):
        return _image(kind, resource.blob, resource.uri)
    if kind == _PDF or _name(resource.uri).lower().endswith(".pdf"):
        return _document(resource)
    shown = kind or "unknown type"
    return _text(
        f"[A binary file was attached, {one_line(resource.uri)} ({shown}); its content is not shown to the model.]"
    )


def _decoded(resource: BlobResourceContents, kind: str) -> str:
    """A text that came as bytes, in tags; a note where it is too large to be decoded here or is no text."""
    if len(resource.blob) > _MAX_DECODED // 3 * 4:
        size = len(resource.blob) * 3 // 4 / MIB
        return (
            f"[A text file was attached, {one_line(resource.uri)}, of {size:.1f} MiB: too large to be shown. "
            "Read it where it is, or ask the user for the part that matters.]"
        )
    try:
        text = decode(base64.b64decode("".join(resource.blob.split()), validate=True))
    except ValueError as problem:
        raise RequestError(
            f"The attached text {_name(resource.uri)} cannot be read: its data is not valid base64. "
            "Attach the file again."
        ) from problem
    if text is None:
        return f"[A file was attached, {one_line(resource.uri)} ({kind}), but its content is no text.]"
    return attached(resource.uri, text.text)


def _image(kind: str, data: str, uri: str) -> ImagePart:
    data = _checked(data, f"The attached image {_name(uri)}".rstrip())
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}


def _audio(block: AudioContentBlock) -> AudioPart:
    data = _checked(block.data, "The attached recording")
    return {"type": "input_audio", "input_audio": {"data": data, "format": audio_format(block.mime_type)}}


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
            f"{what} is too large: it has {size / MIB:.1f} MiB, and an attachment may have {MAX_ATTACHMENT // MIB} "
            "MiB at most. Attach a smaller file, or only the pages that matter."
        )
    return data


def _text(text: str) -> TextPart:
    return {"type": "text", "text": text}
