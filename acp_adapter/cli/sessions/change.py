"""`hermes-acp sessions delete, prune, archive, unarchive`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from acp_adapter.cli.sessions.listing import every_session, session_lines
from acp_adapter.cli.terminal.failing import say_failed
from acp_adapter.cli.terminal.style import style_for
from acp_adapter.export.words import moment
from agent_core.errors import SessionInUse
from agent_core.sessions.library import SessionLibrary
from agent_core.sessions.live.leases import is_alive
from agent_core.sessions.records import SessionRecord

_FAILED, _NOBODY_TO_ASK = 1, 2


def run_change(options: argparse.Namespace, library: SessionLibrary) -> int:
    """Do what `options` asks for. All sessions are found before the first is touched."""
    if options.action == "prune":
        return _prune(options, library)
    records = list({record.id: record for record in map(library.archive.find, options.ids)}.values())
    if options.action == "delete":
        return _delete(options, library, records)
    for record in records:
        library.archive.archive(record.id, options.action == "archive")
    done = "Archived" if options.action == "archive" else "Took back"
    print(f"{done} {_many(len(records))}.")
    return 0


def _delete(options: argparse.Namespace, library: SessionLibrary, records: Sequence[SessionRecord]) -> int:
    refusal = _confirm(options, library, records)
    if refusal is not None:
        return refusal
    deleted = 0
    try:
        for record in records:
            try:
                deleted += library.delete(record.id)
            except SessionInUse as problem:
                say_failed("sessions", problem.public)
    finally:
        library.files.prune()
    print(f"Deleted {_many(deleted)}.")
    return 0 if deleted == len(records) else _FAILED


def _prune(options: argparse.Namespace, library: SessionLibrary) -> int:
    now = library.database.clock()
    before = now - options.older_than
    records = [
        record
        for record in every_session(library.archive, archived=False)
        if record.updated_at < before and not (record.holder is not None and is_alive(record.holder, now))
    ]
    if not records:
        print(f"There is no session that was last used before {moment(before)}.")
        return 0
    if options.dry_run:
        _show(library, records)
        print(f"{_many(len(records))} would be deleted.")
        return 0
    refusal = _confirm(options, library, records)
    if refusal is not None:
        return refusal
    try:
        deleted = library.prune(before)
    finally:
        library.files.prune()
    print(f"Deleted {_many(len(deleted))}.")
    return 0


def _confirm(options: argparse.Namespace, library: SessionLibrary, records: Sequence[SessionRecord]) -> int | None:
    """None where the sessions may be deleted, else the exit code."""
    if options.yes:
        return None
    if not sys.stdin.isatty():
        print(
            f"hermes-acp sessions: Nothing was deleted: there is no terminal to ask on. Add --yes to delete "
            f"{_many(len(records))}.",
            file=sys.stderr,
        )
        return _NOBODY_TO_ASK
    _show(library, records)
    print(f"Delete {_many(len(records))} for good? [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() in {"y", "yes"}:
        return None
    print("Nothing was deleted.")
    return _FAILED


def _show(library: SessionLibrary, records: Sequence[SessionRecord]) -> None:
    for line in session_lines(records, library.database.clock(), style_for(sys.stdout)):
        print(line)


def _many(number: int) -> str:
    return f"{number} session{'' if number == 1 else 's'}"
