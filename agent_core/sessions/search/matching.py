"""Asks the index, and puts what it finds in order."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Literal

from agent_core.sessions.archive.session_rows import DELETING
from tools.light_dataclass import dataclass

# Only the newest are ranked: a word that is in every message costs no more than a usual one.
_MAX_MATCHES = 2_000
# What the person said tells best what a session is about; what tools printed tells it worst.
_BM25 = "bm25(messages_fts, 1.5, 1.0, 0.5)"
_HALF_LIFE = 30 * 86_400.0
_AGELESS = 0.5

_MATCHES = f"""
    SELECT messages_fts.rowid, t.session_id, t.created_at, {_BM25}
    FROM messages_fts CROSS JOIN search_texts AS t ON t.message_id = messages_fts.rowid
    WHERE messages_fts MATCH ? AND t.hidden = ''
      AND t.session_id NOT IN (
        SELECT id FROM sessions WHERE archived = {DELETING}
        UNION ALL
        SELECT id FROM sessions WHERE root_id = (SELECT root_id FROM sessions WHERE id = ?)
      )
    ORDER BY messages_fts.rowid DESC LIMIT {_MAX_MATCHES}
"""  # noqa: S608 - constants


@dataclass(frozen=True, slots=True)
class Match:
    """A message in which the words were found. `weight` is the greater the better it fits."""

    message_id: int
    session_id: str
    weight: float


@dataclass(frozen=True, slots=True)
class Found:
    """A session with its best match and the ids of all its messages that were found."""

    session_id: str
    best: int
    message_ids: frozenset[int]


def matches(connection: sqlite3.Connection, expression: str, not_in: str, now: float) -> list[Match]:
    """The newest messages that fit `expression`, newest first; a few thousand at most.

    Args:
        not_in: a session whose line of forks is left out; '' for none.
        now: seconds since the epoch; a message loses half of its weight with age.
    """
    rows = connection.execute(_MATCHES, (expression, not_in))
    return [
        Match(message_id, session_id, -bm25 * _freshness(now - created_at))
        for message_id, session_id, created_at, bm25 in rows
    ]


def sessions_of(
    connection: sqlite3.Connection, found: Sequence[Match], sort: Literal["relevance", "newest"], limit: int
) -> list[Found]:
    """The sessions of the best or the newest matches, one of each line of forks.

    Forks hold copies of messages: of copies the newest counts.
    """
    if sort == "relevance":
        found = sorted(found, key=lambda match: (-match.weight, -match.message_id))
    chosen: dict[str, Match] = {}
    for match in _first_of_lines(connection, found):
        chosen[match.session_id] = match
        if len(chosen) >= limit:
            break
    ids: dict[str, set[int]] = {session_id: set() for session_id in chosen}
    for match in found:
        if match.session_id in ids:
            ids[match.session_id].add(match.message_id)
    return [Found(session_id, match.message_id, frozenset(ids[session_id])) for session_id, match in chosen.items()]


def _first_of_lines(connection: sqlite3.Connection, found: Sequence[Match]) -> Iterator[Match]:
    seen_sessions: set[str] = set()
    seen_roots: set[str] = set()
    for match in found:
        if match.session_id in seen_sessions:
            continue
        seen_sessions.add(match.session_id)
        row = connection.execute("SELECT root_id FROM sessions WHERE id = ?", (match.session_id,)).fetchone()
        if row is not None and row[0] not in seen_roots:
            seen_roots.add(row[0])
            yield match


def _freshness(age: float) -> float:
    return _AGELESS + (1 - _AGELESS) * math.exp2(-max(0.0, age) / _HALF_LIFE)
