"""Files of earlier formats are brought forward, whole or not at all."""

import contextlib
import fcntl
import os
import re
import sqlite3
import stat
import subprocess
import sys
import time

import pytest

from agent_core.errors import StoreError
from agent_core.sessions.database import Database
from agent_core.sessions.schema import Migration, OpenOptions, known_migrations, migrate, statements

STEPS = known_migrations()
NEWEST = STEPS[-1].number
SAMPLES = {
    1: """
        INSERT INTO sessions (id, cwd, source, mode, root_id, created_at, updated_at)
            VALUES ('s', '/srv/project', 'acp', 'default', 's', 1.0, 2.0);
        INSERT INTO turns (session_id, number, id, began_at) VALUES ('s', 1, 't', 1.0);
        INSERT INTO messages (session_id, turn, role, body, created_at)
            VALUES ('s', 1, 'user', '{"role":"user"}', 1.0);
        INSERT INTO messages (session_id, turn, role, body, created_at)
            VALUES ('s', 1, 'assistant', x'789c', 1.5);
        INSERT INTO events (session_id, turn, position, kind, version, body, created_at)
            VALUES ('s', 1, 1, 'said', 1, '{}', 1.0);
        INSERT INTO texts VALUES ('hash', 'a system prompt');
    """,
    2: """
        INSERT INTO file_versions (session_id, turn, call_id, path, origin, created_at)
            VALUES ('s', 1, 'c', '/srv/project/a', 'tool', 1.0);
        INSERT INTO rewinds (session_id, first_turn, last_turn, created_at) VALUES ('s', 1, 1, 3.0);
    """,
}
OPEN_AT_ONCE = """
import sys
from pathlib import Path
from agent_core.sessions.database import Database
print("ready", flush=True)
sys.stdin.readline()
database = Database(Path(sys.argv[1]))
with database.write(30.0) as connection:
    connection.execute("INSERT INTO texts VALUES (?, 'x')", (sys.argv[2],))
database.close()
"""


