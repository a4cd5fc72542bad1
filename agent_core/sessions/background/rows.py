"""Rows of the tables `news` and `tasks`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from agent_core.background.news import News, NewsKind
from agent_core.background.tasks import TaskInfo, TaskKind, TaskState
from agent_core.errors import StoreError
from agent_core.sessions.database.bodies import pack, unpack

_KEPT_FINISHED = 50
_NEWS_KINDS: Mapping[object, NewsKind] = {kind: kind for kind in get_args(NewsKind)}
_TASK_KINDS: Mapping[object, TaskKind] = {kind: kind for kind in get_args(TaskKind)}
_STATES: Mapping[object, TaskState] = {state: state for state in get_args(TaskState)}
# A session may have been deleted while something ran in it.
_IF_THERE = "FROM sessions WHERE id = ?1"
_DROP_OLD = (
    "DELETE FROM tasks WHERE session_id = ?1 AND state NOT IN ('running', 'paused') AND id NOT IN (SELECT id FROM"
    " tasks WHERE session_id = ?1 AND state NOT IN ('running', 'paused') ORDER BY id DESC LIMIT ?2)"
)


def insert_news(connection: sqlite3.Connection, session_id: str, news: News) -> None:
    """Add one; one that is there stays as it is."""
    body = pack(
        {"source": news.source, "kind": news.kind, "title": news.title, "text": news.text, "outcome": news.outcome}
    )
    connection.execute(
        f"INSERT OR IGNORE INTO news (session_id, name, body, created_at) SELECT ?1, ?2, ?3, ?4 {_IF_THERE}",
        (session_id, news.id, body, news.at),
    )


def delete_news(connection: sqlite3.Connection, session_id: str, names: Iterable[str]) -> None:
    """Take some away; unknown ones are passed over."""
    connection.executemany(
        "DELETE FROM news WHERE session_id = ? AND name = ?", [(session_id, name) for name in names]
    )


def read_news(connection: sqlite3.Connection, session_id: str) -> list[News]:
    """Those of a session, oldest first; damaged ones are passed over."""
    query = "SELECT name, body, created_at FROM news WHERE session_id = ? ORDER BY id"
    rows = connection.execute(query, (session_id,)).fetchall()
    return [news for name, body, at in rows if (news := news_from(name, body, at)) is not None]


def write_task(connection: sqlite3.Connection, session_id: str, task: TaskInfo) -> None:
    """Store a task as it is now; of those that are over only the latest stay."""
    body = pack({"kind": task.kind, "title": task.title, "detail": task.detail, "tells": task.tells})
    connection.execute(
        "INSERT INTO tasks (session_id, name, state, body, started_at, ended_at)"
        f" SELECT ?1, ?2, ?3, ?4, ?5, ?6 {_IF_THERE}"
        " ON CONFLICT (session_id, name) DO UPDATE SET state = excluded.state, body = excluded.body,"
        " started_at = excluded.started_at, ended_at = excluded.ended_at",
        (session_id, task.id, task.state, body, task.started_at, task.ended_at),
    )
    connection.execute(_DROP_OLD, (session_id, _KEPT_FINISHED))


def read_tasks(connection: sqlite3.Connection, session_id: str) -> list[TaskInfo]:
    """Those of a session, oldest first, as they were stored; damaged ones are passed over."""
    query = "SELECT name, state, body, started_at, ended_at FROM tasks WHERE session_id = ? ORDER BY started_at, id"
    rows = connection.execute(query, (session_id,)).fetchall()
    return [task for row in rows if (task := task_from(*row)) is not None]


def news_from(name: str, body: str | bytes, at: float) -> News | None:
    """What a row holds; None where it is damaged."""
    try:
        told: dict[str, Any] = unpack(body)
        kind = _NEWS_KINDS[told["kind"]]
        outcome = _STATES.get(told.get("outcome"))
        return News(str(told["source"]), kind, str(told["title"]), str(told["text"]), at, name, outcome)
    except (StoreError, KeyError, TypeError):
        return None


def task_from(name: str, state: str, body: str | bytes, began: float, ended: float | None) -> TaskInfo | None:
    """What a row holds; None where it is damaged."""
    try:
        told: dict[str, Any] = unpack(body)
        kind, title, detail = _TASK_KINDS[told["kind"]], str(told["title"]), str(told["detail"])
        return TaskInfo(name, kind, title, _STATES[state], began, ended, detail, told.get("tells") is not False)
    except (StoreError, KeyError, TypeError):
        return None
