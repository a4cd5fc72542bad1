"""Linked files and directories of a prompt, read as the model's own calls are: through the gate, each with a card."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Self

from acp_adapter.content import (
    MIB,
    Draft,
    Limits,
    NotLocal,
    Place,
    attached,
    not_read,
    one_line,
    place_of,
    said_again,
    shown_path,
    text_part,
)
from agent_core.callbacks import CallFinished, CallRequested, CallRunning, ToolProgress
from agent_core.events import SaidLink
from agent_core.messages import Content, Part
from tools.approval.actions import Action
from tools.approval.sensitive import why_sensitive
from tools.context import ToolContext
from tools.environments.atomic_writes import told_as_file_error
from tools.errors import Denied, FileAccessError, FileMissing, FileRefused, ToolError
from tools.light_dataclass import dataclass
from tools.result import ShownText, ToolResult, error, ok
from tools.text.encoding import with_escapes
from tools.text.pages import NotText, Page, read_page

# A linked directory as a list of names.


def listed(path: Path, ctx: ToolContext, most: int) -> tuple[str, str]:
    """The first `most` names of a directory, sorted, one a line, directories with a slash; and a note, '' for none.

    Raises:
        Denied, FileAccessError: it cannot be looked at. ToolInterrupted.
    """
    names = ctx.fs.list(path)
    roots = tuple(Path(os.path.realpath(root)) for root in ctx.roots)
    lines = [one_line(shown_path(Path(name))) + _mark(path / name, roots, ctx) for name in names[:most]]
    notes = []
    if not names:
        notes.append("The directory is empty.")
    if len(names) > most:
        notes.append(f"Shown are {most} of {len(names):,} names; search_files(target='files') finds the others.")
    if not _is_inside(Path(os.path.realpath(path)), roots):
        notes.append("It is outside the session's directories: which names are directories is not told.")
    return "\n".join(lines), " ".join(notes)


def _mark(path: Path, roots: tuple[Path, ...], ctx: ToolContext) -> str:
    real = Path(os.path.realpath(path))
    # A look at what is sensitive or elsewhere would ask the person once more, for each name.
    if why_sensitive(real) or not _is_inside(real, roots):
        return ""
    try:
        facts = ctx.fs.stat(path)
    except (Denied, FileAccessError):
        return ""
    return "/" if facts is not None and facts.kind == "directory" else ""


def _is_inside(path: Path, roots: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


# One linked file or directory as parts of the model's message, read through the gated port.

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


def read_link(link: SaidLink, place: Place, ctx: ToolContext, room: Room) -> Reading:
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


def _file(link: SaidLink, place: Place, stream: BinaryIO, ctx: ToolContext, room: Room) -> Reading:
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


def _as_text(link: SaidLink, place: Place, text: str, note: str, room: Room, **facts: str) -> Reading:
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


# The links of a prompt: each file is read once, on a card of its own.

_TOOL = "read_file"
_MAX_SHOWN_CHARS = 5000


@dataclass(frozen=True, slots=True)
class LinkCalls:
    """How the reading of links is let through and shown: like calls of `read_file`.

    Attributes:
        context: makes the context of one call; it is given the call's id and what is told of each allowed action.
        tell: is told how each call goes.
        turn_id: the beginning of the calls' ids.
        note: is told, for the person, what is not read at all.
    """

    context: Callable[[str, Callable[[Action], None]], ToolContext]
    tell: Callable[[ToolProgress], None]
    turn_id: str
    note: Callable[[str], None] = lambda _: None


def filled(draft: Draft, calls: LinkCalls, limits: Limits | None = None) -> Content:
    """The prompt with what its links lead to in their places; what is not read is said in words.

    It blocks, and may ask the person: for worker threads.

    Raises:
        ToolInterrupted: the turn was cancelled meanwhile.
    """
    return draft.with_links(_Links(calls, limits or Limits()).part_of)


class _Call:
    """The reading of one file or directory, on one card; a yes to it holds for all links there."""

    def __init__(self, calls: LinkCalls, call_id: str, place: Place) -> None:
        self._tell = calls.tell
        self._id = call_id
        self._arguments = _arguments(place)
        self._runs = False
        self.refusal: ToolError | None = None
        self._tell(CallRequested(call_id, _TOOL, self._arguments))
        self.context = calls.context(call_id, self._on_allowed)

    def finish(self, result: ToolResult) -> None:
        if not result.failed:
            self._run()
        self._tell(CallFinished(self._id, _TOOL, self._arguments, result, self._runs))

    def _on_allowed(self, action: Action) -> None:  # noqa: ARG002 - all that a link does is reading
        self._run()

    def _run(self) -> None:
        if not self._runs:
            self._runs = True
            self._tell(CallRunning(self._id))


class _Links:
    """The links of one prompt, one after the other."""

    def __init__(self, calls: LinkCalls, limits: Limits) -> None:
        self._calls = calls
        self._room = Room.of(limits)
        self._made: dict[Path, _Call] = {}
        self._read: set[Place] = set()

    def part_of(self, link: SaidLink) -> list[Part]:
        """What stands in the link's place."""
        try:
            place = place_of(link.uri)
        except NotLocal as problem:
            self._calls.note(
                f"{link.name} ({link.uri}) was not read: it is no file here. The model has its name only."
            )
            return [_unread(link, str(problem))]
        if place in self._read:
            return [text_part(said_again(link.name, link.uri))]
        call = self._made.get(place.path)
        if call is None and len(self._made) >= self._room.limits.places:
            self._calls.note(f"{link.name} was not read: {self._room.limits.places} linked files are read at most.")
            return [_unread(link, _too_many(place, self._room.limits.places))]
        try:
            return [self._first(link, place) if call is None else self._again(link, place, call)]
        except ToolError as problem:
            return [_unread(link, _reason(problem, place))]

    def _first(self, link: SaidLink, place: Place) -> Part:
        call = self._made[place.path] = _Call(self._calls, f"{self._calls.turn_id}-link-{len(self._made) + 1}", place)
        try:
            reading = read_link(link, place, call.context, self._room)
        except ToolError as problem:
            if isinstance(problem, Denied):
                call.refusal = problem
            call.finish(error(_for_the_person(problem, place)))
            raise
        self._read.add(place)
        call.finish(_result(reading, place))
        return reading.part

    def _again(self, link: SaidLink, place: Place, call: _Call) -> Part:
        """Other lines of a file that has its card. Who has said no is not asked again."""
        if call.refusal is not None:
            raise call.refusal
        reading = read_link(link, place, call.context, self._room)
        self._read.add(place)
        return reading.part