def made(path, version, *, is_wal=False):
    """A database as the program of that version left it, with rows."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if is_wal:
            connection.execute("PRAGMA journal_mode = wal")
        migrate(connection, STEPS[:version], 0)
        for number in range(1, version + 1):
            connection.executescript(SAMPLES.get(number, ""))
    return path


def schema(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
        ).fetchall()
        version = connection.execute("PRAGMA user_version").fetchone()
    return version, [(*row[:3], re.sub(r"\s+", " ", row[3] or "")) for row in rows]


def rows(path, version):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        tables = ["sessions", "turns", "messages", "events", "texts", *(["file_versions", "rewinds"] * (version > 1))]
        return {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in tables}


def open_and_close(path, **options):
    database = Database(path, patience=1, options=OpenOptions(**options))
    try:
        with database.read() as connection:
            return connection.execute("PRAGMA foreign_key_check").fetchall()
    finally:
        database.close()


def test_the_steps_are_numbered_without_a_gap_and_come_with_the_package():
    assert [step.number for step in STEPS] == list(range(1, NEWEST + 1))
    assert all(step.sql.strip() for step in STEPS)
    assert set(SAMPLES) <= set(range(1, NEWEST + 1))


@pytest.mark.parametrize("is_wal", [False, True])
@pytest.mark.parametrize("version", range(1, NEWEST))
def test_a_file_of_every_earlier_format_becomes_one_of_the_newest_and_keeps_its_rows(tmp_path, version, is_wal):
    fresh = tmp_path / "fresh.db"
    open_and_close(fresh)
    old = made(tmp_path / "old.db", version, is_wal=is_wal)
    before = rows(old, version)
    assert before["messages"]
    assert open_and_close(old) == []
    after = rows(old, version)
    for table, kept in before.items():
        width = len(kept[0]) if kept else 0
        assert [row[:width] for row in after[table]] == kept
    assert schema(old) == schema(fresh)


def test_before_the_first_step_a_copy_is_put_beside_the_file_and_only_the_newest_is_kept(tmp_path):
    old = made(tmp_path / "hermes-acp.db", 1)
    before = rows(old, 1)
    (tmp_path / "hermes-acp.db.v0.bak").write_text("an older one")
    (tmp_path / "hermes-acp.db.v1.bak.4711.tmp").write_text("half of one, of a process that was killed")
    open_and_close(old)
    copy = tmp_path / "hermes-acp.db.v1.bak"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["hermes-acp.db", "hermes-acp.db.v1.bak"]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert rows(copy, 1) == before
    assert schema(copy) == schema(made(tmp_path / "like.db", 1))


def test_a_new_file_and_one_in_order_are_not_copied(tmp_path):
    path = tmp_path / "hermes-acp.db"
    open_and_close(path)
    open_and_close(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["hermes-acp.db"]


@pytest.mark.parametrize("is_wal", [False, True])
def test_a_step_that_fails_leaves_the_file_as_the_old_program_can_use_it(tmp_path, is_wal):
    old = made(tmp_path / "hermes-acp.db", 2, is_wal=is_wal)
    before = schema(old), rows(old, 2)
    good = STEPS[:2]
    bad = Migration(
        3, "CREATE TABLE half (a);\nINSERT INTO texts VALUES ('new', 'x');\nINSERT INTO nowhere VALUES (1);"
    )
    with pytest.raises(StoreError, match="no such table: nowhere"):
        open_and_close(old, migrations=(*good, bad))
    assert (schema(old), rows(old, 2)) == before
    database = Database(old, options=OpenOptions(migrations=good))
    with database.write() as connection:
        connection.execute("INSERT INTO texts VALUES ('still', 'usable')")
    database.close()
    assert ("still", "usable") in rows(old, 2)["texts"]


def test_the_steps_before_one_that_fails_stay_done(tmp_path):
    path = made(tmp_path / "hermes-acp.db", 1)
    with pytest.raises(StoreError):
        open_and_close(path, migrations=(*STEPS[:2], Migration(3, "NONSENSE;")))
    assert schema(path) == schema(made(tmp_path / "like.db", 2))


def test_of_a_new_file_whose_steps_fail_nothing_is_left(tmp_path):
    with pytest.raises(StoreError):
        open_and_close(tmp_path / "hermes-acp.db", migrations=(*STEPS[:1], Migration(2, "NONSENSE;")))
    assert list(tmp_path.iterdir()) == []


def test_what_a_kill_left_of_a_new_file_is_cleared_away(tmp_path):
    (tmp_path / "hermes-acp.db.7.new").write_bytes(b"half")
    (tmp_path / "hermes-acp.db.7.new-journal").write_bytes(b"half")
    open_and_close(tmp_path / "hermes-acp.db")
    assert [path.name for path in tmp_path.iterdir()] == ["hermes-acp.db"]


def test_a_copy_that_cannot_be_made_keeps_the_file_from_being_changed(tmp_path):
    old = made(tmp_path / "hermes-acp.db", 1)
    before = old.read_bytes()
    (tmp_path / "hermes-acp.db.v1.bak").mkdir()
    with pytest.raises(StoreError):
        open_and_close(old)
    assert old.read_bytes() == before


def test_processes_that_start_at_once_bring_a_file_forward_once(tmp_path):
    path = made(tmp_path / "hermes-acp.db", 1, is_wal=True)
    command = [sys.executable, "-c", OPEN_AT_ONCE, str(path)]
    children = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for name in "abc"
    ]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    for child in children:
        child.communicate(timeout=30)
    assert [child.returncode for child in children] == [0, 0, 0]
    assert len(rows(path, 2)["texts"]) == 4
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["hermes-acp.db", "hermes-acp.db.v1.bak"]


@pytest.mark.parametrize("use", ["read", "write"])
def test_who_opens_a_file_that_another_process_brings_forward_waits_for_it(tmp_path, monkeypatch, use):
    path = made(tmp_path / "file.db", 1)
    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    database, waits = Database(path, patience=0.0), []

    def until_it_is_done(seconds):
        waits.append(seconds)
        os.close(other)

    monkeypatch.setattr(time, "sleep", until_it_is_done)
    with contextlib.closing(database), getattr(database, use)() as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (NEWEST,)
    assert len(waits) == 1


def test_a_script_is_split_where_statements_end_not_at_each_semicolon():
    script = """-- A comment; with a semicolon.
    CREATE TABLE a (b TEXT DEFAULT ';');
    CREATE TRIGGER t AFTER INSERT ON a BEGIN
        DELETE FROM a;
        DELETE FROM a;
    END;
    INSERT INTO a VALUES ('x;
    y');
    -- the end"""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        found = list(statements(script))
        assert len(found) == 4
        for text in found:
            connection.execute(text)
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (2,)
