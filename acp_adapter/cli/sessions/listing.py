"""`hermes-acp sessions list`: one session a line, or all that is known as JSON."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acp_adapter.cli.sessions.words import ago, short_ids
from acp_adapter.cli.terminal.safe_text import one_line
from acp_adapter.cli.terminal.style import Style, style_for
from acp_adapter.export.words import local, moment
from agent_core.sessions.archive.archive import SessionArchive
from agent_core.sessions.library import SessionLibrary
from agent_core.sessions.live.leases import is_alive
from agent_core.sessions.records import SessionRecord

_PAGE = 500
_LEAST_TITLE = 20
_LONGEST_FOLDER = 32


def run_list(options: argparse.Namespace, library: SessionLibrary) -> int:
    """List the sessions that `options` asks for; there may be none."""
    folder = None if options.cwd is None and not options.here else os.path.abspath(options.cwd or "")  # noqa: PTH100 - resolve() would follow links
    kinds = (False, True) if options.all else (False,)
    found = [record for archived in kinds for record in _up_to(library.archive, folder, archived, options.limit + 1)]
    found.sort(key=lambda record: -record.updated_at)
    shown, now = found[: options.limit], library.database.clock()
    if options.json:
        print(json.dumps([as_data(record) for record in shown], indent=2))
        return 0
    if not shown:
        where = f" that work in {one_line(folder)}" if folder else ""
        print(
            f"There are no sessions{where}."
            if options.all
            else f"There are no sessions{where}; --all looks at archived ones too."
        )
        return 0
    for line in session_lines(shown, now, style_for(sys.stdout)):
        print(line)
    if len(found) > len(shown):
        print(f"These are the last {len(shown)}; --limit N shows more.")
    return 0


def every_session(archive: SessionArchive, folder: str | None = None, *, archived: bool) -> Iterator[SessionRecord]:
    """Every session with a turn, the last used first."""
    cursor: str | None = None
    while True:
        page = archive.page(cwd=folder, cursor=cursor, limit=_PAGE, archived=archived)
        yield from page.sessions
        cursor = page.next_cursor
        if cursor is None:
            return


def session_lines(records: Sequence[SessionRecord], now: float, style: Style) -> Iterator[str]:
    """A line for each session: id, when it was used, turns, where it works, title."""
    ids = short_ids([record.id for record in records])
    rows = [(short, *_cells(record, now)) for short, record in zip(ids, records, strict=True)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    room = shutil.get_terminal_size().columns - sum(widths) - 2 * len(widths) if sys.stdout.isatty() else None
    for record, (short, when, age, turns, folder) in zip(records, rows, strict=True):
        title = _titled(record, now, room, style)
        yield "  ".join(
            (
                style.paint(f"{short:<{widths[0]}}", "cyan"),
                f"{when:<{widths[1]}}",
                style.paint(f"{age:>{widths[2]}}", "dim"),
                f"{turns:>{widths[3]}}",
                f"{folder:<{widths[4]}}",
                title,
            )
        ).rstrip()


def as_data(record: SessionRecord) -> dict[str, Any]:
    """Everything that is known of a session, as JSON has it; times are ISO 8601."""
    return {
        **asdict(record),
        "created_at": local(record.created_at).isoformat(),
        "updated_at": local(record.updated_at).isoformat(),
        "holder": None if record.holder is None else {"program": record.holder.program, "pid": record.holder.pid},
    }


def _up_to(archive: SessionArchive, folder: str | None, archived: bool, limit: int) -> list[SessionRecord]:
    sessions = every_session(archive, folder, archived=archived)
    return [record for record, _ in zip(sessions, range(limit), strict=False)]


def _cells(record: SessionRecord, now: float) -> tuple[str, str, str, str]:
    turns = f"{record.turns} turn{'' if record.turns == 1 else 's'}"
    return moment(record.updated_at), ago(now - record.updated_at), turns, _folder(record.cwd)


def _folder(cwd: str) -> str:
    home = str(Path.home())
    shown = one_line(f"~{cwd.removeprefix(home)}" if cwd == home or cwd.startswith(f"{home}/") else cwd)
    return shown if len(shown) <= _LONGEST_FOLDER else f"...{shown[3 - _LONGEST_FOLDER :]}"


def _titled(record: SessionRecord, now: float, room: int | None, style: Style) -> str:
    marks = ["archived"] if record.archived else []
    marks += ["open"] if record.holder is not None and is_alive(record.holder, now) else []
    mark = f" ({', '.join(marks)})" if marks else ""
    title = one_line(record.title or "") or "-"
    if room is not None and len(title) + len(mark) > max(room, _LEAST_TITLE):
        title = f"{title[: max(room, _LEAST_TITLE) - len(mark) - 3]}..."
    return f"{style.paint(title, 'bold')}{style.paint(mark, 'dim')}"
