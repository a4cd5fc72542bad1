"""Rows that SQLite reads and nobody can understand any more: one flipped bit is enough, and no checksum tells.

Each is set aside: what is damaged goes into the table `damaged_rows` as it is, and something readable takes its
place, so that its session can be shown, prompted, compressed, forked and undone. Nothing is lost of what was found.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from agent_core.errors import StoreError
from agent_core.messages import Message, assistant_message, injected_message, tool_call, tool_message
from agent_core.sessions.checkpoints.file_states import FOLDER, UNKNOWN, path_from, shown_path
from agent_core.sessions.database import pack, unpack
from agent_core.sessions.event_codec import encode, plain_text, unreadable
from agent_core.sessions.fork import CAREFUL_MODE, decoded, is_moment
from agent_core.sessions.rows import (
    ARCHIVED,
    DELETING,
    IN_USE,
    kept_from,
    news_from,
    spent_from,
    task_from,
    unpack_compaction,
    unpack_message,
)
from tools.light_dataclass import dataclass
from tools.result import error

_Values = dict[str, Any]
_Check = Callable[[_Values], object]
"""Looks at a column of a row; raises an exception where it is damaged."""

_HASH = re.compile(r"[0-9a-f]{64}")
_LOST_MESSAGE = "[The message that stood here was damaged in the database and is lost.]"
_LOST_RESULT = "The stored result of this call was damaged and is lost. The call did run: check before you repeat it."
_LOST_RECORD = "the record of this change was damaged"
_MOST_NAMED = 5
_TASK_COLUMNS = ("name", "state", "body", "started_at", "ended_at")


@dataclass(frozen=True, slots=True)
class Damage:
    """A damaged part of a row: which one, `what` it is in a person's words, and `why` it counts as damaged."""

    session_id: str
    table: str
    column: str
    key: str | int
    what: str
    why: str


def named(found: Sequence[Damage]) -> str:
    """What is damaged, for a person."""
    words = ", ".join(one.what for one in found[:_MOST_NAMED])
    return words if len(found) <= _MOST_NAMED else f"{words} and {len(found) - _MOST_NAMED} more"


def damaged_rows(connection: sqlite3.Connection) -> Iterator[Damage]:
    """Everything that is damaged. Nothing is changed.

    Raises:
        sqlite3.Error: a page of the file cannot be read.
    """
    for kind in _KINDS:
        for row in _rows(connection, kind, ""):
            yield from _damage_in(kind, row)


def set_aside(connection: sqlite3.Connection, session_id: str, now: float) -> list[Damage]:
    """Set the damaged rows of a session aside, within a write transaction.

    Args:
        now: seconds since the epoch.

    Raises:
        sqlite3.Error: it could not be done.
    """
    done: list[Damage] = []
    for kind in _KINDS:
        for row in list(_rows(connection, kind, session_id)):
            for damage in _damage_in(kind, row):
                _keep(connection, kind, damage, row, now)
                _replace(connection, damage, kind.columns[0], kind.instead(connection, damage.column, row))
                done.append(damage)
    return done


@dataclass(frozen=True, slots=True)
class _Kind:
    """A table that is looked through.

    Attributes:
        columns: those that are read; the first tells rows apart, the second is the session's id.
        checks: by column.
        what: names a damaged column, for a person.
        instead: new values of columns, readable ones; none where the row is deleted.
        source: the rows, where they are not simply the table's.
    """

    table: str
    columns: tuple[str, ...]
    checks: Mapping[str, _Check]
    what: Callable[[_Values, str], str]
    instead: Callable[[sqlite3.Connection, str, _Values], _Values] = lambda *_: {}
    source: str = ""


def _rows(connection: sqlite3.Connection, kind: _Kind, session_id: str) -> Iterator[_Values]:
    """The rows of a session, of all with ''."""
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (kind.table,))
    if there.fetchone() is None:  # the file is of an earlier version
        return
    key, session, *others = kind.columns
    of_one = f" AND {session} = ?" if session_id else ""
    query = (
        f"SELECT {', '.join((f'{kind.table}.{key}', session, *others))} FROM {kind.source or kind.table}"  # noqa: S608 - constants
        f" WHERE {session} IN (SELECT id FROM sessions WHERE archived IS NOT {DELETING}){of_one}"
    )
    for row in connection.execute(query, (session_id,) if session_id else ()):
        yield dict(zip(kind.columns, row, strict=True))


