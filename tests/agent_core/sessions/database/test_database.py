"""Transactions on the one database: threads, processes, failures."""

import os
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import pytest

from agent_core.errors import StoreError
from agent_core.sessions.database import Database
from agent_core.sessions.schema import OpenOptions
from tests.support.processes import open_descriptors

WRITE_MANY = """
import sys
from pathlib import Path
from agent_core.sessions.database import Database
database = Database(Path(sys.argv[1]))
name, count = sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    with database.write() as connection:
        connection.execute("INSERT INTO texts VALUES (?, 'body')", (f"{name}-{number}",))
database.close()
print("done", flush=True)
"""
HOLD = """
import sys
from pathlib import Path
from agent_core.sessions.database import Database
database = Database(Path(sys.argv[1]))
with database.write() as connection:
    connection.execute("INSERT INTO texts VALUES ('held', 'x')")
    print("holding", flush=True)
    sys.stdin.readline()
print("let go", flush=True)
"""


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "home" / "sessions.db")
    yield database
    database.close()


@pytest.fixture
def start():
    children = []

    def start(script, *arguments):
        command = [sys.executable, "-c", script, *map(str, arguments)]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        children.append(child)
        return child

    yield start
    for child in children:
        child.kill()
        child.communicate()


def put(database, name, body="body", **options):
    with database.write(**options) as connection:
        connection.execute("INSERT INTO texts VALUES (?, ?)", (name, body))


def stored(database):
    with database.read() as connection:
        return {row[0] for row in connection.execute("SELECT hash FROM texts")}


def test_what_was_committed_is_read(database):
    put(database, "a")
    assert stored(database) == {"a"}
    assert database.journal_mode == "wal"


def test_an_exception_takes_the_transaction_back_and_is_raised_as_it_is(database):
    class Unrelated(Exception):
        pass

    def fail():
        with database.write() as connection:
            connection.execute("INSERT INTO texts VALUES ('a', 'b')")
            raise Unrelated

    with pytest.raises(Unrelated):
        fail()
    assert stored(database) == set()
    put(database, "b")
    assert stored(database) == {"b"}


@pytest.mark.parametrize("statement", ["INSERT INTO nothing VALUES (1)", "INSERT INTO texts VALUES (NULL, 'x')"])
def test_an_error_of_sqlite_is_a_store_error_and_the_next_transaction_works(database, statement):
    def fail():
        with database.write() as connection:
            connection.execute("INSERT INTO texts VALUES ('a', 'b')")
            connection.execute(statement)

    with pytest.raises(StoreError, match=r"sessions\.db") as caught:
        fail()
    assert caught.value.kind == "unavailable"
    assert isinstance(caught.value.__cause__, sqlite3.Error)
    put(database, "c")
    assert stored(database) == {"c"}


def test_text_that_is_none_keeps_nobody_from_reading_the_rest(database):
    with database.write() as connection:
        connection.execute("INSERT INTO texts VALUES (CAST(x'ff41' AS TEXT), 'x')")
    put(database, "b")
    assert stored(database) == {"b", "\udcffA"}


def test_rows_refer_to_rows_that_exist(database):
    with pytest.raises(StoreError, match="FOREIGN KEY"), database.write() as connection:
        connection.execute("INSERT INTO turns (session_id, number, id, began_at) VALUES ('none', 1, 't', 0)")


def test_reading_cannot_write(database):
    with pytest.raises(StoreError) as caught, database.read() as connection:
        connection.execute("INSERT INTO texts VALUES ('a', 'b')")
    assert caught.value.kind == "read-only"


def test_a_snapshot_stays_what_it_was_while_others_write(database):
    put(database, "before")
    with database.read() as connection:
        writer = threading.Thread(target=put, args=(database, "meanwhile"))
        writer.start()
        writer.join(10)
        assert connection.execute("SELECT count(*) FROM texts").fetchone() == (1,)
    assert stored(database) == {"before", "meanwhile"}


def test_writing_within_a_transaction_or_a_snapshot_of_the_same_thread_is_a_mistake_that_is_told(database):
    with database.write(), pytest.raises(RuntimeError, match="within write"), database.write():
        pass
    with database.read(), pytest.raises(RuntimeError, match="within read"), database.write():
        pass
    with database.write() as connection, database.read() as snapshot:
        connection.execute("INSERT INTO texts VALUES ('a', 'b')")
        assert snapshot.execute("SELECT count(*) FROM texts").fetchone() == (0,)
    assert stored(database) == {"a"}


def test_threads_write_and_read_at_once_and_nothing_is_lost(database):
    def work(name):
        for number in range(100):
            put(database, f"{name}-{number}")
            assert f"{name}-{number}" in stored(database)

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(6))) == [None] * 6
    assert len(stored(database)) == 600


