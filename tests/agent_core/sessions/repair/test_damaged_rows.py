"""Every kind of stored row, damaged: found, set aside as it was, and replaced by what can be read."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
from datetime import UTC, datetime

import pytest

from agent_core.errors import StoreError
from agent_core.events import AgentText
from agent_core.messages import assistant_message, tool_call, tool_message, user_message
from agent_core.sessions.archive import SessionArchive
from agent_core.sessions.damaged_rows import damaged_rows, set_aside
from agent_core.sessions.database import Database, pack
from agent_core.sessions.repair import examine, repair
from agent_core.sessions.store import SessionStore
from tests.support.filled_database import fill

BROKEN = "CAST(x'7b80' AS TEXT)"
FILL = f"""
INSERT INTO compactions (session_id, turn, number, messages, last_message, body, created_at)
    VALUES ('session-001', 1, 0, 2, 12, {BROKEN}, 3);
INSERT INTO news (session_id, name, body, created_at) VALUES ('session-001', 'n', '{{"kind": "unheard-of"}}', 3);
INSERT INTO tasks (session_id, name, state, body, started_at) VALUES ('session-001', 't', 'running', '[]', 3);
UPDATE events SET body = '{{"text": 7}}' WHERE session_id = 'session-001' AND turn = 1;
UPDATE messages SET body = '{{"rolf": "user", "content": "x"}}' WHERE id = 5;
UPDATE file_versions SET before_hash = 'zz', path = CAST(x'2fff' AS TEXT) WHERE session_id = 'session-001';
UPDATE sessions SET options = 'null', roots = '{{}}', kept = '[', usage = '7', title = CAST(x'41ff' AS TEXT)
    WHERE id = 'session-001';
