"""What a session has used since it was last stored → the table `spending`, by day and model."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from agent_core.providers.knowledge.pricing import Spent
from agent_core.sessions.records import SUB_AGENT

_BEFORE = "SELECT requests, usage, cost FROM sessions WHERE id = ? AND source <> ?"
_ADD = (
    "INSERT INTO spending (day, model, session_id, requests, input, cached, output, cost, unpriced)"
    " VALUES (date('now', 'localtime'), ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (session_id, day, model) DO UPDATE SET requests = requests + excluded.requests,"
    " input = input + excluded.input, cached = cached + excluded.cached, output = output + excluded.output,"
    " cost = cost + excluded.cost, unpriced = unpriced + excluded.unpriced"
)
_TOKENS = ("input_tokens", "cached_tokens", "output_tokens")


def add_spending(connection: sqlite3.Connection, session_id: str, spent: Spent, model: str) -> None:
    """Add what is new in `spent`; before the session's own row says it. Sub-agents' is in the sums of their parents.

    Args:
        model: the one that was used last, as provider:model.
    """
    row = connection.execute(_BEFORE, (session_id, SUB_AGENT)).fetchone()
    if row is None:
        return
    requests, cost = int(row[0]), row[2]
    usage = _counts(row[1])
    if (
        not requests or spent.requests < requests
    ):  # the first; or what was kept could not be read, and is counted anew
        requests, usage, cost = 0, {}, 0.0
    new = spent.requests - requests
    if not new:
        return
    tokens = [_more(getattr(spent.usage, name), usage.get(name, 0)) for name in _TOKENS]
    is_known = spent.cost is not None and cost is not None
    dollars = max(0.0, spent.cost - cost) if spent.cost is not None and cost is not None else 0.0
    connection.execute(_ADD, (model, session_id, new, *tokens, dollars, 0 if is_known else new))


def _more(now: int | None, before: int | None) -> int:
    return 0 if now is None or before is None else max(0, now - before)


def _counts(usage: str) -> dict[str, Any]:
    try:
        found = json.loads(usage)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
