"""One linked file or directory as parts of the model's message, read through the gated port."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Self

from acp_adapter.links.addresses import Place
from acp_adapter.links.draft import Link
from acp_adapter.links.limits import MIB, Limits
from acp_adapter.links.listing import listed
from acp_adapter.links.words import attached, one_line, shown_path, text_part
from agent_core.messages import Part
from tools.context import ToolContext
from tools.environments.atomic_writes import told_as_file_error
from tools.errors import FileRefused, ToolError
from tools.light_dataclass import dataclass
from tools.text.encoding import with_escapes
from tools.text.pages import NotText, Page, read_page

_HEAD = 16
_LEAST_ROOM = 1000
_ALL_LINES = 1 << 30
_PDF = "application/pdf"
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", _PDF),
)


@dataclass(slots=True)
class Room:
    """What the prompt's links may still bring: characters of text, bytes of attachments."""

    limits: Limits
    text: int
    attachments: int

    @classmethod
    def of(cls, limits: Limits) -> Self:
        """All the room that there is."""
        return cls(limits, limits.all_text, limits.all_attachments)


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of a link: `part` for the model, and text for the person (`language` as in `ShownText`)."""

    part: Part
    shown: str
    language: str | None = None


def read_link(link: Link, place: Place, ctx: ToolContext, room: Room) -> Reading:
    """What `place` holds, bounded; `room` becomes smaller by it.

    Raises:
        ToolError: it cannot be read, or not in this room; the message is for the model.
        ToolInterrupted: the turn is over.
    """
    try:
        with ctx.fs.open(place.path) as stream, told_as_file_error("read", place.path):
            return _file(link, place, stream, ctx, room)
    except FileRefused:
        facts = ctx.fs.stat(place.path)
        if facts is None or facts.kind != "directory":
            raise
    text, note = listed(place.path, ctx, room.limits.names)
    return _as_text(link, place, text, note, room, kind="directory")


def _file(link: Link, place: Place, stream: BinaryIO, ctx: ToolContext, room: Room) -> Reading:
    kind = _kind(stream.read(_HEAD))
    stream.seek(0)
    if kind:
        return _attachment(place.path, kind, stream, room)
    _check_room(place.path, room)
    first, last = place.lines or (1, _ALL_LINES)
    settings = replace(ctx.settings.read, max_chars=min(room.limits.text, room.text))
    try:
        page = read_page(stream, first, last - first + 1, settings)
    except NotText as problem:
        raise ToolError(
            f"{problem}, and no image or PDF. To look inside use the terminal (`file`, `xxd | head`, `strings`, or a "
            "program made for this kind of file)."
        ) from problem
    if not page.lines and page.total:
        raise ToolError(f"it has only {page.total} lines; line {first} does not exist. Ask the user what is meant.")
    numbered = with_escapes("\n".join(f"{number}|{line}" for number, line in enumerate(page.lines, page.first)))
    end = page.first + len(page.lines) - 1
    facts = {"lines": f"{page.first}-{end}"} if place.lines or page.more else {}
    reading = _as_text(link, place, numbered, _note(place, page, end, last), room, **facts)
    return replace(reading, shown="\n".join(page.lines), language=place.path.suffix.removeprefix("."))


def _note(place: Place, page: Page, end: int, last: int) -> str:
    notes = []
    if page.total == 0:
        notes.append("The file is empty.")
    if page.more and end < last:
        count = "an unknown number of" if page.total is None else f"{page.total:,}"
        notes.append(
            f"Shown are lines {page.first} to {end} of {count} lines; "
            f"read_file(path='{shown_path(place.path)}', offset={end + 1}) goes on."
        )
    if page.note:
        notes.append(page.note)
    return " ".join(notes)


def _as_text(link: Link, place: Place, text: str, note: str, room: Room, **facts: str) -> Reading:
    _check_room(place.path, room)
    # A symbol's name, or whatever else the person saw, where it says more than the path.
    name = link.name if link.name not in {place.path.name, link.uri, str(place.path)} else ""
    tagged = attached(link.uri, text, name=name, **facts)
    whole = f"{tagged}\n[{note}]" if note else tagged
    room.text -= len(whole)
    return Reading(text_part(whole), text)


def _check_room(path: Path, room: Room) -> None:
    if room.text < _LEAST_ROOM:
        raise ToolError(
            "the links of this prompt hold more text than fits. "
            f"Read it with read_file(path='{shown_path(path)}') if you need it."
        )


def _attachment(path: Path, kind: str, stream: BinaryIO, room: Room) -> Reading:
    limit = min(room.limits.attachment, room.attachments)
    data = stream.read(limit + 1)
    if len(data) > limit:
        whose = "one may have" if limit == room.limits.attachment else "the links of this prompt have left"
        raise ToolError(
            f"as {kind} it is too large: {whose} {limit / MIB:.1f} MiB. "
            "Make a smaller copy of it, or ask the user for the part that matters."
        )
    room.attachments -= len(data)
    url = f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
    shown = f"{kind}, {len(data):,} bytes"
    if kind != _PDF:
        return Reading({"type": "image_url", "image_url": {"url": url}}, shown)
    # Servers tell a file's kind by its name.
    name = one_line(shown_path(Path(path.name)))
    name = name if name.lower().endswith(".pdf") else f"{name}.pdf"
    return Reading({"type": "file", "file": {"filename": name, "file_data": url}}, shown)


def _kind(head: bytes) -> str:
    """The media type of an image or document that begins with `head`; '' for anything else."""
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _BEGINNINGS if head.startswith(beginning)), "")
