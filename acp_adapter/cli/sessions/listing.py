"""`hermes-acp sessions list, search, delete, prune, archive, unarchive`."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acp_adapter.cli.console import Style, columns, in_columns, style_for
from acp_adapter.cli.main import FAILED, refused, say_failed
from acp_adapter.format import local, moment, one_line, safe_text
from agent_core.errors import RequestError, SessionInUse, StoreError
from agent_core.sessions.archive import SessionArchive
from agent_core.sessions.leases import is_alive
from agent_core.sessions.library import SessionLibrary
from agent_core.sessions.records import SessionRecord
from agent_core.sessions.search_index import index_pending
from tools.agent_ports import RecalledMessage, RecalledSession, RecallQuery
from tools.errors import ToolError

# Ages and short ids.

_SHORTEST = 8
_AGES = ((365 * 86_400, "y"), (86_400, "d"), (3_600, "h"), (60, "min"))


def ago(seconds: float) -> str:
    """`just now`, `5 min ago`, `2 h ago`, `3 d ago`, `1 y ago`."""
    for size, name in _AGES:
        if seconds >= size:
            return f"{int(seconds // size)} {name} ago"
    return "just now"


def short_ids(ids: Sequence[str]) -> list[str]:
    """The shortest beginnings, of one length and at least 8 characters, that tell these ids apart."""
    length = _SHORTEST
    while len({each[:length] for each in ids}) < len(set(ids)):
        length += 1
    return [each[:length] for each in ids]


# `list`: one session a line, or all that is known as JSON.

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
        print(f"There are no sessions{where}{'' if options.all else '; --all looks at archived ones too'}.")
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


def session_lines(records: Sequence[SessionRecord], now: float, style: Style) -> list[str]:
    """A line for each session: id, when it was used, turns, where it works, title."""
    ids = short_ids([record.id for record in records])
    cells = [
        (
            style.paint(short, "cyan"),
            moment(record.updated_at),
            style.paint(ago(now - record.updated_at), "dim"),
            f"{record.turns} turn{'' if record.turns == 1 else 's'}",
            _folder(record.cwd),
        )
        for short, record in zip(ids, records, strict=True)
    ]
    room = shutil.get_terminal_size().columns - sum(max(map(columns, each)) + 2 for each in zip(*cells, strict=True))
    titles = [_titled(record, now, room if sys.stdout.isatty() else None, style) for record in records]
    rows = [(*row, title) for row, title in zip(cells, titles, strict=True)]
    return in_columns(rows, right=(2, 3))


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


# `search`: sessions by words that were said in them.

_INDEXING_SECONDS = 5.0
_AROUND = 90
_SPEAKERS = {"user": "you", "assistant": "agent", "tool": "tool"}


def run_search(options: argparse.Namespace, library: SessionLibrary) -> int:
    """Tell the sessions that hold the words; 1 where there are none."""
    text = " ".join(f'"{words}"' if " " in words.strip() and '"' not in words else words for words in options.words)
    try:
        index_pending(library.database, 1_000_000, within=_INDEXING_SECONDS)
    except StoreError as problem:
        say_failed("sessions", f"what was said last may not be found: {problem.public}")
    try:
        found = library.recall.search(RecallQuery(text, limit=options.limit, window=1))
    except ToolError as problem:
        raise RequestError(f"The search for {text!r} failed: {problem}") from problem
    if not found:
        return say_failed("sessions", f"Nothing was found for {text}. Try fewer or other words.")
    now, style = library.database.clock(), style_for(sys.stdout)
    ids = short_ids([session.session_id for session in found])
    for place, (short, session) in enumerate(zip(ids, found, strict=True)):
        if place:
            print()
        for line in found_lines(session, short, text, now, style):
            print(line)
    return 0


def found_lines(session: RecalledSession, short: str, text: str, now: float, style: Style) -> Iterator[str]:
    """A session with what was found in it: its id `short`, and each message on one line, cut around the words."""
    words = re.findall(r"\w+", text)
    pattern = re.compile("|".join(sorted(map(re.escape, words), key=len, reverse=True)) or r"(?!)", re.IGNORECASE)
    when = f"{moment(session.updated_at)}, {ago(now - session.updated_at)}"
    hits = f"{session.hits} hit{'' if session.hits == 1 else 's'}"
    title = style.paint(one_line(session.title) or "-", "bold")
    yield f"{style.paint(short, 'cyan')}  {title}"
    yield style.paint(f"  {when}, {one_line(session.cwd)}, {hits}", "dim")
    for message in session.messages:
        yield from _message(message, pattern, style)


def _message(message: RecalledMessage, pattern: re.Pattern[str], style: Style) -> Iterator[str]:
    text = " ".join(safe_text(message.text).split())
    if not text:
        return
    first = pattern.search(text) if message.is_hit else None
    start = max(0, first.start() - _AROUND) if first else 0
    end = (first.end() if first else 0) + _AROUND
    cut = text[start:end]
    shown = pattern.sub(lambda word: style.paint(word[0], "yellow", "bold"), cut) if message.is_hit else cut
    before, after = "..." if start else "", "..." if end < len(text) else ""
    line = f"{before}{shown}{after}"
    mark = style.paint(">", "yellow") if message.is_hit else " "
    yield f"  {mark} {_SPEAKERS[message.role]:<6}{line if message.is_hit else style.paint(line, 'dim')}"


# `delete`, `prune`, `archive`, `unarchive`.


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
    if (code := _refused(options, library, records)) is not None:
        return code
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
    return 0 if deleted == len(records) else FAILED


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
    if (code := _refused(options, library, records)) is not None:
        return code
    try:
        deleted = library.prune(before)
    finally:
        library.files.prune()
    print(f"Deleted {_many(len(deleted))}.")
    return 0


def _refused(options: argparse.Namespace, library: SessionLibrary, records: Sequence[SessionRecord]) -> int | None:
    """None where the sessions may be deleted, else the exit code."""
    if not options.yes and sys.stdin.isatty():
        _show(library, records)
    many = _many(len(records))
    return refused("sessions", f"Nothing was deleted; delete {many}", f"Delete {many} for good?", yes=options.yes)


def _show(library: SessionLibrary, records: Sequence[SessionRecord]) -> None:
    for line in session_lines(records, library.database.clock(), style_for(sys.stdout)):
        print(line)


def _many(number: int) -> str:
    return f"{number} session{'' if number == 1 else 's'}"
