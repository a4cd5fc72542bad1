"""Operations of a session's queue as JSON and back, for the files that outlive their process."""

from __future__ import annotations

import base64
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


class Coding:
    """Values as JSON and back. Turns are values that several operations share: they are told apart by number."""

    def __init__(self) -> None:
        self._turns: list[LiveTurn] = []

    def coded_file(self, session_id: str, operations: Sequence[Operation]) -> dict[str, Any]:
        """What a session has to store."""
        coded = [self._coded(operation) for operation in operations]
        turns = [self._coded_turn(turn) for turn in self._turns]
        return {"format": _FORMAT, "session": session_id, "turns": turns, "operations": coded}

    def decoded_file(self, file: Mapping[str, Any]) -> tuple[str, list[Operation]]:
        """The session's id, and what it has to store.

        Raises:
            ValueError, TypeError, KeyError, IndexError, AttributeError: it was not made by `coded_file`.
        """
        if file["format"] != _FORMAT:
            raise ValueError(f"its format is {file['format']!r}, this program knows {_FORMAT}")
        self._turns = [self._decoded_turn(turn) for turn in file["turns"]]
        return file["session"], [self._decoded(operation) for operation in file["operations"]]

    def _coded(self, value: Any) -> Any:
        match value:
            case None | str() | int() | float():
                return value
            case list():
                return [self._coded(one) for one in value]
            case LiveTurn():
                return {"turn": self._number_of(value)}
            case tuple():
                return {"tuple": [self._coded(one) for one in value]}
            case set() | frozenset():
                return {"set": [self._coded(one) for one in value]}
            case Mapping():
                return {"map": [[self._coded(name), self._coded(one)] for name, one in value.items()]}
            case bytes():
                return {"bytes": base64.b64encode(value).decode("ascii")}
            case Path():
                return {"path": stored_path(value)}
        if not is_dataclass(value) or type(value).__name__ not in _TYPES:
            raise TypeError(f"{type(value).__name__} cannot be put into a file")
        return {type(value).__name__: {each.name: self._coded(getattr(value, each.name)) for each in fields(value)}}

    def _decoded(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._decoded(one) for one in value]
        if not isinstance(value, dict):
            return value
        [(kind, held)] = value.items()
        match kind:
            case "turn":
                return self._turns[held]
            case "tuple":
                return tuple(self._decoded(one) for one in held)
            case "set":
                return frozenset(self._decoded(one) for one in held)
            case "map":
                return {self._decoded(name): self._decoded(one) for name, one in held}
            case "bytes":
                return base64.b64decode(held)
            case "path":
                return path_from(held)
        made = _TYPES[kind](**{name: self._decoded(one) for name, one in held.items()})
        if isinstance(made, NoteChanges | EndCommand):
            made.was_tried = True
        return made

    def _number_of(self, turn: LiveTurn) -> int:
        if turn not in self._turns:
            self._turns.append(turn)
        return self._turns.index(turn)

    def _coded_turn(self, turn: LiveTurn) -> dict[str, Any]:
        rows = turn.journal.take(final=True)
        turn.journal.put_back(rows)
        plain = ("id", "session_id", "began_at", "number", "messages", "visible", "compactions")
        return {name: getattr(turn, name) for name in plain} | {"events": [self._coded(row) for row in rows]}

    def _decoded_turn(self, coded: dict[str, Any]) -> LiveTurn:
        rows = cast("list[JournalRow]", [self._decoded(row) for row in coded.pop("events")])
        return LiveTurn(**coded, journal=TurnJournal.of(rows), stored=None)
