"""Operations of a session's queue as JSON and back, for the files that outlive their process."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, cast

from agent_core.background_tasks import TaskInfo
from agent_core.compaction.engine import Compaction
from agent_core.notifications import News
from agent_core.providers.base import Usage
from agent_core.providers.pricing import Certain, Spent
from agent_core.sessions.checkpoints.file_states import Change, FileState, path_from, stored_path
from agent_core.sessions.checkpoints.writer import CallOfTurn, EndCommand, NoteChanges, TakeBackChanges
from agent_core.sessions.journal import JournalRow, TurnJournal
from agent_core.sessions.operations import (
    AddCompaction,
    AddEvents,
    AddMessage,
    BeginTurn,
    CloseTurn,
    CreateSession,
    DropNews,
    Keep,
    KeepNews,
    KeepTask,
    LeaveOut,
    LiveTurn,
    NameSession,
    Operation,
    TellLeft,
    Withdraw,
)
from agent_core.sessions.records import KeptState, NewSession
from agent_core.sessions.rows import PackedCompaction, PackedMessage, PackedState
from tools.context import TodoItem

_FORMAT = 1
_TYPES: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        *(CreateSession, BeginTurn, AddMessage, AddEvents, Withdraw, AddCompaction, CloseTurn, TellLeft, LeaveOut),
        *(Keep, NameSession, KeepNews, DropNews, KeepTask, CallOfTurn, NoteChanges, EndCommand, TakeBackChanges),
        *(NewSession, PackedMessage, PackedCompaction, Compaction, PackedState, KeptState, TodoItem),
        *(Spent, Certain, Usage, News, TaskInfo, JournalRow, Change, FileState),
    )
}


def coded(session_id: str, operations: Sequence[Operation]) -> bytes:
    """What a session has to store, as JSON."""
    coding = _Coding()
    found = [coding.coded(operation) for operation in operations]
    turns = [coding.coded_turn(turn) for turn in coding.turns]
    return json.dumps({"format": _FORMAT, "session": session_id, "turns": turns, "operations": found}).encode()


def decoded(text: bytes) -> tuple[str, list[Operation]]:
    """The session's id, and what it has to store.

    Raises:
        ValueError, TypeError, KeyError, IndexError, AttributeError: it was not made by `coded`.
    """
    file = json.loads(text)
    if file["format"] != _FORMAT:
        raise ValueError(f"its format is {file['format']!r}, this program knows {_FORMAT}")
    coding = _Coding()
    coding.turns = [coding.decoded_turn(turn) for turn in file["turns"]]
    return file["session"], [coding.decoded(operation) for operation in file["operations"]]


class _Coding:
    """Values as JSON and back. Turns are values that several operations share: they are told apart by number."""

    def __init__(self) -> None:
        self.turns: list[LiveTurn] = []

    def coded(self, value: Any) -> Any:
        """A value as JSON."""
        match value:
            case None | str() | int() | float():
                return value
            case list():
                return [self.coded(one) for one in value]
            case LiveTurn():
                if value not in self.turns:
                    self.turns.append(value)
                return {"turn": self.turns.index(value)}
            case tuple():
                return {"tuple": [self.coded(one) for one in value]}
            case set() | frozenset():
                return {"set": [self.coded(one) for one in value]}
            case Mapping():
                return {"map": [[self.coded(name), self.coded(one)] for name, one in value.items()]}
            case bytes():
                return {"bytes": base64.b64encode(value).decode("ascii")}
            case Path():
                return {"path": stored_path(value)}
        if not is_dataclass(value) or type(value).__name__ not in _TYPES:
            raise TypeError(f"{type(value).__name__} cannot be put into a file")
        return {type(value).__name__: {each.name: self.coded(getattr(value, each.name)) for each in fields(value)}}

    def decoded(self, value: Any) -> Any:
        """The value of such JSON."""
        if isinstance(value, list):
            return [self.decoded(one) for one in value]
        if not isinstance(value, dict):
            return value
        [(kind, held)] = value.items()
        match kind:
            case "turn":
                return self.turns[held]
            case "tuple":
                return tuple(self.decoded(one) for one in held)
            case "set":
                return frozenset(self.decoded(one) for one in held)
            case "map":
                return {self.decoded(name): self.decoded(one) for name, one in held}
            case "bytes":
                return base64.b64decode(held)
            case "path":
                return path_from(held)
        made = _TYPES[kind](**{name: self.decoded(one) for name, one in held.items()})
        if isinstance(made, NoteChanges | EndCommand):
            made.was_tried = True
        return made

    def coded_turn(self, turn: LiveTurn) -> dict[str, Any]:
        """A turn as JSON, with what its journal has to give."""
        rows = turn.journal.take(final=True)
        turn.journal.put_back(rows)
        plain = ("id", "session_id", "began_at", "number", "messages", "visible", "compactions")
        return {name: getattr(turn, name) for name in plain} | {"events": [self.coded(row) for row in rows]}

    def decoded_turn(self, coded: dict[str, Any]) -> LiveTurn:
        """The turn of such JSON."""
        rows = cast("list[JournalRow]", [self.decoded(row) for row in coded.pop("events")])
        return LiveTurn(**coded, journal=TurnJournal.of(rows), stored=None)
