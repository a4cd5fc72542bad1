"""From content blocks to the parts of a prompt and to what the model gets, and back; links in a prompt."""

from __future__ import annotations

import base64
import html
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never
from urllib.parse import unquote, urlsplit

from agent_core.errors import RequestError
from agent_core.events import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidPart, SaidText, audio_format
from agent_core.messages import AudioPart, Content, FilePart, ImagePart, Part, TextPart
from tools.light_dataclass import dataclass
from tools.text.encoding import decode, with_escapes

if TYPE_CHECKING:
    from acp_adapter.sdk import (
        AudioContentBlock,
        EmbeddedResourceContentBlock,
        ImageContentBlock,
        ResourceContentBlock,
        TextContentBlock,
    )

# How attached content, and what could not be attached, is put to the model.

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


# What a link's address means: a path on this machine, perhaps with lines, or something that is not read.

_RANGE = re.compile(r"L(\d{1,9})(?:C\d{1,9})?(?:([-:])L?(\d{1,9})(?:C\d{1,9})?)?", re.IGNORECASE)
_RANGE_AT_END = re.compile(rf"#({_RANGE.pattern})\Z", re.IGNORECASE)
_DRIVE = re.compile(r"/?[A-Za-z]:(?:[/\\]|\Z)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_LOCAL_HOSTS = frozenset({"", "localhost"})

_WINDOWS = (
    "it is a path of Windows, and this agent runs on another system. "
    "Ask the user for the path as this system knows it."
)


class NotLocal(ValueError):
    """The address names nothing that is read here; the message, for the model, says why and what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file or directory of this machine: its path, absolute and without `..`, and the lines that are meant."""

    path: Path
    lines: tuple[int, int] | None = None


def place_of(uri: str) -> Place:
    """Where `uri` leads: a `file:` address, or an absolute path as some clients send them.

    Lines are understood as editors write them after `#`, from 1 and with both ends: `L10`, `L10-20`, `L10-L20`,
    `L10:20`; a second number after `:` that is smaller than the first is a column.

    Raises:
        NotLocal: it is the address of something else, or no address.
    """
    if uri.startswith("/") and not uri.startswith("//"):
        return _from_path(uri)
    if _DRIVE.match(uri) or uri.startswith("\\\\"):
        raise NotLocal(_WINDOWS)
    scheme = _SCHEME.match(uri)
    if scheme is None:
        raise NotLocal("its address is no absolute path. Find the file with search_files(target='files').")
    if scheme[0].lower() == "file:":
        return _from_file_address(uri)
    if scheme[0].lower() in {"http:", "https:"}:
        raise NotLocal(
            "pages of the web are not fetched with a prompt. Ask the user for what it says, if you need it."
        )
    raise NotLocal(
        f"addresses that begin with {scheme[0]} mean something only inside the editor. "
        "Ask the user for the content, if you need it."
    )


def is_elsewhere(uri: str, roots: tuple[Path, ...]) -> bool:
    """Whether `uri` names something that is not below `roots`, whose links are resolved."""
    try:
        path = Path(os.path.realpath(place_of(uri).path))
    except NotLocal:
        return True
    return not any(path == root or root in path.parents for root in roots)


def lines_of(uri: str) -> tuple[int, int] | None:
    """First and last line that `uri` means; None where it names none."""
    found = _RANGE_AT_END.search(uri)
    return None if found is None else _lines(found[1])


def _from_path(text: str) -> Place:
    # No address, so nothing is encoded in it; a `#` may well belong to the name.
    lines = lines_of(text)
    return Place(_path(text.rpartition("#")[0] if lines else text), lines)


def _from_file_address(uri: str) -> Place:
    try:
        parts = urlsplit(uri)
        host = (parts.hostname or "").lower()
    except ValueError as problem:
        raise NotLocal(f"its address is malformed ({problem}). Ask the user for the path.") from problem
    if _DRIVE.match(parts.netloc) or _DRIVE.match(unquote(parts.path)):
        raise NotLocal(_WINDOWS)
    if host not in _LOCAL_HOSTS:
        raise NotLocal(f"it is on another machine ({host}). Ask the user for a copy in the workspace.")
    return Place(_path(unquote(parts.path, errors="surrogateescape")), _lines(parts.fragment))


def _path(text: str) -> Path:
    if "\0" in text:
        raise NotLocal("its path holds a NUL character. Ask the user for the path.")
    if not text.startswith("/"):
        raise NotLocal("its address has no absolute path. Find the file with search_files(target='files').")
    return Path(os.path.normpath("/" + text.lstrip("/")))


def _lines(fragment: str) -> tuple[int, int] | None:
    found = _RANGE.fullmatch(fragment)
    if found is None:
        return None
    first, sign, second = found.groups()
    start = max(int(first), 1)
    if second is None or (sign == ":" and int(second) < start):
        return start, start
    end = max(int(second), 1)
    return min(start, end), max(start, end)


# How much is read.

MIB = 1024 * 1024

MAX_ATTACHMENT = 32 * MIB
"""Bytes of one image, document or recording."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one prompt's links.

    Attributes:
        places: different files and directories that are looked at.
        text, all_text: characters of one text and of all, line numbers included.
        attachment, all_attachments: bytes of one image or document and of all.
        names: of one directory.
    """

    places: int = 20
    text: int = 64 * 1024
    all_text: int = 256 * 1024
    attachment: int = MAX_ATTACHMENT
    all_attachments: int = 64 * MIB
    names: int = 200


# A prompt whose links are still to be read.


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt's pieces in the order given."""

    pieces: tuple[Part | SaidLink, ...]

    @property
    def has_links(self) -> bool:
        """Whether something is still to be read."""
        return SaidLink in map(type, self.pieces)

    def named(self) -> Content:
        """The prompt with each link named and nothing read."""
        return self.with_links(lambda link: [text_part(named_only(link.name or link.title, link.uri))])

    def with_links(self, read: Callable[[SaidLink], Iterable[Part]]) -> Content:
        """The prompt with what `read` gives in the place of each link: text alone, or parts if there are others."""
        parts, texts = list[Part](), list[str]()
        for piece in self.pieces:
            for part in read(piece) if isinstance(piece, SaidLink) else (piece,):
                parts.append(part)
                if part["type"] == "text":
                    texts.append(part["text"])
        return "\n\n".join(texts) if len(texts) == len(parts) else parts


# From content blocks to the parts of a prompt.

Block: TypeAlias = (
    "TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock"
)


def to_said(blocks: Sequence[Block]) -> tuple[SaidPart, ...]:
    """What blocks say that the SDK has read."""
    return tuple(map(_said, blocks))


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


# From the parts to what the model gets. What cannot be used is said in words, never dropped.

_PDF = "application/pdf"
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_GROUP = 4
_LONGEST_LINK_NAME = 200
_MAX_DECODED = MIB
_TEXT_KINDS = re.compile(
    r"text/.+|image/svg\+xml|application/(?:.+\+(?:json|xml|yaml)|(?:x-)?(?:json|ndjson|xml|yaml|toml|javascript|"
    r"ecmascript|typescript|python|perl|ruby|sh|shellscript|sql|graphql|tex|latex))"
)


def to_draft(said: Sequence[SaidPart]) -> Draft:
    """The user's message, with its links still to be read (`acp_adapter.linked_files`). Nothing here waits.

    Raises:
        RequestError: there is nothing in it, or an attachment cannot be read or is too large.
    """
    pieces = tuple(map(_piece, said))
    for piece in pieces:
        if isinstance(piece, SaidLink) or piece["type"] != "text" or piece["text"].strip():
            return Draft(pieces)
    raise RequestError("The prompt is empty. Send at least one content block with something in it.")


def with_text(said: Sequence[SaidPart], text: str) -> tuple[SaidPart, ...]:
    """A prompt with `text` in place of all its texts; what else came with it stays."""
    return SaidText(text), *(part for part in said if not isinstance(part, SaidText))


def _piece(part: SaidPart) -> Part | SaidLink:
    match part:
        case SaidText():
            return {"type": "text", "text": part.text}
        case SaidImage():
            return _image(part.mime_type, part.data, part.uri)
        case SaidAudio():
            return _audio(part)
        case SaidLink():
            return part
        case SaidDocument():
            return _attached(part)


def _attached(part: SaidDocument) -> Part:
    if part.text is not None:
        return text_part(attached(part.uri, part.text))
    return _file(part, part.data or "")


def _file(part: SaidDocument, data: str) -> Part:
    kind = part.mime_type.partition(";")[0].strip().lower()
    if _TEXT_KINDS.fullmatch(kind):
        return text_part(_decoded(part.uri, data, kind))
    if kind.startswith("image/"):
        return _image(kind, data, part.uri)
    if kind == _PDF or _name(part.uri).lower().endswith(".pdf"):
        return _document(part.uri, data)
    shown = kind or "unknown type"
    return text_part(
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
    return "".join(char for char in name if char.isprintable())[-_LONGEST_LINK_NAME:]


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


# From the parts to content blocks again.


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