def _damage_in(kind: _Kind, row: _Values) -> Iterator[Damage]:
    key, session, *_ = kind.columns
    for column, check in kind.checks.items():
        try:
            check(row)
        except (StoreError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            why = str(problem.__cause__ or problem) or type(problem).__name__
            yield Damage(row[session], kind.table, column, row[key], kind.what(row, column), why)


def _keep(connection: sqlite3.Connection, kind: _Kind, damage: Damage, row: _Values, now: float) -> None:
    rest = {name: value for name, value in row.items() if name != damage.column and not isinstance(value, bytes)}
    connection.execute(
        "INSERT INTO damaged_rows (session_id, table_name, row_key, column_name, value, rest, why, found_at)"  # noqa: S608 - constants
        f" SELECT ?1, ?2, ?3, ?4, CAST({damage.column} AS BLOB), ?5, ?6, ?7 FROM {kind.table}"
        f" WHERE {kind.columns[0]} = ?8",
        (
            *(damage.session_id, damage.table, str(damage.key), damage.column),
            *(json.dumps(rest), plain_text(damage.why), now, damage.key),
        ),
    )


# What is damaged.


def _must(is_sound: object) -> None:
    if not is_sound:
        raise ValueError("it cannot be understood")


def _check_text(row: _Values) -> None:
    text = str(unpack(row["body"]))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    _must(digest == row["hash"] or not _HASH.fullmatch(row["hash"]))


def _is_hash(value: str | None, *others: str | None) -> bool:
    return value in {None, *others} or bool(_HASH.fullmatch(value or ""))


# What takes its place.


def _replace(connection: sqlite3.Connection, damage: Damage, key: str, values: _Values) -> None:
    change = f"UPDATE {damage.table} SET {', '.join(f'{name} = ?' for name in values)}"  # noqa: S608 - constants
    change = change if values else f"DELETE FROM {damage.table}"  # noqa: S608 - a constant
    connection.execute(f"{change} WHERE {key} = ?", (*values.values(), damage.key))


def _instead_of_message(connection: sqlite3.Connection, _: str, row: _Values) -> _Values:
    before: list[Message] = []
    after: list[Message] = []
    query = "SELECT id, body FROM messages WHERE session_id = ? AND turn = ? ORDER BY id"
    for number, body in connection.execute(query, (row["session_id"], row["turn"])).fetchall():
        with contextlib.suppress(StoreError):
            (before if number < row["id"] else after).append(unpack_message(body))
    results = list(takewhile(_is_result, after))
    message = injected_message(_LOST_MESSAGE)
    if row["role"] == "assistant":  # without its calls, their results would not count
        ids = [(result.get("tool_call_id", ""), str(result.get("name", ""))) for result in results]
        message = assistant_message(_LOST_MESSAGE, [tool_call(call_id, name, "{}") for call_id, name in ids])
    elif row["role"] == "tool":
        results += takewhile(_is_result, reversed(before))
        answered = {result.get("tool_call_id") for result in results}
        answer = next((message for message in reversed(before) if not _is_result(message)), injected_message(""))
        for call in [call for call in answer.get("tool_calls", ()) if call["id"] not in answered][:1]:
            message = tool_message(call, error(_LOST_RESULT).text, {"failed": True})
    return {"role": message["role"], "body": pack(message)}


def _is_result(message: Message) -> bool:
    return message["role"] == "tool"


def _instead_of_event(*_: object) -> _Values:
    (shown,) = unreadable()
    note = encode(shown)
    return {"kind": note.kind, "version": note.version, "body": pack(note.body), "open": 0}


def _instead_in_session(_: sqlite3.Connection, column: str, row: _Values) -> _Values:
    if column in _SESSION_TIMES:
        return {column: time.time()}  # not the epoch: old sessions may be deleted
    if column == "options":  # they may have said that edits are asked about whatever the mode says
        return {column: "{}", "mode": CAREFUL_MODE}
    return {column: _EMPTY[column] if column in _EMPTY else plain_text(row[column])}


def _instead_in_version(_: sqlite3.Connection, column: str, row: _Values) -> _Values:
    if column == "after_hash":
        return {column: UNKNOWN}
    return {column: plain_text(row["path"]) if column == "path" else None, "lost": _LOST_RECORD}


# The tables.


def _of(what: str, row: _Values, at: str = "created_at") -> str:
    if not is_moment(row[at]):
        return what
    return f"{what} of {time.strftime('%Y-%m-%d %H:%M', time.localtime(row[at]))}"


_EMPTY = {"roots": "[]", "options": "{}", "kept": "{}", "usage": "{}", "archived": IN_USE}
_SESSION_TIMES = ("created_at", "updated_at")
_SESSION_TEXTS = ("cwd", "source", "mode", "model", "title")
_SAID = {"user": "a message to the model", "assistant": "an answer of the model", "tool": "a tool's result"}
_OF_SESSION = {
    "roots": "its additional directories",
    "options": "its options (they are the usual ones again, and its mode is the one that asks)",
    "kept": "its plan",
    "usage": "what it has used",
    "archived": "whether it is archived (it is not, now)",
    "created_at": "when it was made",
    "updated_at": "when it was last used",
}


def _time_check(column: str) -> _Check:
    return lambda row: _must(is_moment(row[column]))


def _text_check(column: str) -> _Check:
    return lambda row: (row[column] or "").encode()


# Compressions, news, tasks and texts are deleted: they are made again, or of no use without what they said.
_KINDS = (
    _Kind(
        "messages",
        ("id", "session_id", "turn", "role", "body", "created_at"),
        {"body": lambda row: unpack_message(row["body"])},
        lambda row, _: _of(_SAID.get(row["role"], "a message"), row),
        _instead_of_message,
    ),
    _Kind(
        "events",
        ("id", "session_id", "turn", "position", "kind", "version", "body", "open", "created_at"),
        {"body": lambda row: decoded(row["kind"], row["version"], row["body"])},
        lambda row, _: _of("something that was shown", row),
        _instead_of_event,
    ),
    _Kind(
        "compactions",
        ("id", "session_id", "turn", "number", "messages", "last_message", "body", "created_at"),
        {"body": lambda row: unpack_compaction(row["body"])},
        lambda row, _: _of("a compression", row),
    ),
    _Kind(
        "news",
        ("id", "session_id", "name", "body", "created_at"),
        {"body": lambda row: _must(news_from(row["name"], row["body"], row["created_at"]))},
        lambda row, _: _of("news of the background", row),
    ),
    _Kind(
        "tasks",
        ("id", "session_id", "name", "state", "body", "started_at", "ended_at"),
        {"body": lambda row: _must(task_from(*(row[name] for name in _TASK_COLUMNS)))},
        lambda row, _: _of("a background task", row, "started_at"),
    ),
    _Kind(
        "file_versions",
        ("id", "session_id", "turn", "path", "before_hash", "after_hash", "lost", "created_at"),
        {
            "path": _text_check("path"),
            "before_hash": lambda row: _must(row["lost"] or _is_hash(row["before_hash"])),
            "after_hash": lambda row: _must(_is_hash(row["after_hash"], UNKNOWN, FOLDER)),
        },
        lambda row, _: _of(f"the record of a change of {shown_path(path_from(row['path']))}", row),
        _instead_in_version,
    ),
    _Kind(
        "texts",
        ("hash", "sessions.id", "body"),
        {"body": _check_text},
        lambda *_: "its system prompt or list of tools (made anew)",
        source="texts JOIN sessions ON texts.hash IN (system_hash, tools_hash)",
    ),
    _Kind(
        "sessions",
        ("id", "sessions.id", *_EMPTY, *_SESSION_TIMES, *_SESSION_TEXTS, "requests", "cost"),
        {
            "roots": lambda row: _must(isinstance(json.loads(row["roots"]), list)),
            "options": lambda row: _must(isinstance(json.loads(row["options"]), dict)),
            "kept": lambda row: row["kept"] == "{}" or kept_from(row["kept"]),
            "usage": lambda row: spent_from(row["requests"], row["usage"], row["cost"]),
            "archived": lambda row: _must(row["archived"] in {IN_USE, ARCHIVED}),
            **{column: _time_check(column) for column in _SESSION_TIMES},
            **{column: _text_check(column) for column in _SESSION_TEXTS},
        },
        lambda _, column: _OF_SESSION.get(column, f"its {column}"),
        _instead_in_session,
    ),
)