def test_a_thread_that_cannot_have_the_lock_in_time_is_told(database):
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with database.write():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(10)
    with pytest.raises(StoreError) as caught:
        put(database, "late", patience=0.02)
    assert caught.value.kind == "busy"
    leave.set()
    thread.join(10)
    put(database, "now")


def test_two_processes_write_a_thousand_transactions_each_and_none_is_refused(database, start):
    put(database, "first")
    children = [start(WRITE_MANY, database.path, name, 1000) for name in ("a", "b")]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    number = 0
    while any(child.poll() is None for child in children):
        put(database, f"own-{number}")
        number += 1
    assert [child.stdout.readline() for child in children] == ["done\n", "done\n"]
    assert len(stored(database)) == 2001 + number


def test_a_process_that_holds_the_lock_for_long_makes_the_others_wait_and_then_say_why(database, start):
    child = start(HOLD, database.path)
    assert child.stdout.readline() == "holding\n"
    with pytest.raises(StoreError, match="another program holds it") as caught:
        put(database, "early", patience=0.1)
    assert caught.value.kind == "busy"
    assert str(database.path) in str(caught.value)
    assert stored(database) == set()  # reading goes on meanwhile
    waiting = threading.Thread(target=put, args=(database, "patient"))
    waiting.start()
    child.stdin.write("\n")
    child.stdin.flush()
    waiting.join(10)
    assert stored(database) == {"held", "patient"}


def test_a_killed_process_leaves_neither_a_lock_nor_half_a_transaction(database, start):
    child = start(HOLD, database.path)
    assert child.stdout.readline() == "holding\n"
    child.kill()
    child.wait(10)
    put(database, "after")
    assert stored(database) == {"after"}


def test_without_a_log_a_commit_waits_for_readers_and_then_succeeds(tmp_path):
    database = Database(tmp_path / "sessions.db", options=OpenOptions(wal=False))
    put(database, "a")
    assert database.journal_mode == "delete"
    reading, leave = threading.Event(), threading.Event()

    def read():
        with database.read() as connection:
            connection.execute("SELECT * FROM texts").fetchall()
            reading.set()
            leave.wait(30)

    reader = threading.Thread(target=read)
    reader.start()
    assert reading.wait(10)
    with pytest.raises(StoreError) as caught:
        put(database, "refused", patience=0.05)
    assert caught.value.kind == "busy"
    writer = threading.Thread(target=put, args=(database, "b"))
    writer.start()
    leave.set()
    reader.join(10)
    writer.join(10)
    assert stored(database) == {"a", "b"}
    database.close()


def test_a_checkpoint_moves_the_log_into_the_file_and_a_huge_log_is_emptied(database, monkeypatch):
    database.checkpoint()  # nothing is open: nothing happens
    assert not database.path.exists()
    put(database, "a", "x" * 200_000)
    with database.read() as connection:
        database.checkpoint()
        assert connection.execute("SELECT count(*) FROM texts").fetchone() == (1,)
    assert database.path.stat().st_size > 200_000
    wal = database.path.with_name("sessions.db-wal")
    assert wal.stat().st_size > 200_000
    monkeypatch.setattr("agent_core.sessions.database.HUGE_LOG", 100_000)
    database.checkpoint()
    assert wal.stat().st_size == 0
    put(database, "b")
    assert stored(database) == {"a", "b"}


def test_a_log_that_somebody_removed_takes_nothing_that_is_written_afterwards(database):
    put(database, "a")
    stored(database)
    for name in ("sessions.db-wal", "sessions.db-shm"):
        database.path.with_name(name).unlink()
    put(database, "b")
    with closing(sqlite3.connect(database.path)) as other:
        assert ("b",) in other.execute("SELECT hash FROM texts").fetchall()
    assert "b" in stored(database)


def test_a_file_that_was_emptied_is_made_anew_by_the_process_that_has_it_open(tmp_path):
    database = Database(tmp_path / "home" / "sessions.db", patience=0.2)
    put(database, "a")
    os.truncate(database.path, 0)
    for _ in range(2):  # what was open is found out to be of no use, and given up
        with suppress(StoreError):
            put(database, "b")
    with suppress(StoreError):
        stored(database)
    put(database, "c")
    assert "c" in stored(database)
    database.close()


def test_closing_leaves_one_file_and_a_later_use_opens_it_again(database):
    put(database, "a")
    stored(database)
    database.close()
    assert [entry.name for entry in database.path.parent.iterdir()] == ["sessions.db"]
    put(database, "b")
    assert stored(database) == {"a", "b"}


def test_a_use_behind_the_end_is_done_and_leaves_nothing_open(database):
    put(database, "a")
    database.close()
    before = open_descriptors()

    put(database, "late")

    assert stored(database) == {"a", "late"}
    assert open_descriptors() == before
