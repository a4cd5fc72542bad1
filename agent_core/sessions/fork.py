"""Reading stored sessions from their rows, and new sessions from earlier ones: all of it, or up to a message."""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, Literal, cast

from agent_core.errors import RequestError, StoreError, UnknownSession
from agent_core.events import (
    AgentText,
    AgentThought,
    ContextUsed,
    PlanChanged,
    SessionEvent,
    ToolAnnounced,
    ToolRequested,
    UserSaid,
)
from agent_core.messages import Message
from agent_core.sessions.database import Database, unpack
from agent_core.sessions.event_codec import decode, plain_text, unreadable
from agent_core.sessions.leases import holder_of, is_alive
from agent_core.sessions.records import NewSession, SessionRecord, StoredEvent, StoredMessage, Transcript
from agent_core.sessions.rows import (
    ARCHIVED,
    DELETING,
    IN_HISTORY,
    TURN_COLUMNS,
    Row,
    copy_compactions,
    options_text,
    path_from,
    path_text,
    readable_spent,
    roots_text,
    turn_from,
)
from agent_core.sessions.titles import clean_title
from tools.light_dataclass import dataclass

# Records of sessions, from the table `sessions`.

COLUMNS = (
    "s.id, s.cwd, s.roots, s.source, s.mode, s.model, s.options, s.title, s.parent_id, s.root_id, s.created_at,"
    " s.updated_at, s.archived, (SELECT count(*) FROM turns WHERE session_id = s.id AND undone = 0"
    " AND outcome IS NOT 'command'), s.requests, s.usage, s.cost, s.holder, s.holder_token, s.holder_until"
)
"""What `record_from` needs, of sessions AS s."""

_YEAR_10000 = 253_402_300_800

CAREFUL_MODE = "default"
"""The mode of a session whose options are damaged: they may have asked for more care than its mode does."""


def record_from(row: Row) -> SessionRecord:
    """The record of a row with COLUMNS. What cannot be read of it counts as not there: it hides no session."""
    (session_id, cwd, roots, source, mode, model, options, title, parent_id, root_id, *rest) = row
    (created_at, updated_at, archived, turns, requests, usage, cost, *lease) = rest
    chosen, places = _loaded(options, dict), _loaded(roots, list)
    whole = chosen is not None and places is not None and is_moment(created_at) and is_moment(updated_at)
    return SessionRecord(
        id=session_id,
        cwd=path_from(cwd),
        roots=tuple(str(root) for root in places or ()),
        source=source,
        mode=mode if chosen is not None else CAREFUL_MODE,
        model=model,
        options=chosen or {},
        title=title,
        parent_id=parent_id,
        root_id=root_id,
        created_at=created_at if is_moment(created_at) else 0.0,
        updated_at=updated_at if is_moment(updated_at) else 0.0,
        archived=archived == ARCHIVED,
        turns=turns,
        spent=readable_spent(requests, usage, cost),
        holder=holder_of(*lease),
        is_damaged=not whole,
    )


def is_moment(seconds: float) -> bool:
    """Whether it is a time since the epoch that a calendar has."""
    return 0 <= seconds < _YEAR_10000


def read_record(connection: sqlite3.Connection, session_id: str) -> SessionRecord:
    """A session's record.

    Raises:
        UnknownSession: there is none, or it is being deleted.
    """
    sql = f"SELECT {COLUMNS} FROM sessions AS s WHERE s.id = ? AND s.archived < {DELETING}"  # noqa: S608 - constants
    row = connection.execute(sql, (plain_text(session_id),)).fetchone()
    if row is None:
        raise UnknownSession(session_id)
    return record_from(row)


def _loaded(text: str | None, kind: type[Any]) -> Any:
    """The JSON value in `text` if it is of `kind`; None otherwise."""
    try:
        value = json.loads(text) if text else None
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, kind) else None


# Everything of a session that is in view, from its rows.

log = logging.getLogger(__name__)