def _arguments(place: Place) -> dict[str, Any]:
    arguments: dict[str, Any] = {"path": shown_path(place.path), "linked": True}
    if place.lines:
        first, last = place.lines
        arguments |= {"offset": first, "limit": last - first + 1}
    return arguments


def _result(reading: Reading, place: Place) -> ToolResult:
    line = {"line": place.lines[0]} if place.lines else {}
    shown = ShownText(reading.shown[:_MAX_SHOWN_CHARS], reading.language)
    return ok({"path": shown_path(place.path)}, shown, path=shown_path(place.path), **line)


def _unread(link: SaidLink, why: str) -> Part:
    return text_part(not_read(link.name, link.uri, why))


def _reason(problem: ToolError, place: Place) -> str:
    """Why a link was not read, and what to do, for the model."""
    if isinstance(problem, FileMissing):
        return f"{_nothing_at(place)} Look for it with search_files(target='files'), or ask the user."
    return str(problem)


def _for_the_person(problem: ToolError, place: Place) -> str:
    """The same on the link's card, which only the person sees."""
    if isinstance(problem, FileMissing):
        told = f"{_nothing_at(place)} The model has its name only; link to it again once it is there."
    else:
        told = problem.shown or str(problem)
    return told[:1].upper() + told[1:]


def _nothing_at(place: Place) -> str:
    return f"there is nothing at {shown_path(place.path)}. It may have been moved or never saved."


def _too_many(place: Place, most: int) -> str:
    return (
        f"a prompt's first {most} linked files are read, and this is one more. "
        f"Read it with read_file(path={shown_path(place.path)!r}) if you need it."
    )
