"""What `hermes-acp doctor --fix` mends: nothing that a person wrote, and nothing of it is a decision of theirs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from acp_adapter.cli.doctor.checks import Case
from acp_adapter.cli.doctor.configuration import close, open_places
from acp_adapter.cli.doctor.report import Mended

if TYPE_CHECKING:
    from agent_core.sessions.salvage import Salvaged

_TABLES = ("sessions", "turns", "messages", "events")


def mend_permissions(case: Case) -> Iterator[Mended]:
    """Take other users' permissions from the home and from what is private in it.

    The home comes first: with that alone nobody else gets in.
    """
    if os.name == "nt":
        return
    for path in tuple(open_places(case.home)):
        try:
            done = close(path)
        except OSError as problem:
            yield Mended("permissions", done=False, text=f"{path}: {problem.strerror}", harm=True)
            continue
        if done:
            yield Mended("permissions", done=True, text=f"{path} is for you alone now")
        else:
            yield Mended("permissions", done=False, text=f"{path} is a link, or another user's: it was left as it is")


def mend_database(case: Case) -> Iterator[Mended]:
    """Mend the database, or set it aside and save what can be read of it. Nothing is ever deleted."""
    from agent_core.errors import StoreError  # noqa: PLC0415 - with SQLite
    from agent_core.sessions.repair import repair  # noqa: PLC0415 - loads SQLite

    try:
        report = repair(case.home.database, case.home.blobs)
    except StoreError as problem:
        yield Mended("database", done=False, text=problem.public, harm=True)
        return
    for text in (*report.done, *_saved(report.salvaged)):
        yield Mended("database", done=True, text=text)
    if report.refused:
        yield Mended("database", done=False, text=report.refused, harm=True)


def _saved(saved: Salvaged | None) -> Iterator[str]:
    if saved is None:
        return
    yield f"Saved: {', '.join(f'{saved.rows.get(table, 0)} {table}' for table in _TABLES)}."
    if saved.unreadable:
        lost = ", ".join(f"{count} of {table}" for table, count in sorted(saved.unreadable.items()))
        yield f"Not readable, and in the broken file only: {lost}."
    if saved.recreated:
        yield f"{saved.recreated} sessions had lost their title and directory: «Recovered session»."


MENDERS: Mapping[str, Callable[[Case], Iterator[Mended]]] = {
    "permissions": mend_permissions,
    "database": mend_database,
}


def mend(case: Case) -> Iterator[Mended]:
    """Each thing that is done or left, as it happens."""
    for name, each in MENDERS.items():
        try:
            yield from each(case)
        except Exception as problem:  # noqa: BLE001 - what cannot be mended must not hide the rest
            yield Mended(name, done=False, text=f"{name}: {_told(problem)}", harm=True)


def _told(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)
    return f"this failed, which is a fault of the program: {type(problem).__name__}: {problem}"