_TURNS = f"SELECT {TURN_COLUMNS} FROM turns WHERE session_id = ? ORDER BY number"  # noqa: S608 - a constant
_MESSAGES = (
    "SELECT id, turn, body, created_at, hidden FROM messages WHERE session_id = ? AND hidden != 'undone' ORDER BY id"
)
_EVENTS = (
    "SELECT turn, position, kind, version, body, open, created_at FROM events"
    " WHERE session_id = ? ORDER BY turn, position"
)


def read_transcript(database: Database, session_id: str) -> Transcript:
    """Everything of a session that is in view: nothing undone; withdrawn messages are in it, marked.

    What is damaged makes no session unusable: a note stands in for an event, a message is left out, and the log has a
    line about them.

    Raises:
        UnknownSession: there is no such session. StoreError: it cannot be read.
    """
    with database.read() as connection:
        session = read_record(connection, session_id)
        turns = [turn_from(row) for row in connection.execute(_TURNS, (session_id,))]
        messages = connection.execute(_MESSAGES, (session_id,)).fetchall()
        events = connection.execute(_EVENTS, (session_id,)).fetchall()
    # What was saved from a damaged database may have lost its turn's row; it is in view nevertheless.
    undone = frozenset(turn.number for turn in turns if turn.undone)
    return Transcript(
        session,
        tuple(turn for turn in turns if not turn.undone),
        tuple(_messages([row for row in messages if row[1] not in undone], session_id)),
        tuple(_events([row for row in events if row[0] not in undone], session_id)),
    )


def decoded(kind: str, version: int, body: str | bytes) -> tuple[SessionEvent, ...]:
    """The events of a row.

    Raises:
        StoreError: it is damaged.
    """
    value = unpack(body)
    if not isinstance(value, dict):
        raise StoreError("An item of the session's history is damaged. Run `hermes-acp doctor`.", kind="corrupt")
    return decode(kind, version, value)


def _messages(rows: Sequence[Row], session_id: str) -> Iterator[StoredMessage]:
    damaged = 0
    for message_id, turn, body, created_at, hidden in rows:
        message = _message(body)
        if message is None:
            damaged += 1
        else:
            yield StoredMessage(message_id, turn, message, created_at, hidden)
    if damaged:
        log.warning("%d messages of session %s are damaged and left out", damaged, session_id)


def _message(body: str | bytes) -> Message | None:
    try:
        value: Any = unpack(body)
    except StoreError:
        return None
    return cast("Message", value) if isinstance(value, dict) and "role" in value else None


def _events(rows: Sequence[Row], session_id: str) -> Iterator[StoredEvent]:
    damaged = 0
    for turn, position, kind, version, body, is_open, created_at in rows:
        try:
            events = decoded(kind, version, body)
        except StoreError:
            damaged += 1
            events = unreadable()
        yield StoredEvent(turn, position, created_at, events, bool(is_open))
    if damaged:
        log.warning("%d items of session %s are damaged; notes stand in for them", damaged, session_id)


# Up to where a fork from a message goes: what of that message's turn belongs to it.
# The ids of what the agent shows are `TURN-KIND-N`: N counts the turn's answers, so it says which answer it is part
# of.

_PROMPT = re.compile(r"(?P<turn>.+)-(?:prompt|user-1)")
_ANSWER = re.compile(r"(?P<turn>.+)-(?:message|thought|note|status|question)-(?P<number>[1-9]\d{0,8})")
_ENDING = re.compile(r"(?P<turn>.+)-(?:interrupted|failed)")

_Place = Literal["before", "after", "latest", "anywhere"]


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """Turns before `turn` are in the fork whole; of that turn, what is named here. Nothing: the turn is not in it.

    Attributes:
        last_message: row id; messages of the turn up to this one.
        positions: of the turn's events.
    """

    turn: int
    last_message: int | None = None
    positions: tuple[int, ...] = ()


