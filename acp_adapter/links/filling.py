"""A prompt's links become content: each file is read once, on a card of its own, as if the model had asked for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from acp_adapter.links.addresses import NotLocal, Place, place_of
from acp_adapter.links.draft import Draft, Link
from acp_adapter.links.limits import Limits
from acp_adapter.links.reading import Reading, Room, read_link
from acp_adapter.links.words import not_read, said_again, shown_path, text_part
from agent_core.callbacks import CallFinished, CallRequested, CallRunning, ToolProgress
from agent_core.messages import Content, Part
from tools.approval.actions import Action
from tools.context import ToolContext
from tools.errors import Denied, FileMissing, ToolError
from tools.light_dataclass import dataclass
from tools.result import ShownText, ToolResult, error, ok

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

    def part_of(self, link: Link) -> list[Part]:
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

    def _first(self, link: Link, place: Place) -> Part:
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

    def _again(self, link: Link, place: Place, call: _Call) -> Part:
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


def _unread(link: Link, why: str) -> Part:
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
