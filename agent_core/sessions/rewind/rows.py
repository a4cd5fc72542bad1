"""Turns, their messages, and the rows of rewinds.

A turn's `undone` is 0 while it is in view. Of a turn that was taken back it is one more than the number of messages
that had been withdrawn from it: those are its first ones, so a redo can tell them from the others again.

A rewind's `undone` is 0 while it is in effect, 1 after a redo has taken it back, and 2 until all of it was done.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from agent_core.errors import RequestError, StoreError, UnknownSession
from agent_core.messages import said_in, text_of
from agent_core.sessions.database.bodies import unpack
from agent_core.sessions.live.message_rows import IN_HISTORY
from agent_core.sessions.live.prompts_left import said_first
from agent_core.sessions.records import COMPACTED, RESET, TurnRecord
from agent_core.sessions.rewind.records import RewoundTurn
from tools.light_dataclass import dataclass

_IN_EFFECT, _TAKEN_BACK, _UNFINISHED = 0, 1, 2
_PROMPT_CHARS = 200
_TYPED: dict[str | None, str] = {RESET: "/reset", COMPACTED: "/compact"}
_AMONG = "IN (SELECT value FROM json_each(?))"
_TURN = "SELECT number, id, began_at, ended_at, outcome, note, undone FROM turns"


@dataclass(frozen=True, slots=True)
class Rewind:
    """A stored undo of the turns `first` … `last` that were in view then."""

    id: int
    first: int
    last: int


def turns_to_undo(connection: sqlite3.Connection, session_id: str, count: int) -> list[TurnRecord]:
    """The last `count` turns in view, or all there are, newest first; commands do not count.

    Raises:
        UnknownSession: there is no such session.
    """
    if connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is None:
        raise UnknownSession(session_id)
    rows = connection.execute(
        f"{_TURN} WHERE session_id = ? AND undone = 0 AND outcome IS NOT 'command' ORDER BY number DESC LIMIT ?",
        (session_id, count),
    )
    return [_turn(row) for row in rows]


def rewind_to_redo(connection: sqlite3.Connection, session_id: str) -> Rewind:
    """The undo that a redo would take back now.

    Raises:
        UnknownSession: there is no such session. RequestError: there is none, or a turn has begun since.
    """
    newest = turns_to_undo(connection, session_id, 1)
    row = connection.execute(
        "SELECT id, first_turn, last_turn FROM rewinds WHERE session_id = ? AND undone = ? ORDER BY id DESC LIMIT 1",
        (session_id, _IN_EFFECT),
    ).fetchone()
    if row is None:
        raise RequestError("There is nothing to redo: nothing of this session was taken back.")
    found = Rewind(*row)
    if newest and newest[0].number > found.last:
        raise RequestError(
            "There is nothing to redo: the conversation has gone on since the last undo, so the turns that were "
            "taken back do not fit any more."
        )
    return found


def turns_of_rewind(connection: sqlite3.Connection, session_id: str, rewind: Rewind) -> list[TurnRecord]:
    """The turns that a rewind in effect took back, newest first."""
    # Turns in its range that were not in view then had been taken back by an earlier one, which still is in effect.
    rows = connection.execute(
        f"{_TURN} WHERE session_id = ? AND undone != 0 AND number BETWEEN ? AND ? AND NOT EXISTS ("  # noqa: S608
        "SELECT 1 FROM rewinds WHERE session_id = turns.session_id AND undone = ? AND id < ?"
        " AND turns.number BETWEEN first_turn AND last_turn) ORDER BY number DESC",
        (session_id, rewind.first, rewind.last, _IN_EFFECT, rewind.id),
    )
    return [_turn(row) for row in rows]


def with_prompts(
    connection: sqlite3.Connection, session_id: str, turns: Sequence[TurnRecord]
) -> tuple[RewoundTurn, ...]:
    """The turns with their prompts' first lines."""
    prompts: dict[int, str] = {}
    rows = connection.execute(
        f"SELECT turn, body FROM messages WHERE session_id = ? AND role = 'user' AND turn {_AMONG} ORDER BY id",  # noqa: S608
        (session_id, _numbers(turns)),
    )
    for number, body in rows:
        if number not in prompts and (line := _first_line(body)) is not None:
            prompts[number] = line
    for turn in turns:
        if turn.number not in prompts:  # the model was not told of it: a command, or what broke off at once
            said = text_of(said_first(connection, session_id, turn.number))
            prompts[turn.number] = _TYPED.get(turn.outcome) or _line_of(said)
    return tuple(RewoundTurn(turn, prompts[turn.number]) for turn in turns)


