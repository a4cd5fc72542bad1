"""Up to where a fork from a message goes: what of that message's turn belongs to it.

The ids of what the agent shows are «TURN-KIND-N»: N counts the turn's answers, so N says which answer it is part of.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from agent_core.errors import RequestError, StoreError
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
from agent_core.sessions.archive.transcripts import decoded
from agent_core.sessions.database.bodies import unpack
from agent_core.sessions.events.stored_values import plain_text
from tools.light_dataclass import dataclass

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
    events = list(_events(connection, session_id, turn))
    stored = _messages(connection, session_id, turn)
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


def _messages(connection: sqlite3.Connection, session_id: str, turn: int) -> list[tuple[int, Message]]:
    query = "SELECT id, body FROM messages WHERE session_id = ? AND turn = ? AND hidden != 'undone' ORDER BY id"
    return [(row_id, unpack(body)) for row_id, body in connection.execute(query, (session_id, turn))]


def _events(
    connection: sqlite3.Connection, session_id: str, turn: int
) -> Iterator[tuple[int, Sequence[SessionEvent]]]:
    query = (
        "SELECT position, kind, version, body, open FROM events WHERE session_id = ? AND turn = ? ORDER BY position"
    )
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
