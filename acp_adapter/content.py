"""What a prompt says as the model's content. What cannot be used is said in words, never dropped."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from acp_adapter.links.addresses import lines_of
from acp_adapter.links.draft import Draft, Link
from acp_adapter.links.limits import MAX_ATTACHMENT, MIB
from acp_adapter.links.words import attached, one_line
from agent_core.errors import RequestError
from agent_core.messages import AudioPart, FilePart, ImagePart, Part, TextPart
from agent_core.prompt_parts import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidPart, SaidText, audio_format
from tools.text.encoding import decode, with_escapes

__all__ = ["MAX_ATTACHMENT", "Draft", "Link", "to_draft", "with_text"]

_PDF = "application/pdf"
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_GROUP = 4
_LONGEST_NAME = 200
_MAX_DECODED = MIB
_TEXT_KINDS = re.compile(
    r"text/.+|image/svg\+xml|application/(?:.+\+(?:json|xml|yaml)|(?:x-)?(?:json|ndjson|xml|yaml|toml|javascript|"
    r"ecmascript|typescript|python|perl|ruby|sh|shellscript|sql|graphql|tex|latex))"
)


def to_draft(said: Sequence[SaidPart]) -> Draft:
    """The user's message, with its links still to be read (`acp_adapter.links.filling`). Nothing here waits.

    Raises:
        RequestError: there is nothing in it, or an attachment cannot be read or is too large.
    """
    pieces = tuple(_piece(part) for part in said)
    if not any(isinstance(piece, Link) or piece["type"] != "text" or piece["text"].strip() for piece in pieces):
        raise RequestError("The prompt is empty. Send at least one content block with something in it.")
    return Draft(pieces)


def with_text(said: Sequence[SaidPart], text: str) -> tuple[SaidPart, ...]:
    """A prompt with `text` in place of all its texts; what else came with it stays."""
    return SaidText(text), *(part for part in said if not isinstance(part, SaidText))


def _piece(part: SaidPart) -> Part | Link:
    match part:
        case SaidText():
            return _text(part.text)
        case SaidImage():
            return _image(part.mime_type, part.data, part.uri)
        case SaidAudio():
            return _audio(part)
        case SaidLink():
            return _link(part)
        case SaidDocument():
            return _attached(part)


def _link(part: SaidLink) -> Link:
    return Link(
        uri=part.uri, name=part.name, title=part.title, mime=part.mime_type, size=part.size, lines=lines_of(part.uri)
    )


def _attached(part: SaidDocument) -> Part:
    if part.text is not None:
        return _text(attached(part.uri, part.text))
    return _file(part, part.data or "")


def _file(part: SaidDocument, data: str) -> Part:
    kind = part.mime_type.partition(";")[0].strip().lower()
    if _TEXT_KINDS.fullmatch(kind):
        return _text(_decoded(part.uri, data, kind))
    if kind.startswith("image/"):
        return _image(kind, data, part.uri)
    if kind == _PDF or _name(part.uri).lower().endswith(".pdf"):
        return _document(part.uri, data)
    shown = kind or "unknown type"
    return _text(
        f"[A binary file was attached, {one_line(part.uri)} ({shown}); its content is not shown to the model.]"
    )


def _decoded(uri: str, data: str, kind: str) -> str:
    """A text that came as bytes, in tags; a note where it is too large to be decoded here or is no text."""
    if len(data) > _MAX_DECODED // 3 * 4:
        size = len(data) * 3 // 4 / MIB
        return (
            f"[A text file was attached, {one_line(uri)}, of {size:.1f} MiB: too large to be shown. "
            "Read it where it is, or ask the user for the part that matters.]"
        )
    try:
        text = decode(base64.b64decode("".join(data.split()), validate=True))
    except ValueError as problem:
        raise RequestError(
            f"The attached text {_name(uri)} cannot be read: its data is not valid base64. Attach the file again."
        ) from problem
    if text is None:
        return f"[A file was attached, {one_line(uri)} ({kind}), but its content is no text.]"
    note = f"\n[{text.note}]" if text.note else ""
    return attached(uri, with_escapes(text.text)) + note


def _image(kind: str, data: str, uri: str) -> ImagePart:
    data = _checked(data, f"The attached image {_name(uri)}".rstrip())
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}


def _audio(part: SaidAudio) -> AudioPart:
    data = _checked(part.data, "The attached recording")
    return {"type": "input_audio", "input_audio": {"data": data, "format": audio_format(part.mime_type)}}


def _document(uri: str, data: str) -> FilePart:
    name = _name(uri) or "document"
    # Servers tell a file's kind by its name.
    name = name if name.lower().endswith(".pdf") else f"{name}.pdf"
    data = _checked(data, f"The attached document {name}")
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