def fork_point(connection: sqlite3.Connection, session_id: str, until: str) -> ForkPoint:
    """The point that the message id `until` names: before a prompt of the person; after an answer of the agent, with
    the results of the tools that it called.

    Raises:
        RequestError: there is no such message in view.
        StoreError: the turn's messages are damaged.
    """
    until = plain_text(until)
    if (found := _PROMPT.fullmatch(until)) is not None:
        return ForkPoint(_turn(connection, session_id, found["turn"], until))
    if (found := _ENDING.fullmatch(until)) is not None:
        return ForkPoint(_turn(connection, session_id, found["turn"], until) + 1)
    if (found := _ANSWER.fullmatch(until)) is None:
        raise _unknown(until)
    turn = _turn(connection, session_id, found["turn"], until)
    events = list(_events_of_turn(connection, session_id, turn))
    stored = _messages_of_turn(connection, session_id, turn)
    messages = [message for _, message in stored]
    start = _prompt_index(messages) if events else 0
    end = _end_of_answer(messages, start, int(found["number"]))
    if end is None and not any(_id_of(event) == until for _, shown in events for event in shown):
        raise _unknown(until)
    if end is None or end == len(messages):
        return ForkPoint(turn + 1)  # the whole turn
    calls = {call["id"] for message in messages[start:end] for call in message.get("tool_calls", ())}
    return ForkPoint(turn, stored[end - 1][0], tuple(_positions_before(events, int(found["number"]), calls)))


def _turn(connection: sqlite3.Connection, session_id: str, turn_id: str, until: str) -> int:
    query = "SELECT max(number) FROM turns WHERE session_id = ? AND id = ? AND undone = 0"
    number: int | None = connection.execute(query, (session_id, turn_id)).fetchone()[0]
    if number is None:
        raise _unknown(until)
    return number


def _messages_of_turn(connection: sqlite3.Connection, session_id: str, turn: int) -> list[tuple[int, Message]]:
    query = "SELECT id, body FROM messages WHERE session_id = ? AND turn = ? AND hidden != 'undone' ORDER BY id"
    return [(row_id, unpack(body)) for row_id, body in connection.execute(query, (session_id, turn))]


def _events_of_turn(
    connection: sqlite3.Connection, session_id: str, turn: int
) -> Iterator[tuple[int, Sequence[SessionEvent]]]:
    query = "SELECT position, kind, version, body FROM events WHERE session_id = ? AND turn = ? ORDER BY position"
    for position, *row in connection.execute(query, (session_id, turn)):
        try:
            yield position, decoded(*row)
        except StoreError:
            yield position, ()


def _prompt_index(messages: Sequence[Message]) -> int:
    """Where the person's message is: what stands before it closes an earlier turn off."""
    said = (index for index, message in enumerate(messages) if message["role"] == "user")
    return next((index for index in said if not messages[index].get("injected")), 0)


def _end_of_answer(messages: Sequence[Message], start: int, number: int) -> int | None:
    """The index after an answer and the results of its calls; None where there are not so many answers."""
    answers = 0
    for index in range(start, len(messages)):
        message = messages[index]
        answers += message["role"] == "assistant" and not message.get("unfinished")
        if answers == number:
            end = index + 1
            while end < len(messages) and messages[end]["role"] == "tool":
                end += 1
            return end
    return None


def _positions_before(
    events: Iterable[tuple[int, Sequence[SessionEvent]]], number: int, calls: set[str]
) -> Iterator[int]:
    """The events up to an answer and its calls. A plan and a use of the window are as of the turn's end: left out."""
    is_past = False
    for position, shown in events:
        place = _place(shown, number, calls)
        is_past = is_past or place == "after"
        if place == "before" or (place == "anywhere" and not is_past):
            yield position


