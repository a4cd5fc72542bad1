"""What happens in one turn, taken down as rows: one for each finished item, text merged, a call from end to end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

from agent_core.events import (
    AgentText,
    AgentThought,
    ContextCompacted,
    ContextUsed,
    Noticed,
    PlanChanged,
    SessionEvent,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
    UserSaid,
)
from agent_core.sessions.event_codec import CallSoFar, Item, encode
from tools.light_dataclass import dataclass

_MAX_OUTPUT = 1_000_000
"""Characters of one call's live output that are kept: a command may print for hours."""


class GrowingText:
    """Text that comes in many small pieces: adding costs what is added. Not safe for several threads."""

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

    def add(self, text: str) -> None:
        """Add a piece."""
        self._pieces.append(text)
        self._size += len(text)
        if self._limit is not None and self._size > 2 * self._limit:
            self._cut(self._limit)

    def text(self) -> str:
        """All that is kept."""
        if self._limit is not None and len(self._head) + self._size > self._limit:
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


@dataclass(frozen=True, slots=True)
class JournalRow:
    """One item as it stands. A later row of the same position takes its place.

    Attributes:
        position: its place in the turn, from 0.
        body: strict JSON.
        open: a tool call that has not ended.
        created_at: when it began, in seconds since the epoch.
    """

    position: int
    kind: str
    version: int
    body: dict[str, Any]
    open: bool
    created_at: float


@dataclass(slots=True, eq=False)
class _Entry:
    """An item, and the text of it that grows: an answer, what a call prints."""

    position: int
    item: Item
    created_at: float
    text: GrowingText = field(default_factory=GrowingText)

    def row(self) -> JournalRow:
        """The item as it stands."""
        match self.item:
            case AgentText() | AgentThought():
                self.item = replace(self.item, text=self.text.text())
            case CallSoFar():
                self.item.output = self.text.text()
        row, is_open = encode(self.item), isinstance(self.item, CallSoFar) and self.item.result is None
        return JournalRow(self.position, row.kind, row.version, row.body, is_open, self.created_at)


class TurnJournal:
    """Takes down what happens in one turn. Any thread may record.

    Whoever takes rows must write them, or put them back, before another takes some.

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
        self._count = 0
        self._changed: dict[int, _Entry] = {}
        self._returned: dict[int, JournalRow] = {}
        self._text: _Entry | None = None
        self._calls: dict[str, _Entry] = {}
        self._latest: dict[type[SessionEvent], _Entry] = {}

    @classmethod
    def of(cls, rows: Sequence[JournalRow]) -> TurnJournal:
        """A closed one, that has nothing but these rows to give."""
        made = cls()
        made.put_back(rows)
        made.close()
        return made

    @property
    def is_dirty(self) -> bool:
        """Whether there is something that was not taken yet."""
        return bool(self._changed or self._returned)

    def record(self, event: SessionEvent) -> bool:
        """Take an event down; False once it is closed. It costs what the event holds; nothing is written here."""
        with self._lock:
            if not self._closed:
                self._record(event)
            return not self._closed

    def take(self) -> list[JournalRow]:
        """The rows that are new or changed since the last take, in order."""
        with self._lock:
            rows = self._returned | {position: entry.row() for position, entry in self._changed.items()}
            self._returned, self._changed = {}, {}
        return [rows[position] for position in sorted(rows)]

    def put_back(self, rows: Sequence[JournalRow]) -> None:
        """Rows that were taken and could not be written: the next take gives them again, or newer ones."""
        with self._lock:
            self._returned.update((row.position, row) for row in rows)

    def close(self) -> None:
        """From now on nothing is taken down. What was not taken yet still can be."""
        with self._lock:
            self._closed = True

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
                self._text = None
                self._begin(event)

    def _add_text(self, event: AgentText | AgentThought) -> None:
        if not event.text:
            return
        entry = self._text
        said = None if entry is None else entry.item
        if entry is None or type(said) is not type(event) or said.message_id != event.message_id:
            entry = self._text = self._begin(event)
        entry.text.add(event.text)
        self._changed[entry.position] = entry

    def _change_call(self, event: ToolAnnounced | ToolRequested | ToolFinished) -> None:
        entry = self._calls.get(event.call_id)
        if entry is None:
            self._text = None
            entry = self._begin(CallSoFar(event.call_id, event.name, event.cwd), GrowingText(_MAX_OUTPUT))
            self._calls[event.call_id] = entry
        call = entry.item
        if not isinstance(call, CallSoFar):
            return
        call.name, call.cwd = event.name, event.cwd
        match event:
            case ToolAnnounced():
                call.parent = event.parent
            case ToolRequested():
                call.arguments, call.requested, call.parent, call.by = event.arguments, True, event.parent, event.by
            case ToolFinished():
                call.arguments = call.arguments if call.requested else event.arguments
                call.ran, call.result = event.ran, event.result
                del self._calls[event.call_id]
        self._changed[entry.position] = entry

    def _continue_call(self, event: ToolRunning | ToolOutput) -> None:
        entry = self._calls.get(event.call_id)
        if entry is None or not isinstance(entry.item, CallSoFar):
            return
        entry.item.ran = True
        if isinstance(event, ToolOutput):
            entry.text.add(event.text)
            entry.item.tail = event.tail
        self._changed[entry.position] = entry

    def _replace(self, event: PlanChanged | ContextUsed) -> None:
        """The latest of its kind counts. It has a place of its own in every client, so it parts no text."""
        entry = self._latest.get(type(event)) or self._begin(event)
        entry.item = event
        self._latest[type(event)] = self._changed[entry.position] = entry

    def _begin(self, item: Item, text: GrowingText | None = None) -> _Entry:
        entry = _Entry(self._count, item, self._clock(), text or GrowingText())
        self._count += 1
        self._changed[entry.position] = entry
        return entry
