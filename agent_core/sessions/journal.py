"""What happens in one turn, taken down as rows: one for each finished item, text merged, a call from end to end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from agent_core.events import (
    AgentText,
    AgentThought,
    CommandsOffered,
    ContextCompacted,
    ContextUsed,
    ModeChanged,
    Noticed,
    OptionsOffered,
    PlanChanged,
    SessionEvent,
    SessionNamed,
    TerminalShown,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
    UserSaid,
)
from agent_core.sessions.event_codec import CallSoFar, Item, encode
from tools.light_dataclass import dataclass

# Text that comes in many small pieces.


class GrowingText:
    """Text that grows: adding costs what is added, reading what there is. Not safe for several threads."""

    def __init__(self, limit: int | None = None) -> None:
        """Nothing yet.

        Args:
            limit: about how many characters are kept, a fifth of them from the beginning and the rest from the end;
                a note stands where text is left out. None keeps all.
        """
        self._limit = limit
        self._head = ""
        self._left_out = 0
        self._pieces: list[str] = []
        self._size = 0

    def __len__(self) -> int:
        """How many characters are kept."""
        return len(self._head) + self._size

    def add(self, text: str) -> None:
        """Add a piece."""
        self._pieces.append(text)
        self._size += len(text)
        if self._limit is not None and len(self) > 2 * self._limit:
            self._cut(self._limit)

    def text(self) -> str:
        """All that is kept."""
        if self._limit is not None and len(self) > self._limit:
            self._cut(self._limit)
        whole = "".join(self._pieces)
        self._pieces = [whole]
        if not self._left_out:
            return whole
        return f"{self._head}\n[… {self._left_out} characters are left out here …]\n{whole}"

    def _cut(self, limit: int) -> None:
        rest = "".join(self._pieces)
        head = limit // 5
        if not self._left_out:
            self._head, rest = rest[:head], rest[head:]
        kept = rest[-(limit - head) :]
        self._left_out += len(rest) - len(kept)
        self._pieces, self._size = [kept], len(kept)


# What a journal holds of an item until it is written: each kind grows in its own way.

_MAX_OUTPUT = 1_000_000
"""Characters of one call's live output that are kept: a command may print for hours."""


class TextItem:
    """Text or a thought, merged from its pieces."""

    __slots__ = ("_first", "_text")

    open = False

    def __init__(self, first: AgentText | AgentThought) -> None:
        self._first = first
        self._text = GrowingText()
        self._text.add(first.text)

    def __len__(self) -> int:
        """Characters of text."""
        return len(self._text)

    def continues(self, event: AgentText | AgentThought) -> bool:
        """Whether `event` is more of the same message."""
        return type(event) is type(self._first) and event.message_id == self._first.message_id

    def add(self, text: str) -> None:
        """Add a piece."""
        self._text.add(text)

    def item(self) -> Item:
        """All text so far."""
        return type(self._first)(self._first.message_id, self._text.text())


@dataclass(slots=True)
class CallItem:
    """A tool call."""

    call_id: str
    name: str
    cwd: str
    request: ToolRequested | None = None
    ran: bool = False
    output: GrowingText = field(default_factory=lambda: GrowingText(_MAX_OUTPUT))
    tail: str = ""
    end: ToolFinished | None = None
    parent: str = ""
    by: str = ""

    @property
    def open(self) -> bool:
        """It has not ended."""
        return self.end is None

    def __len__(self) -> int:
        """Characters of output."""
        return len(self.output)

    def change(self, event: ToolAnnounced | ToolRequested | ToolFinished) -> None:
        """It is announced, requested or over."""
        self.name, self.cwd = event.name, event.cwd
        if isinstance(event, ToolAnnounced | ToolRequested):
            self.parent = event.parent
        if isinstance(event, ToolRequested):
            self.request = event
            self.by = event.by
        elif isinstance(event, ToolFinished):
            self.end = event

    def go_on(self, event: ToolRunning | ToolOutput) -> None:
        """It runs, or prints."""
        self.ran = True
        if isinstance(event, ToolOutput):
            self.output.add(event.text)
            self.tail = event.tail

    def item(self) -> Item:
        """The call so far."""
        told = self.request or self.end
        return CallSoFar(
            call_id=self.call_id,
            name=self.name,
            cwd=self.cwd,
            arguments=None if told is None else told.arguments,
            requested=self.request is not None,
            ran=self.ran if self.end is None else self.end.ran,
            output=self.output.text(),
            tail=self.tail,
            result=None if self.end is None else self.end.result,
            parent=self.parent,
            by=self.by,
        )


@dataclass(frozen=True, slots=True)
class WholeItem:
    """Something that comes at once."""

    event: UserSaid | Noticed | PlanChanged | ContextUsed | ContextCompacted

    open = False

    def __len__(self) -> int:
        """It does not grow."""
        return 0

    def item(self) -> Item:
        """The event itself."""
        return self.event


Content = TextItem | CallItem | WholeItem
"""An item as it stands: `open` where it is a call that has not ended, its length that of what grows."""

_LONG = 64 * 1024
"""Characters: a row that is longer is not written again each time that it grows."""

_LONG_PAUSE = 10.0
"""Seconds between two pictures of a long row that grows."""


@dataclass(frozen=True, slots=True)
class JournalRow:
    """One item as it stands. A later row of the same position takes its place.

    Attributes:
        position: its place in the turn, from 0.
        body: strict JSON.
        open: a tool call that has not ended.
        created_at: when it began, in seconds since the epoch.
        edition: counts how often the item was given.
    """

    position: int
    kind: str
    version: int
    body: dict[str, Any]
    open: bool
    created_at: float
    edition: int = 1


