"""Rows of the table `compactions`: what compressions made, and which of them is in effect."""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import asdict, fields
from typing import Any

from agent_core.context.compaction import Compaction, is_possible
from agent_core.errors import StoreError
from agent_core.sessions.database.bodies import pack, unpack
from agent_core.sessions.live.message_rows import IN_HISTORY
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

_COUNTS = (
    "made.session_id = ?1"  # noqa: S608 - constants
    " AND EXISTS (SELECT 1 FROM turns WHERE session_id = ?1 AND number = made.turn AND undone = 0)"
    f" AND made.messages = (SELECT count(*) FROM messages WHERE {IN_HISTORY} AND id <= made.last_message)"
)
_IN_EFFECT = f"SELECT made.body FROM compactions AS made WHERE {_COUNTS} ORDER BY made.id DESC"  # noqa: S608 - constants
_ADD = (
    "INSERT OR IGNORE INTO compactions (session_id, turn, number, messages, last_message, body, created_at)"  # noqa: S608 - a constant
    f" SELECT ?1, ?2, ?3, count(*), max(id), ?4, ?5 FROM messages WHERE {IN_HISTORY} HAVING count(*) > 0"
)
_TO_COPY = (
    "SELECT turn, number, messages, body, created_at FROM compactions AS made"  # noqa: S608 - constants
    f" WHERE {_COUNTS} AND turn IN (SELECT number FROM turns WHERE session_id = ?2) ORDER BY id"
)
_LAST_COPIED = f"SELECT id FROM messages WHERE {IN_HISTORY} ORDER BY id LIMIT 1 OFFSET ?2 - 1"  # noqa: S608 - a constant
_COPY = (
    "INSERT INTO compactions (session_id, turn, number, messages, last_message, body, created_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_FIELDS = frozenset(field.name for field in fields(Compaction))


@dataclass(frozen=True, slots=True, eq=False)
class PackedCompaction:
    """A compaction ready to be stored. `created_at` is in seconds since the epoch."""

    compaction: Compaction
    body: str | bytes
    created_at: float


def packed_compaction(compaction: Compaction, now: float) -> PackedCompaction:
    """`compaction` as it will lie in its row."""
    return PackedCompaction(compaction, pack(asdict(compaction)), now)


def insert_compaction(
    connection: sqlite3.Connection, session_id: str, turn: int, number: int, packed: PackedCompaction
) -> None:
    """Add a compaction that was made over the history as it is stored now; one that is there already is left so."""
    connection.execute(_ADD, (session_id, turn, number, packed.body, packed.created_at))


def read_compaction(connection: sqlite3.Connection, session_id: str) -> Compaction | None:
    """The compaction in effect; None where the model is shown the whole history.

    A damaged one is passed over, which costs a new compression and loses nothing.
    """
    for (body,) in connection.execute(_IN_EFFECT, (session_id,)):
        try:
            return unpack_compaction(body)
        except StoreError:
            log.warning("a compaction of session %s is damaged and passed over", session_id, exc_info=True)
    return None


def copy_compactions(connection: sqlite3.Connection, source: str, target: str) -> None:
    """Give the fork `target`, whose turns and messages are there, what counts in `source` and covers only these."""
    for turn, number, messages, body, created_at in connection.execute(_TO_COPY, (source, target)).fetchall():
        last = connection.execute(_LAST_COPIED, (target, messages)).fetchone()
        if last is not None:
            connection.execute(_COPY, (target, turn, number, messages, last[0], body, created_at))


def unpack_compaction(body: str | bytes) -> Compaction:
    """The compaction of a row's body.

    Raises:
        StoreError: it is damaged (kind corrupt).
    """
    value = unpack(body)
    try:
        return _compaction(value)
    except (TypeError, ValueError, AttributeError) as problem:
        raise StoreError(f"A stored compression is damaged ({problem}).", kind="corrupt") from problem


def _compaction(body: Any) -> Compaction:
    """What a later program has added is left out: what it shows is what ours can show."""
    known = {name: value for name, value in body.items() if name in _FIELDS}
    known["kept"] = tuple(known.get("kept", ()))
    known["cuts"] = {int(position): limit for position, limit in known.get("cuts", {}).items()}
    made = Compaction(**known)
    # That it covers no more than there is, whoever shows it sees to.
    if not is_possible(made, made.up_to):
        raise ValueError("its parts make no sense")
    return made