def _place(shown: Sequence[SessionEvent], number: int, calls: set[str]) -> _Place:
    for event in shown:
        match event:
            case UserSaid():
                return "before"
            case PlanChanged() | ContextUsed():
                return "latest"
            case ToolAnnounced() | ToolRequested():
                return "before" if event.call_id in calls else "after"
            case AgentText() | AgentThought() if (found := _ANSWER.fullmatch(event.message_id)) is not None:
                return "before" if int(found["number"]) <= number else "after"
    return "anywhere"


def _id_of(event: SessionEvent) -> str | None:
    return event.message_id if isinstance(event, AgentText | AgentThought) else None


def _unknown(until: str) -> RequestError:
    return RequestError(
        f"The session was not forked: it has no message {until!r} that is in view. Load it again and take a message "
        "id from there, or fork the whole session."
    )


# A new session from an earlier one: all of it, or what was said up to a certain message.
# Everything is copied, so that neither session can change the other. Message ids of clients begin with the turn's id
# and need to be unique within a session only, so turns keep theirs. Earlier contents of files are not copied: the
# fork has changed no file, and must not take back what the other session did.

_FORK_MARK = re.compile(r" \(fork(?: \d+)?\)$")
_BEYOND = 2**62

_COPY_SESSION = """
INSERT INTO sessions (
    id, cwd, roots, source, mode, model, options, title, title_source, parent_id, root_id, kept, system_hash,
    tools_hash, requests, usage, cost, created_at, updated_at, turns_begun
)
SELECT
    :id, :cwd, :roots, :source, :mode, coalesce(:model, model), :options, :title, title_source, id, root_id, kept,
    CASE WHEN cwd = :cwd AND roots = :roots THEN system_hash END, tools_hash, requests, usage, cost, :now, :now, 0
FROM sessions WHERE id = :from
"""
# A turn that runs goes on in the other session alone; one that broke off has broken off in both.
_COPY_TURNS = """
INSERT INTO turns (session_id, number, id, began_at, ended_at, outcome, note)
SELECT
    :id, number, id, began_at,
    CASE WHEN number = :partial OR (ended_at IS NULL AND number = :running) THEN :now ELSE ended_at END,
    CASE WHEN number = :partial OR (ended_at IS NULL AND number = :running) THEN 'cancelled' ELSE outcome END,
    CASE WHEN number = :partial THEN '' ELSE note END
FROM turns
WHERE session_id = :from AND undone = 0 AND (number < :turn OR number = :partial) ORDER BY number
"""
_COPY_MESSAGES = """
INSERT INTO messages (session_id, turn, role, body, hidden, created_at)
SELECT :id, turn, role, body, hidden, created_at FROM messages
WHERE session_id = :from AND hidden != 'undone' AND turn IN (SELECT number FROM turns WHERE session_id = :id)
    AND (turn < :turn OR id <= :last_message) ORDER BY id
"""
_COPY_EVENTS = """
INSERT INTO events (session_id, turn, position, kind, version, body, open, created_at)
SELECT :id, turn, position, kind, version, body, open, created_at FROM events
WHERE session_id = :from AND turn IN (SELECT number FROM turns WHERE session_id = :id)
    AND (turn < :turn OR position IN (SELECT value FROM json_each(:positions))) ORDER BY turn, position
"""
_COUNT_TURNS = """
UPDATE sessions SET turns_begun = coalesce((SELECT max(number) FROM turns WHERE session_id = :id), 0) WHERE id = :id
"""


