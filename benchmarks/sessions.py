"""Stored sessions: writing a message, a page of many, searching all, memory of idle ones.

The floors do with bare SQLite and JSON what cannot be done without: a row in a transaction, the
same query without anything around it.
"""

from __future__ import annotations

import json
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from agent_core.events import AgentText, ContextUsed, SaidText, ToolFinished, ToolRequested, UserSaid
from agent_core.home import Home
from agent_core.messages import assistant_message, tool_call, tool_message, user_message
from agent_core.sessions.library import SessionLibrary
from agent_core.sessions.records import NewSession
from agent_core.sessions.search_index import index_pending
from benchmarks.figures import HERMES, MEGABYTES, RAW, Quantity, Samples, Section
from benchmarks.stage import Stage
from tools.agent_ports import RecallQuery
from tools.result import ShownOutput, ToolResult

_APPENDS = 500
_SESSIONS = 10_000
_SEARCHED = 100_000
_IDLE = 100
_PAUSE = 2.0
_APPEND = Quantity("append of a message, with what happened")
_LIST = Quantity(f"session/list: a page of {_SESSIONS:,} sessions")
_SEARCH = Quantity(f"search in {_SEARCHED:,} messages")
_MEMORY = Quantity("resident for each idle session that is loaded", MEGABYTES, at_most=0.3)
_WORDS = ("parser", "request", "session", "window", "budget", "socket", "thread", "cursor", "schema", "buffer")
_CALLS = (4, 2)
_QUERY = "SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rank LIMIT 3"


def measure(stage: Stage) -> Section:
    samples = Samples()
    with tempfile.TemporaryDirectory(prefix="hermes-bench-sessions-") as directory:
        root = Path(directory)
        _appends(root / "append", samples)
        _lists(root / "list", samples)
        _searches(root / "search", samples)
    _idle_ones(stage, samples)
    return samples.section("Sessions", (_APPEND, _LIST, _SEARCH, _MEMORY))


def _appends(root: Path, samples: Samples) -> None:
    library = _library(root)
    bare = _bare(root / "bare.db")
    bare.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, session TEXT, body TEXT)")
    library.store.create_new(NewSession("bench", "/srv"))
    journal = library.store.journal("bench", "turn")
    library.store.begin_turn("bench", "turn")
    for number in range(_APPENDS):
        message = assistant_message(f"Answer {number}. " * 20)
        journal.record(AgentText(f"turn-message-{number}", f"Answer {number}. " * 20))
        _timed(samples, _APPEND, HERMES, partial(library.store.append, "bench", "turn", message))
        _timed(samples, _APPEND, RAW, partial(_insert, bare, message))
    library.store.end_turn("bench", "turn", "end_turn")
    bare.close()
    library.close()


def _found(bare: sqlite3.Connection, word: str) -> list[tuple[str]]:
    return bare.execute(_QUERY, (word,)).fetchall()


def _insert(bare: sqlite3.Connection, message: object) -> None:
    bare.execute("BEGIN IMMEDIATE")
    bare.execute("INSERT INTO messages (session, body) VALUES ('bench', ?)", (json.dumps(message),))
    bare.execute("COMMIT")


def _idle_ones(stage: Stage, samples: Samples) -> None:
    home = stage.home()
    library = SessionLibrary(Home(home))
    for number in range(_IDLE):
        library.store.create_new(NewSession(f"idle-{number}", str(stage.workspace)))
        _live_through(library, f"idle-{number}", 2)
    library.close()
    place = {"cwd": str(stage.workspace), "mcpServers": []}
    for _ in range(stage.repetitions.memory):
        with stage.start(HERMES) as agent:
            agent.open()
            agent.request("session/load", {"sessionId": "idle-0", **place})
            time.sleep(_PAUSE)  # what is loaded behind it is the process's, not the next ones'
            before = agent.resident_megabytes()
            for number in range(1, _IDLE):
                agent.request("session/load", {"sessionId": f"idle-{number}", **place})
            samples.add(_MEMORY, HERMES, (agent.resident_megabytes() - before) / (_IDLE - 1))


