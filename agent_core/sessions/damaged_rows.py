"""Rows that SQLite reads and nobody can understand any more: one flipped bit is enough, and no checksum tells.

Each is set aside: what is damaged goes into the table `damaged_rows` as it is, and something readable takes its
place, so that its session can be shown, prompted, compressed, forked and undone. Nothing is lost of what was found.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agent_core.errors import StoreError
from agent_core.events import ToolFinished, ToolRequested
from agent_core.messages import Message, ToolCall, assistant_message, injected_message, tool_call, tool_message
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
_Faults = Iterator[tuple[str, str]]
"""The columns of a row that are damaged, each with what is wrong with it."""

_HASH = re.compile(r"[0-9a-f]{64}")
_LOST_MESSAGE = "[The message that stood here was damaged in the database and is lost.]"
_LOST_RESULT = "The stored result of this call was damaged and is lost. The call did run: check before you repeat it."
_LOST_RECORD = "the record of this change was damaged"
_MOST_NAMED = 5


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
                kind.replace(connection, damage, row)
                done.append(damage)
    return done


@dataclass(frozen=True, slots=True)
class _Kind:
    """A table that is looked through.

    Attributes:
        columns: those that are read; the first tells rows apart, the second is the session's id.
        faults: what is damaged in a row.
        what: names a damaged column, for a person.
        replace: puts something readable in its place.
        source: the rows, where they are not simply the table's.
    """

    table: str
    columns: tuple[str, ...]
    faults: Callable[[_Values], _Faults]
    what: Callable[[_Values, str], str]
    replace: Callable[[sqlite3.Connection, Damage, _Values], object]
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
    for column, why in kind.faults(row):
        yield Damage(row[session], kind.table, column, row[key], kind.what(row, column), why)


def _keep(connection: sqlite3.Connection, kind: _Kind, damage: Damage, row: _Values, now: float) -> None:
    rest = {name: value for name, value in row.items() if name != damage.column and not isinstance(value, bytes)}
    connection.execute(
        "INSERT INTO damaged_rows (session_id, table_name, row_key, column_name, value, rest, why, found_at)"  # noqa: S608 - constants
        f" SELECT ?, ?, ?, ?, CAST({damage.column} AS BLOB), ?, ?, ? FROM {kind.table} WHERE {kind.columns[0]} = ?",
        (
            damage.session_id,
            damage.table,
            str(damage.key),
            damage.column,
            json.dumps(rest),
            plain_text(damage.why),
            now,
            damage.key,
        ),
    )


def _why(read: Callable[[], object]) -> str:
    """What is wrong with what `read` reads; '' for nothing."""
    try:
        read()
    except (StoreError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        return str(problem.__cause__ or problem) or type(problem).__name__
    return ""


def _body_faults(read: Callable[[_Values], object]) -> Callable[[_Values], _Faults]:
    """For tables whose only damaged column can be the body."""

    def faults(row: _Values) -> _Faults:
        if why := _why(lambda: read(row)):
            yield "body", why

    return faults


def _needed(found: object) -> None:
    if found is None:
        raise ValueError("it cannot be understood")


def _check_text(row: _Values) -> None:
    text = str(unpack(row["body"]))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if _HASH.fullmatch(row["hash"]) and digest != row["hash"]:
        raise ValueError("it does not have its hash")


def _session_faults(row: _Values) -> _Faults:
    checks: dict[str, Callable[[], object]] = {
        "roots": lambda: _check_json(row["roots"], list),
        "options": lambda: _check_json(row["options"], dict),
        "kept": lambda: row["kept"] == "{}" or kept_from(row["kept"]),
        "usage": lambda: spent_from(row["requests"], row["usage"], row["cost"]),
    }
    checks |= {name: lambda name=name: (row[name] or "").encode() for name in _SESSION_TEXTS}  # type: ignore[misc]
    for column in _SESSION_TIMES:
        if not is_moment(row[column]):
            yield column, "it is no time"
    if row["archived"] not in {IN_USE, ARCHIVED}:
        yield "archived", "it is none of its values"
    for column, check in checks.items():
        if why := _why(check):
            yield column, why


def _check_json(text: str, kind: type) -> None:
    if not isinstance(json.loads(text), kind):
        raise TypeError(f"it is no {kind.__name__}")


def _version_faults(row: _Values) -> _Faults:
    if why := _why(row["path"].encode):
        yield "path", why
    if not row["lost"] and row["before_hash"] is not None and not _HASH.fullmatch(row["before_hash"]):
        yield "before_hash", "it is no hash"
    after = row["after_hash"]
    if after not in (None, UNKNOWN, FOLDER) and not _HASH.fullmatch(after):
        yield "after_hash", "it is no hash"


def _replace_message(connection: sqlite3.Connection, damage: Damage, row: _Values) -> None:
    match row["role"]:
        case "assistant":
            message = assistant_message(_LOST_MESSAGE, _lost_calls(connection, row))
        case "tool" if (call := _answered_call(connection, row)) is not None:
            message = tool_message(call, error(_LOST_RESULT).text, {"failed": True})
        case _:
            message = injected_message(_LOST_MESSAGE)
    connection.execute(
        "UPDATE messages SET role = ?, body = ? WHERE id = ?", (message["role"], pack(message), damage.key)
    )


def _lost_calls(connection: sqlite3.Connection, row: _Values) -> list[ToolCall]:
    """The calls of a damaged answer, from their results, and from what was shown of them."""
    arguments: dict[str, Mapping[str, Any]] = {}
    query = "SELECT kind, version, body, open FROM events WHERE session_id = ? AND turn = ? AND kind = 'tool'"
    for shown in connection.execute(query, (row["session_id"], row["turn"])):
        with contextlib.suppress(StoreError):
            known = (one for one in decoded(*shown) if isinstance(one, ToolRequested | ToolFinished))
            arguments |= {one.call_id: one.arguments for one in known}
    results = itertools.takewhile(_is_result, _messages_of_turn(connection, row, "id > ? ORDER BY id"))
    return [
        tool_call(call_id, str(result.get("name", "")), json.dumps(arguments.get(call_id, {})))
        for result in results
        if (call_id := result.get("tool_call_id"))
    ]


def _answered_call(connection: sqlite3.Connection, row: _Values) -> ToolCall | None:
    """The call that a damaged result belongs to: of the answer before it, the first that has no other result."""
    earlier = list(_messages_of_turn(connection, row, "id < ? ORDER BY id DESC"))
    answer = next((message for message in earlier if not _is_result(message)), None)
    if answer is None:
        return None
    later = _messages_of_turn(connection, row, "id > ? ORDER BY id")
    results = (*itertools.takewhile(_is_result, earlier), *itertools.takewhile(_is_result, later))
    answered = {result.get("tool_call_id") for result in results}
    return next((call for call in answer.get("tool_calls", ()) if call["id"] not in answered), None)


def _messages_of_turn(connection: sqlite3.Connection, row: _Values, which: str) -> Iterator[Message]:
    query = f"SELECT body FROM messages WHERE session_id = ? AND turn = ? AND {which}"  # noqa: S608 - constants
    for (body,) in connection.execute(query, (row["session_id"], row["turn"], row["id"])).fetchall():
        with contextlib.suppress(StoreError):
            yield unpack_message(body)


def _is_result(message: Message) -> bool:
    return message["role"] == "tool"


def _replace_event(connection: sqlite3.Connection, damage: Damage, _: _Values) -> None:
    (shown,) = unreadable()
    note = encode(shown)
    connection.execute(
        "UPDATE events SET kind = ?, version = ?, body = ?, open = 0 WHERE id = ?",
        (note.kind, note.version, pack(note.body), damage.key),
    )


def _delete(connection: sqlite3.Connection, damage: Damage, _: _Values) -> None:
    """What the session can do without: it is made anew, or of no use without what it said."""
    connection.execute(f"DELETE FROM {damage.table} WHERE id = ?", (damage.key,))  # noqa: S608 - a constant


def _delete_text(connection: sqlite3.Connection, damage: Damage, _: _Values) -> None:
    for column in ("system_hash", "tools_hash"):
        connection.execute(f"UPDATE sessions SET {column} = NULL WHERE {column} = ?", (damage.key,))  # noqa: S608 - constants
    connection.execute("DELETE FROM texts WHERE hash = ?", (damage.key,))


def _replace_in_session(connection: sqlite3.Connection, damage: Damage, row: _Values) -> None:
    if damage.column in _SESSION_TIMES:
        value: object = time.time()  # not the epoch: old sessions may be deleted
    else:
        value = _EMPTY[damage.column] if damage.column in _EMPTY else plain_text(row[damage.column])
    connection.execute(f"UPDATE sessions SET {damage.column} = ? WHERE id = ?", (value, damage.key))  # noqa: S608 - constants
    if damage.column == "options":  # they may have said that edits are asked about whatever the mode says
        connection.execute("UPDATE sessions SET mode = ? WHERE id = ?", (CAREFUL_MODE, damage.key))


def _replace_in_version(connection: sqlite3.Connection, damage: Damage, row: _Values) -> None:
    if damage.column == "after_hash":
        connection.execute("UPDATE file_versions SET after_hash = ? WHERE id = ?", (UNKNOWN, damage.key))
        return
    value = plain_text(row["path"]) if damage.column == "path" else None
    connection.execute(
        f"UPDATE file_versions SET {damage.column} = ?, lost = ? WHERE id = ?",  # noqa: S608 - constants
        (value, _LOST_RECORD, damage.key),
    )


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
_KINDS = (
    _Kind(
        "messages",
        ("id", "session_id", "turn", "role", "body", "created_at"),
        _body_faults(lambda row: unpack_message(row["body"])),
        lambda row, _: _of(_SAID.get(row["role"], "a message"), row),
        _replace_message,
    ),
    _Kind(
        "events",
        ("id", "session_id", "turn", "position", "kind", "version", "body", "open", "created_at"),
        _body_faults(lambda row: decoded(row["kind"], row["version"], row["body"], row["open"])),
        lambda row, _: _of("something that was shown", row),
        _replace_event,
    ),
    _Kind(
        "compactions",
        ("id", "session_id", "turn", "number", "messages", "last_message", "body", "created_at"),
        _body_faults(lambda row: unpack_compaction(row["body"])),
        lambda row, _: _of("a compression", row),
        _delete,
    ),
    _Kind(
        "news",
        ("id", "session_id", "name", "body", "created_at"),
        _body_faults(lambda row: _needed(news_from(row["name"], row["body"], row["created_at"]))),
        lambda row, _: _of("news of the background", row),
        _delete,
    ),
    _Kind(
        "tasks",
        ("id", "session_id", "name", "state", "body", "started_at", "ended_at"),
        _body_faults(
            lambda row: _needed(task_from(row["name"], row["state"], row["body"], row["started_at"], row["ended_at"]))
        ),
        lambda row, _: _of("a background task", row, "started_at"),
        _delete,
    ),
    _Kind(
        "file_versions",
        ("id", "session_id", "turn", "path", "before_hash", "after_hash", "lost", "created_at"),
        _version_faults,
        lambda row, _: _of(f"the record of a change of {shown_path(path_from(row['path']))}", row),
        _replace_in_version,
    ),
    _Kind(
        "texts",
        ("hash", "sessions.id", "body"),
        _body_faults(_check_text),
        lambda _, __: "its system prompt or list of tools (made anew)",
        _delete_text,
        source="texts JOIN sessions ON texts.hash IN (system_hash, tools_hash)",
    ),
    _Kind(
        "sessions",
        ("id", "sessions.id", *_EMPTY, *_SESSION_TIMES, *_SESSION_TEXTS, "requests", "cost"),
        _session_faults,
        lambda _, column: _OF_SESSION.get(column, f"its {column}"),
        _replace_in_session,
    ),
)
