"""Rows of the table `messages` as the live conversation writes and reads them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, cast

from agent_core.errors import StoreError
from agent_core.messages import Message
from agent_core.sessions.database.bodies import pack, unpack, unpack_all
from tools.light_dataclass import dataclass

IN_HISTORY = (
    "session_id = ?1 AND hidden = '' AND turn > coalesce((SELECT max(number) FROM turns"
    " WHERE session_id = ?1 AND outcome = 'reset' AND undone = 0), -1)"
)
"""Of messages, those of session ?1 that the model is shown: where it began anew, what came after that."""


_ROLES = frozenset({"system", "user", "assistant", "tool"})
_PARTS = {"text": "text", "image_url": "image_url", "input_audio": "input_audio", "file": "file"}


@dataclass(frozen=True, slots=True, eq=False)
class PackedMessage:
    """A message ready to be stored. `created_at` is in seconds since the epoch; `news` are told with it."""

    role: str
    body: str | bytes
    created_at: float
    news: tuple[str, ...] = ()


def packed(message: Message, now: float) -> PackedMessage:
    """`message` as it will lie in its row.

    Raises:
        TypeError: it holds what is no JSON.
    """
    return PackedMessage(message["role"], pack(message), now, tuple(message.get("news", ())))


def insert_message(connection: sqlite3.Connection, session_id: str, turn: int, message: PackedMessage) -> None:
    """Add a message to a turn."""
    connection.execute(
        "INSERT INTO messages (session_id, turn, role, body, created_at) VALUES (?, ?, ?, ?, ?)",
        (session_id, turn, message.role, message.body, message.created_at),
    )


def count_messages(connection: sqlite3.Connection, session_id: str, turn: int) -> int:
    """How many messages a turn has, hidden ones too."""
    query = "SELECT count(*) FROM messages WHERE session_id = ? AND turn = ?"
    count: int = connection.execute(query, (session_id, turn)).fetchone()[0]
    return count


def withdraw_messages(connection: sqlite3.Connection, session_id: str, turn: int, count: int) -> None:
    """Take a turn's first `count` messages out of the model's history."""
    connection.execute(
        "UPDATE messages SET hidden = 'withdrawn' WHERE hidden = '' AND id IN"
        " (SELECT id FROM messages WHERE session_id = ? AND turn = ? ORDER BY id LIMIT ?)",
        (session_id, turn, count),
    )


def read_bodies(connection: sqlite3.Connection, session_id: str) -> list[str | bytes]:
    """The model's history as it lies in its rows, in order."""
    query = f"SELECT body FROM messages WHERE {IN_HISTORY} ORDER BY id"  # noqa: S608 - a constant
    return [body for (body,) in connection.execute(query, (session_id,))]


def unpack_messages(bodies: Sequence[str | bytes]) -> list[Message]:
    """The messages of such rows.

    Raises:
        StoreError: one is damaged (kind corrupt).
    """
    return [_message(value) for value in unpack_all(bodies)]


def unpack_message(body: str | bytes) -> Message:
    """The message of one such row.

    Raises:
        StoreError: it is damaged (kind corrupt).
    """
    return _message(unpack(body))


def _message(value: Any) -> Message:
    """`value`, if it can be used as a message: one bit may make another key, or another kind, of what was stored."""
    try:
        if (
            value["role"] in _ROLES
            and _is_content(value["content"])
            and all(map(_is_call, value.get("tool_calls", ())))
        ):
            return cast("Message", value)
    except (TypeError, KeyError, AttributeError):
        pass
    raise StoreError(
        "A stored message is damaged: it makes no sense. Run `hermes-acp doctor` to see what can be repaired.",
        kind="corrupt",
    )


def _is_content(content: Any) -> bool:
    if content is None or isinstance(content, str):
        return True
    return isinstance(content, list) and all(isinstance(part[_PARTS[part["type"]]], str | dict) for part in content)


def _is_call(call: Any) -> bool:
    function = call["function"]
    return all(isinstance(text, str) for text in (call["id"], function["name"], function["arguments"]))