def copy_session(
    connection: sqlite3.Connection, session_id: str, new: NewSession, until: str | None, now: float
) -> None:
    """Make the session `new` of what is in view of another, within a write transaction.

    What the session keeps comes along: plan, tools, what was spent so far, and the system prompt where directory and
    roots are the same. Turns that were taken back do not. A turn that runs is copied as far as it is stored, and has
    ended in the fork. With `until`, the plan is that of the turns before the message's.

    Args:
        new: its model may be None: the other's. Its title is the other's, with « (fork)».
        until: a message id: the fork ends before that prompt of the person, or after that answer of the agent and
            the results of the tools it called. None copies all.

    Raises:
        UnknownSession: there is no session `session_id`.
        RequestError: there is a session `new.id` already, or no message `until`.
        StoreError: what must be read for it is damaged.
    """
    source = read_record(connection, session_id)
    if connection.execute("SELECT 1 FROM sessions WHERE id = ?", (new.id,)).fetchone() is not None:
        raise RequestError(
            f"The session was not forked: there is one with the id {new.id!r} already. Use another id."
        )
    point = fork_point(connection, session_id, until) if until is not None else ForkPoint(_BEYOND)
    values = _values(connection, source, new, point, now)
    for statement in (_COPY_SESSION, _COPY_TURNS, _COPY_MESSAGES, _COPY_EVENTS, _COUNT_TURNS):
        connection.execute(statement, values)
    copy_compactions(connection, session_id, new.id)
    if until is not None:
        _shorten_kept(connection, new.id)


def fork_title(title: str | None, earlier: int) -> str | None:
    """The title of a fork: «Title (fork)», then «Title (fork 2)»; None for a session without a title.

    Args:
        title: of the session that is forked, which may be a fork itself.
        earlier: how many forks there are in its line.
    """
    if title is None:
        return None
    mark = f" (fork {earlier + 1})" if earlier else " (fork)"
    return clean_title(_FORK_MARK.sub("", title), room=len(mark)) + mark


def _values(
    connection: sqlite3.Connection, source: SessionRecord, new: NewSession, point: ForkPoint, now: float
) -> dict[str, Any]:
    forks = "SELECT count(*) FROM sessions WHERE root_id = ? AND id != root_id AND source != 'sub-agent'"
    newest = connection.execute("SELECT max(number) FROM turns WHERE session_id = ?", (source.id,)).fetchone()[0]
    return {
        "from": source.id,
        "id": new.id,
        "cwd": path_text(new.cwd),
        "roots": roots_text(new.roots),
        "source": plain_text(new.source),
        "mode": new.mode,
        "model": new.model,
        "options": options_text(new.options),
        "title": fork_title(source.title, connection.execute(forks, (source.root_id,)).fetchone()[0]),
        "now": now,
        "running": newest if source.holder is not None and is_alive(source.holder, now) else None,
        "turn": point.turn,
        "partial": point.turn if point.last_message is not None else None,
        "last_message": point.last_message,
        "positions": json.dumps(point.positions),
    }


def _shorten_kept(connection: sqlite3.Connection, session_id: str) -> None:
    """What a fork keeps must not speak of what it does not have: a later plan, positions beyond its end."""
    (text,) = connection.execute("SELECT kept FROM sessions WHERE id = ?", (session_id,)).fetchone()
    count = f"SELECT count(*) FROM messages WHERE {IN_HISTORY}"  # noqa: S608 - a constant
    (messages,) = connection.execute(count, (session_id,)).fetchone()
    try:
        kept = json.loads(text)
        if not kept:
            return
        kept["plan"] = _last_plan(connection, session_id)
        for position in ("sealed_before", "images_before"):
            kept["omissions"][position] = min(kept["omissions"][position], messages)
    except (ValueError, TypeError, KeyError):
        kept = {}  # it could not be read in the other session either; the fork begins without
    connection.execute("UPDATE sessions SET kept = ? WHERE id = ?", (json.dumps(kept), session_id))


def _last_plan(connection: sqlite3.Connection, session_id: str) -> list[dict[str, Any]]:
    """The plan as the session's events have it last, as it is kept; empty where it cannot be read."""
    query = (
        "SELECT kind, version, body FROM events WHERE session_id = ? AND kind = 'plan'"
        " ORDER BY turn DESC, position DESC LIMIT 1"
    )
    row = connection.execute(query, (session_id,)).fetchone()
    try:
        events = decoded(*row) if row is not None else ()
    except StoreError:
        return []
    return [asdict(item) for event in events if isinstance(event, PlanChanged) for item in event.items]
