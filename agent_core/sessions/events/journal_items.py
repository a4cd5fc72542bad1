"""What a journal holds of an item until it is written: each kind grows in its own way."""

from __future__ import annotations

from dataclasses import field
from typing import Protocol

from agent_core.events import (
    AgentText,
    AgentThought,
    ContextCompacted,
    ContextUsed,
    Noticed,
    PlanChanged,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
    UserSaid,
)
from agent_core.sessions.events.call_codec import CallSoFar
from agent_core.sessions.events.event_codec import Item
from agent_core.sessions.events.growing_text import GrowingText
from tools.light_dataclass import dataclass

_MAX_OUTPUT = 1_000_000
"""Characters of one call's live output that are kept: a command may print for hours."""


class Content(Protocol):
    """An item as it stands."""

    @property
    def open(self) -> bool:
        """It is a tool call that has not ended."""
        ...

    def __len__(self) -> int:
        """About how many characters of it grow."""
        ...

    def item(self) -> Item:
        """What is known of it now."""
        ...


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
