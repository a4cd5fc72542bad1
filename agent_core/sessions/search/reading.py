"""Reads pieces of stored sessions: what the person, the model and its tools said, each message's text bounded."""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from agent_core.errors import StoreError
from agent_core.sessions.archive.session_rows import DELETING
from agent_core.sessions.database.bodies import unpack
from agent_core.sessions.search.excerpts import around_match, beginning, told
from tools.agent_ports import RecalledMessage, RecalledSession
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

FIRST, LAST = 0, -1
"""In place of a message's id: the session's beginning, its end."""

_DAMAGED = "[This message is damaged and cannot be read.]"
_MESSAGES = (
    "SELECT id, role, body, created_at FROM messages WHERE session_id = ? AND hidden = '' AND role <> 'system'"
)
_BACKWARDS = f"{_MESSAGES} AND id <= ? ORDER BY id DESC"
_FORWARDS = f"{_MESSAGES} AND id > ? ORDER BY id"
_ANSWERS = (
    f"{_MESSAGES} AND role = 'assistant'"  # noqa: S608 - a constant
    " AND turn = (SELECT turn FROM messages WHERE session_id = ? AND id = ?) ORDER BY id DESC"
)
_BEYOND_ALL = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Bounds:
    """Characters told of a message that was found or asked for, and of any other."""

    hit: int
    other: int


@dataclass(frozen=True, slots=True)
class Marks:
    """Which messages are hits, and what to look for in them."""

    hits: frozenset[int] = frozenset()
    pattern: re.Pattern[str] | None = None


_NO_MARKS = Marks()


def session(
    connection: sqlite3.Connection, session_id: str, messages: tuple[RecalledMessage, ...], hits: int = 0
) -> RecalledSession | None:
    """What is told of a session with `messages` of it; None where there is no such session."""
    row = connection.execute(
        "SELECT coalesce(title, ''), cwd, updated_at FROM sessions WHERE id = ? AND archived < ?",
        (session_id, DELETING),
    ).fetchone()
    if row is None:
        return None
    title, cwd, updated_at = row
    return RecalledSession(session_id, title, cwd, updated_at, messages, hits)


def window(
    connection: sqlite3.Connection,
    session_id: str,
    message_id: int,
    size: int,
    bounds: Bounds,
    *,
    marks: Marks = _NO_MARKS,
) -> tuple[RecalledMessage, ...]:
    """The message with up to `size` others before and after it; `size` messages for FIRST and LAST.

    What the person took back and what the agent put in by itself is passed over.
    """
    before, after = size + 1, size
    if message_id == FIRST:
        before = 0
    if message_id == LAST:
        before, after, message_id = size, 0, _BEYOND_ALL
    earlier = _taken(connection.execute(_BACKWARDS, (session_id, message_id)), before, bounds, marks)
    later = _taken(connection.execute(_FORWARDS, (session_id, message_id)), after, bounds, marks)
    return (*reversed(earlier), *later)


def with_answer(
    connection: sqlite3.Connection,
    session_id: str,
    message_id: int,
    messages: tuple[RecalledMessage, ...],
    bounds: Bounds,
) -> tuple[RecalledMessage, ...]:
    """The messages around one, with the answer that ended its turn, however far that is from it."""
    row = connection.execute(_ANSWERS, (session_id, session_id, message_id)).fetchone()
    found = _taken([row] if row is not None else [], 1, Bounds(bounds.hit, bounds.hit), _NO_MARKS)
    if not found or _has_calls(row[2]) or any(each.id == found[0].id and each.is_hit for each in messages):
        return messages
    others = (message for message in messages if message.id != found[0].id)
    return tuple(sorted((*others, replace(found[0], is_answer=True)), key=lambda message: message.id))


def _taken(rows: Iterable[tuple[Any, ...]], count: int, bounds: Bounds, marks: Marks) -> list[RecalledMessage]:
    taken: list[RecalledMessage] = []
    if count == 0:
        return taken
    for message_id, role, body, created_at in rows:
        text = _text(message_id, body)
        if not text:
            continue
        is_hit = message_id in marks.hits
        limit = bounds.hit if is_hit else bounds.other
        shown = around_match(text, marks.pattern, limit) if is_hit and marks.pattern else beginning(text, limit)
        taken.append(RecalledMessage(message_id, role, shown, created_at, is_hit))
        if len(taken) == count:
            break
    return taken


def _has_calls(body: Any) -> bool:
    """Whether it is no answer: the turn went on, or broke off."""
    try:
        return bool(unpack(body).get("tool_calls"))
    except (StoreError, AttributeError):
        return False


def _text(message_id: int, body: Any) -> str:
    try:
        message = unpack(body)
        return "" if message.get("injected") else told(message)
    except (StoreError, KeyError, TypeError, AttributeError):
        log.warning("the stored message %d cannot be read", message_id, exc_info=True)
        return _DAMAGED
