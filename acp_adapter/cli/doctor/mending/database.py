"""Mends the database, or sets it aside and saves what can be read of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.mending.mended import Mended, Person

if TYPE_CHECKING:
    from agent_core.sessions.repair.salvage import Salvaged

_NAME = "database"
_TABLES = ("sessions", "turns", "messages", "events")


def mend_database(case: Case, _: Person) -> Iterator[Mended]:
    """Nothing is ever deleted."""
    from agent_core.errors import StoreError  # noqa: PLC0415 - with SQLite
    from agent_core.sessions.repair.repair import repair  # noqa: PLC0415 - loads SQLite

    try:
        report = repair(case.home.database, case.home.blobs)
    except StoreError as problem:
        yield Mended(_NAME, done=False, text=problem.public, harm=True)
        return
    for text in report.done:
        yield Mended(_NAME, done=True, text=text)
    if report.salvaged is not None:
        for text in _saved(report.salvaged):
            yield Mended(_NAME, done=True, text=text)
    if report.refused:
        yield Mended(_NAME, done=False, text=report.refused, harm=True)


def _saved(saved: Salvaged) -> Iterator[str]:
    yield f"Saved: {', '.join(f'{saved.rows.get(table, 0)} {table}' for table in _TABLES)}."
    if saved.unreadable:
        lost = ", ".join(f"{count} of {table}" for table, count in sorted(saved.unreadable.items()))
        yield f"Not readable, and in the broken file only: {lost}."
    if saved.recreated:
        yield f"{saved.recreated} sessions had lost their title and directory: «Recovered session»."