@dataclass(slots=True, eq=False)
class _Entry:
    position: int
    content: Content
    created_at: float
    edition: int = 0
    given_at: float = 0.0
    grew_only: bool = False

    def can_wait(self, now: float) -> bool:
        """Whether writing it now would cost more than it is worth: it is long, and was given a moment ago."""
        return self.grew_only and len(self.content) > _LONG and 0 <= now - self.given_at < _LONG_PAUSE


class TurnJournal:
    """Takes down what happens in one turn. Any thread may record.

    Whoever takes rows must write them before another takes some: rows of one position replace each other.

    Mode, options, title and commands stand with the session, and terminals are the front end's: they are not taken
    down.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Make an empty one.

        Args:
            clock: seconds since the epoch.
        """
        self._clock = clock
        self._lock = threading.Lock()
        self._closed = False
        self._editions: list[int] = []
        self._changed: dict[int, _Entry] = {}
        self._returned: dict[int, JournalRow] = {}
        self._text: _Entry | None = None
        self._calls: dict[str, _Entry] = {}
        self._whole: dict[type[SessionEvent], _Entry] = {}

    @classmethod
    def of(cls, rows: Sequence[JournalRow]) -> TurnJournal:
        """A closed one, that has nothing but these rows to give."""
        made = cls()
        made._editions = [0] * (1 + max((row.position for row in rows), default=-1))
        for row in rows:
            made._editions[row.position] = row.edition
        made.put_back(rows)
        made.close()
        return made

    @property
    def is_dirty(self) -> bool:
        """Whether there is something that was not taken yet; a long row may still be held back for some seconds."""
        return bool(self._changed or self._returned)

    def record(self, event: SessionEvent) -> bool:
        """Take an event down; False once it is closed. It costs what the event holds; nothing is written here."""
        with self._lock:
            if not self._closed:
                self._record(event)
            return not self._closed

    def take(self, final: bool = False) -> list[JournalRow]:
        """The rows that are new or changed since the last take, in order.

        A row of more than 64 KB that only grew comes at most every 10 s, until it is finished.

        Args:
            final: the turn is over: all of them. So it is after `close`.
        """
        with self._lock:
            now, everything = self._clock(), final or self._closed
            ready = [entry for entry in self._changed.values() if everything or not entry.can_wait(now)]
            rows, self._returned = self._returned, {}
            rows.update((entry.position, self._row(entry, now)) for entry in ready)
        return [rows[position] for position in sorted(rows)]

    def put_back(self, rows: Sequence[JournalRow]) -> None:
        """Rows that were taken and could not be written: the next take gives them again, or newer ones."""
        with self._lock:
            for row in rows:
                if self._editions[row.position] == row.edition:
                    self._returned[row.position] = row

    def close(self) -> None:
        """From now on nothing is taken down. What was not taken yet still can be."""
        with self._lock:
            self._closed = True

    def _row(self, entry: _Entry, now: float) -> JournalRow:
        del self._changed[entry.position]
        entry.edition += 1
        entry.given_at, entry.grew_only = now, True
        self._editions[entry.position] = entry.edition
        row, is_open = encode(entry.content.item()), entry.content.open
        return JournalRow(entry.position, row.kind, row.version, row.body, is_open, entry.created_at, entry.edition)

    def _record(self, event: SessionEvent) -> None:
        match event:
            case AgentText() | AgentThought():
                self._add_text(event)
            case ToolAnnounced() | ToolRequested() | ToolFinished():
                self._change_call(event)
            case ToolRunning() | ToolOutput():
                self._continue_call(event)
            case PlanChanged() | ContextUsed():
                self._replace(event)
            case ContextCompacted(state="running"):
                pass  # what was not finished has changed nothing
            case UserSaid() | Noticed() | ContextCompacted():
                self._begin(WholeItem(event))
            case TerminalShown() | ModeChanged() | OptionsOffered() | SessionNamed() | CommandsOffered():
                pass

    def _add_text(self, event: AgentText | AgentThought) -> None:
        if not event.text:
            return
        entry = self._text
        if entry is not None and isinstance(entry.content, TextItem) and entry.content.continues(event):
            entry.content.add(event.text)
            self._changed[entry.position] = entry
        else:
            self._text = self._begin(TextItem(event))

    def _change_call(self, event: ToolAnnounced | ToolRequested | ToolFinished) -> None:
        entry = self._calls.get(event.call_id)
        if entry is None:
            entry = self._calls[event.call_id] = self._begin(CallItem(event.call_id, event.name, event.cwd))
        if isinstance(entry.content, CallItem):
            entry.content.change(event)
        if isinstance(event, ToolFinished):
            del self._calls[event.call_id]
        entry.grew_only = False
        self._changed[entry.position] = entry

    def _continue_call(self, event: ToolRunning | ToolOutput) -> None:
        entry = self._calls.get(event.call_id)
        if entry is None or not isinstance(entry.content, CallItem):
            return
        entry.content.go_on(event)
        entry.grew_only &= isinstance(event, ToolOutput)
        self._changed[entry.position] = entry

    def _replace(self, event: PlanChanged | ContextUsed) -> None:
        entry = self._whole.get(type(event))
        if entry is None:
            # It has a place of its own in every client: text before and after it stays one piece.
            entry = self._whole[type(event)] = self._begin(WholeItem(event), breaks_text=False)
        entry.content = WholeItem(event)
        entry.grew_only = False
        self._changed[entry.position] = entry

    def _begin(self, content: Content, *, breaks_text: bool = True) -> _Entry:
        if breaks_text and self._text is not None:
            self._text.grew_only = False  # it is finished: the next take gives all of it
            self._text = None
        entry = _Entry(len(self._editions), content, self._clock())
        self._editions.append(0)
        self._changed[entry.position] = entry
        return entry
