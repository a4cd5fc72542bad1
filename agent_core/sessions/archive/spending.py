"""What was used and what it cost, over days, models and projects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from agent_core.sessions.archive.session_rows import path_from
from agent_core.sessions.database.database import Database
from tools.light_dataclass import dataclass

By = Literal["day", "model", "project"]

_KEYS: dict[By, str] = {"day": "day", "model": "spending.model", "project": "sessions.cwd"}
_QUERY = (
    "SELECT {key}, sum(spending.requests), sum(input), sum(cached), sum(output), sum(spending.cost), sum(unpriced)"
    " FROM spending LEFT JOIN sessions ON sessions.id = session_id AND sessions.archived < 2"
    " WHERE day BETWEEN date('now', 'localtime', ?) AND date('now', 'localtime', '+1 day') GROUP BY 1"
)


@dataclass(frozen=True, slots=True)
class Spending:
    """One line: a day (`YYYY-MM-DD`), a model or a project's directory, and what was used.

    Attributes:
        name: '' for the models or projects that are not known: those of deleted sessions.
        cost: US dollars, as far as they are known.
        unpriced: how many of the requests have no known cost.
    """

    name: str
    requests: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: float
    unpriced: int


def spending(database: Database, by: By, days: int) -> tuple[Spending, ...]:
    """What was used in the last `days` days, today included: days in their order, others the dearest first.

    Raises:
        StoreError: the database cannot be read.
    """
    with database.read() as connection:
        rows = connection.execute(_QUERY.format(key=_KEYS[by]), (f"-{days - 1} days",)).fetchall()
    found = tuple(_records(rows, by))
    if by == "day":
        return tuple(sorted(found, key=lambda each: each.name))
    return tuple(sorted(found, key=lambda each: (-each.cost, -each.input_tokens, each.name)))


def _records(rows: list[tuple[str | None, int, int, int, int, float, int]], by: By) -> Iterator[Spending]:
    for name, requests, read, cached, written, cost, unpriced in rows:
        shown = path_from(name) if by == "project" and name else name or ""
        yield Spending(shown, requests, read, cached, written, cost, unpriced)
