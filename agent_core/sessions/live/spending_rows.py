"""What a session has used since it was last stored → the table `spending`, by day and model."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict

from agent_core.providers.pricing import Spent
from agent_core.sessions.live.spent_columns import spent_from
from agent_core.sessions.records import SUB_AGENT

_BEFORE = "SELECT requests, usage, cost FROM sessions WHERE id = ? AND source <> ?"
_ADD = (
    "INSERT INTO spending (day, model, session_id, requests, input, cached, output, cost, unpriced)"
    " VALUES (date('now', 'localtime'), ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (session_id, day, model) DO UPDATE SET requests = requests + excluded.requests,"
    " input = input + excluded.input, cached = cached + excluded.cached, output = output + excluded.output,"
    " cost = cost + excluded.cost, unpriced = unpriced + excluded.unpriced"
)
_COLUMNS = ("input_tokens", "cached_tokens", "output_tokens", "cost", "unpriced")


def add_spending(connection: sqlite3.Connection, session_id: str, spent: Spent, model: str) -> None:
    """Add what is new in `spent`; before the session's own row says it. Sub-agents' is in the sums of their parents.

    Args:
        model: the one that was used last, as provider:model.
    """
    row = connection.execute(_BEFORE, (session_id, SUB_AGENT)).fetchone()
    if row is None:
        return
    before = _stored(*row)
    if spent.requests < before.requests:  # what was kept could not be read, and is counted anew
        before = Spent()
    new = spent.requests - before.requests
    if not new:
        return
    now, then = asdict(spent.certain), asdict(before.certain)
    more = [max(0, now[name] - then[name]) for name in _COLUMNS]
    connection.execute(_ADD, (model, session_id, new, *more))


def _stored(requests: int, usage: str, cost: float | None) -> Spent:
    try:
        return spent_from(requests, usage, cost)
    except (ValueError, TypeError, AttributeError):
        return Spent()