"""
COLUMNS = {
    ("compactions", "body"), ("news", "body"), ("tasks", "body"), ("events", "body"), ("messages", "body"),
    ("file_versions", "before_hash"), ("file_versions", "path"), ("sessions", "options"), ("sessions", "roots"),
    ("sessions", "kept"), ("sessions", "usage"), ("sessions", "title"),
}  # fmt: skip


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    home = tmp_path_factory.mktemp("filled") / "home"
    fill(home / "hermes-acp.db", sessions=3, turns=2)
    return home


@pytest.fixture
def path(filled, tmp_path):
    shutil.copytree(filled, tmp_path / "home")
    return tmp_path / "home" / "hermes-acp.db"


@contextlib.contextmanager
def plain(path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.text_factory = bytes
        yield connection


def test_each_kind_of_row_is_found_by_examining_named_and_set_aside_by_a_repair(path):
    with plain(path) as connection:
        connection.executescript(FILL)
    found = examine(path).problems
    assert len(found) == 1, found
    (problem,) = found
    assert (problem.subject, problem.remedy) == ("rows", "in place")
    assert "session-001" in problem.text
    (done,) = repair(path).done
    assert "session-001" in done
    assert examine(path).problems == []
    with plain(path) as connection:
        kept = connection.execute("SELECT table_name, column_name, value FROM damaged_rows").fetchall()
        assert {(table.decode(), column.decode()) for table, column, _ in kept} == COLUMNS
        assert (b"sessions", b"title", b"A\xff") in kept
        row = connection.execute("SELECT mode, options, title FROM sessions WHERE id = 'session-001'").fetchone()
        assert row == (b"default", b"{}", "A�".encode())
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (12,)
        lost = connection.execute("SELECT lost FROM file_versions WHERE session_id = 'session-001'").fetchone()
        assert lost[0]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("updated_at", "1e300"), ("updated_at", "9e999"), ("created_at", "-5"), ("created_at", "1e12"),
        ("archived", "2147483648"), ("archived", "3"), ("archived", "-1"), ("holder_until", "1e300"),
        ("holder", "'{\"host\": 1, \"pid\": 1e999, \"started\": 1, \"program\": 1}'"),
    ],
)  # fmt: skip
def test_a_damaged_column_of_one_session_hides_no_session_and_is_repaired(path, column, value):
    with plain(path) as connection:
        connection.execute("UPDATE sessions SET holder_token = 't', holder = '{}', holder_until = 1")
        connection.execute(f"UPDATE sessions SET {column} = {value} WHERE id = 'session-001'")
    assert len(examine(path).problems) == (not column.startswith("holder"))
    database = Database(path)
    page = SessionArchive(database).page()
    assert [datetime.fromtimestamp(session.updated_at, UTC) for session in page.sessions]
    assert len(page.sessions) >= 2
    database.close()
    repair(path)
    assert examine(path).problems == []
    database = Database(path)
    store = SessionStore(database, background=False)
    for session in ("session-000", "session-001", "session-002"):
        assert SessionArchive(database).get(session).updated_at >= 0
        store.begin_turn(session, f"new {session}")
        assert len(store.messages(session)) == 4
    store.close()
    database.close()


def test_looking_changes_nothing_and_what_is_in_order_is_left_alone(path):
    before = path.read_bytes()
    assert examine(path).problems == []
    assert repair(path).done == ()
    assert path.read_bytes() == before


def test_a_file_of_an_earlier_format_is_brought_forward_with_a_copy_before_its_rows_are_set_aside(path):
    with plain(path) as connection:
        connection.execute("DROP TABLE damaged_rows")
        connection.execute("PRAGMA user_version = 6")
        connection.execute("UPDATE messages SET body = '{' WHERE id = 3")
    repair(path)
    assert examine(path).problems == []
    assert path.with_name("hermes-acp.db.v6.bak").exists()


@pytest.mark.parametrize("body", [40, 1500])
@pytest.mark.parametrize("seed", range(6))
def test_whichever_bit_of_a_row_flips_the_session_can_be_read_or_the_file_is_rebuilt(tmp_path, seed, body):
    """Long bodies are compressed; of short ones a bit may make another letter, which nobody can see."""
    chance, path = random.Random(seed), tmp_path / "home" / "hermes-acp.db"
    fill(path, sessions=1, turns=4, body=body)
    with plain(path) as connection:
        tables = ("messages", "events", "texts", "sessions", "file_versions", "turns")
        query = f"SELECT pageno FROM dbstat WHERE name IN {tables} AND pagetype = 'leaf'"
        pages = [page for (page,) in connection.execute(query)]
    content = path.read_bytes()
    for _ in range(12):
        damaged = bytearray(content)
        damaged[(chance.choice(pages) - 1) * 4096 + chance.randrange(8, 4096)] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        found = examine(path)
        if found.remedy != "rebuild":
            database = Database(path)
            store = SessionStore(database, background=False)
            for session in [session for (session,) in read(database, "SELECT id FROM sessions")]:
                store.begin_turn(session, "new")
                assert all("role" in message for message in store.messages(session))
                store.kept(session)
                store.release(session)
            store.close()
            database.close()
        repair(path)
        assert examine(path).remedy == ""
        for left in path.parent.glob("hermes-acp.db*"):
            left.unlink()


def read(database, query):
    with database.read() as connection:
        return connection.execute(query).fetchall()


CALLS = [tool_call(name, "read_file", f'{{"path": "{name}"}}') for name in "abc"]
ROUND = [
    user_message("read them"),
    assistant_message("", CALLS),
    *(tool_message(call, f"content of {call['id']}") for call in CALLS),
    assistant_message("done"),
]


@pytest.mark.parametrize("lost", [2, 3, 4, 5])
def test_calls_keep_their_results_and_results_their_calls(tmp_path, lost):
    database = Database(tmp_path / "hermes-acp.db")
    store = SessionStore(database, background=False)
    store.create("s", "/srv")
    store.begin_turn("s", "t")
    store.journal("s", "t").record(AgentText("t-message-1", "x"))
    for message in ROUND:
        store.append("s", "t", message)
    store.release("s")
    with database.write() as connection:
        connection.execute("UPDATE messages SET body = ? WHERE id = ?", (pack("no message"), lost))
    messages = store.messages("s")
    assert [message["role"] for message in messages] == [message["role"] for message in ROUND]
    assert [call["id"] for call in messages[1]["tool_calls"]] == ["a", "b", "c"]
    assert [message["tool_call_id"] for message in messages[2:5]] == ["a", "b", "c"]
    for number, (message, was) in enumerate(zip(messages, ROUND, strict=True), 1):
        assert (message == was) is (number != lost)
    store.close()
    database.close()


def test_what_cannot_be_set_aside_is_told_as_damage(tmp_path):
    database = Database(tmp_path / "hermes-acp.db")
    store = SessionStore(database, background=False)
    store.create("s", "/srv")
    store.begin_turn("s", "t")
    store.append("s", "t", user_message("hello"))
    store.release("s")
    with database.write() as connection:
        connection.execute("UPDATE messages SET body = '{'")
    with contextlib.closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = SessionStore(Database(database.path, patience=0.05), background=False)
        with pytest.raises(StoreError, match="damaged"):
            waiting.messages("s")
        other.execute("ROLLBACK")
    assert waiting.messages("s")[0].get("injected")
    with database.read() as connection:
        assert list(damaged_rows(connection)) == []
    with database.write() as connection:
        assert set_aside(connection, "s", 1.0) == []
    store.close()
    database.close()