def _lists(root: Path, samples: Samples) -> None:
    library = _library(root)
    with library.database.write() as connection:
        connection.executemany(
            "INSERT INTO sessions (id, cwd, source, mode, root_id, title, created_at, updated_at, turns_begun)"
            " VALUES (?, ?, 'acp', 'default', ?, ?, ?, ?, 1)",
            (
                (f"s{number}", f"/srv/{number % 7}", f"s{number}", f"Title {number}", number, number)
                for number in range(_SESSIONS)
            ),
        )
        connection.executemany(
            "INSERT INTO turns (session_id, number, id, began_at, ended_at) VALUES (?, 1, 't', 1, 2)",
            ((f"s{number}",) for number in range(_SESSIONS)),
        )
    bare = sqlite3.connect(library.database.path)
    cursor = None
    for number in range(50):
        started = time.perf_counter()
        page = library.archive.page(cwd="/srv/3" if number % 2 else None, cursor=None if number % 2 else cursor)
        samples.add(_LIST, HERMES, 1000 * (time.perf_counter() - started))
        cursor = page.next_cursor if number % 2 == 0 else cursor
        _timed(samples, _LIST, RAW, lambda: bare.execute("SELECT * FROM sessions LIMIT 50").fetchall())
    bare.close()
    library.close()


def _searches(root: Path, samples: Samples) -> None:
    library, chance = _library(root), random.Random(1)
    per_session = 500
    for session in range(_SEARCHED // per_session):
        library.store.create_new(NewSession(f"s{session}", "/srv"))
        with library.database.write() as connection:
            connection.execute(
                "INSERT INTO turns (session_id, number, id, began_at, ended_at) VALUES (?, 1, 't', 1, 2)",
                (f"s{session}",),
            )
            connection.executemany(
                "INSERT INTO messages (session_id, turn, role, body, created_at) VALUES (?, 1, ?, ?, ?)",
                (
                    (f"s{session}", "user" if number % 2 else "assistant", _said(chance, session, number), number)
                    for number in range(per_session)
                ),
            )
    while index_pending(library.database, 5000):
        pass
    bare = sqlite3.connect(library.database.path)
    for number in range(50):
        word = (
            f"topic{number * 3}" if number % 2 else f"{_WORDS[number % 10]} {_WORDS[(number + 3) % 10]} only{number}"
        )
        _timed(samples, _SEARCH, HERMES, partial(library.recall.search, RecallQuery(word)))
        _timed(samples, _SEARCH, RAW, partial(_found, bare, word))
    bare.close()
    library.close()


def _said(chance: random.Random, session: int, number: int) -> str:
    words = " ".join(chance.choice(_WORDS) for _ in range(30))
    role = "user" if number % 2 else "assistant"
    return json.dumps({"role": role, "content": f"{words} topic{session} only{number}"})


def _live_through(library: SessionLibrary, session: str, turns: int) -> None:
    """Turns with text, six tool calls each and their output."""
    store = library.store
    for number in range(turns):
        turn = f"{session}-{number}"
        journal = store.journal(session, turn)
        journal.record(UserSaid(f"{turn}-prompt", (SaidText(f"Please look at part {number}."),)))
        store.begin_turn(session, turn)
        store.append(session, turn, user_message(f"Please look at part {number}."))
        for step, count in enumerate(_CALLS):
            text = f"I will look at {count} things. " * 5
            calls = [tool_call(f"{turn}-{step}-{each}", "terminal", '{"command": "ls"}') for each in range(count)]
            journal.record(AgentText(f"{turn}-message-{step + 1}", text))
            store.append(session, turn, assistant_message(text, calls))
            for call in calls:
                journal.record(ToolRequested(call["id"], "terminal", {"command": "ls"}, "/srv", announced=False))
                output = "a line of output\n" * 30
                result = ToolResult(output, (ShownOutput(output, 0),), {"exit_code": 0})
                journal.record(ToolFinished(call["id"], "terminal", {"command": "ls"}, "/srv", result))
                store.append(session, turn, tool_message(call, output))
        journal.record(AgentText(f"{turn}-message-3", "Done. " * 30))
        journal.record(ContextUsed(1000 + number, 100_000))
        store.append(session, turn, assistant_message("Done. " * 30))
        store.end_turn(session, turn, "end_turn")


def _library(root: Path) -> SessionLibrary:
    root.mkdir()
    return SessionLibrary(Home(root))


def _bare(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _timed(samples: Samples, quantity: Quantity, contender: str, work: Callable[[], object]) -> None:
    started = time.perf_counter()
    work()
    samples.add(quantity, contender, 1000 * (time.perf_counter() - started))