def begin_rewind(connection: sqlite3.Connection, session_id: str, turns: Sequence[TurnRecord], now: float) -> int:
    """Insert a rewind that is not finished, or go on with one of the same turns that was broken off; its id."""
    first, last = turns[-1].number, turns[0].number
    row = connection.execute(
        "SELECT id, first_turn, last_turn, undone FROM rewinds WHERE session_id = ? ORDER BY id DESC LIMIT 1",
        (session_id,),
    ).fetchone()
    if row is not None and tuple(row[1:]) == (first, last, _UNFINISHED):
        return int(row[0])
    cursor = connection.execute(
        "INSERT INTO rewinds (session_id, first_turn, last_turn, undone, created_at) VALUES (?, ?, ?, ?, ?)",
        (session_id, first, last, _UNFINISHED, now),
    )
    return cursor.lastrowid or 0


def finish_undo(
    connection: sqlite3.Connection, session_id: str, turns: Sequence[TurnRecord], rewind_id: int, now: float
) -> None:
    """Take the turns and their messages out of view."""
    numbers = _numbers(turns)
    connection.execute(
        "UPDATE turns SET undone = 1 + (SELECT count(*) FROM messages WHERE session_id = turns.session_id AND turn ="  # noqa: S608
        f" turns.number AND hidden = 'withdrawn') WHERE session_id = ? AND undone = 0 AND number {_AMONG}",
        (session_id, numbers),
    )
    connection.execute(
        f"UPDATE messages SET hidden = 'undone' WHERE session_id = ? AND turn {_AMONG}",  # noqa: S608
        (session_id, numbers),
    )
    _settle(connection, session_id, rewind_id, _IN_EFFECT, now)


def finish_redo(
    connection: sqlite3.Connection, session_id: str, turns: Sequence[TurnRecord], rewind_id: int, now: float
) -> None:
    """Bring the turns and their messages back into view; what was withdrawn stays withdrawn."""
    numbers = _numbers(turns)
    connection.execute(
        "WITH numbered AS (SELECT messages.id AS id, row_number() OVER (PARTITION BY messages.turn ORDER BY"  # noqa: S608
        " messages.id) AS place, turns.undone - 1 AS withdrawn FROM messages JOIN turns ON turns.session_id ="
        " messages.session_id AND turns.number = messages.turn WHERE messages.session_id = ? AND messages.turn"
        f" {_AMONG}) UPDATE messages SET hidden = CASE WHEN numbered.place <= numbered.withdrawn THEN 'withdrawn'"
        " ELSE '' END FROM numbered WHERE messages.id = numbered.id",
        (session_id, numbers),
    )
    connection.execute(
        f"UPDATE turns SET undone = 0 WHERE session_id = ? AND number {_AMONG}",  # noqa: S608
        (session_id, numbers),
    )
    _settle(connection, session_id, rewind_id, _TAKEN_BACK, now)


def messages_in_history(connection: sqlite3.Connection, session_id: str) -> int:
    """How many messages the model's history has."""
    query = f"SELECT count(*) FROM messages WHERE {IN_HISTORY}"  # noqa: S608 - a constant
    return int(connection.execute(query, (session_id,)).fetchone()[0])


def _settle(connection: sqlite3.Connection, session_id: str, rewind_id: int, state: int, now: float) -> None:
    connection.execute("UPDATE rewinds SET undone = ? WHERE id = ?", (state, rewind_id))
    connection.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (now, session_id))


def _numbers(turns: Sequence[TurnRecord]) -> str:
    return json.dumps([turn.number for turn in turns])


def _turn(row: Sequence[Any]) -> TurnRecord:
    number, turn_id, began_at, ended_at, outcome, note, undone = row
    return TurnRecord(number, turn_id, began_at, ended_at, outcome, note, bool(undone))


def _first_line(body: str | bytes) -> str | None:
    """The first line of a message that the person wrote; None for another's."""
    try:
        message = unpack(body)
        if message.get("injected"):
            return None
        text = text_of(said_in(message))
    except (StoreError, AttributeError, KeyError, TypeError):
        return ""  # a damaged message must not keep a person from taking it back
    return _line_of(text)


def _line_of(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _PROMPT_CHARS else line[: _PROMPT_CHARS - 1] + "…"
