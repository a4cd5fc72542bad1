"""Examining and mending databases that are really damaged."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import asdict, replace

import pytest

from agent_core.errors import StoreError
from agent_core.sessions.database import Database
from agent_core.sessions.leases import this_process
from agent_core.sessions.repair import examine, repair
from agent_core.sessions.schema import known_migrations
from tests.support.filled_database import counted, damage, fill, overwrite, pages_of

NOW = 1_700_000_000.0
WHOLE = {"sessions": 20, "turns": 100, "messages": 200, "events": 100, "texts": 20, "file_versions": 20}
KILLED = """
import os, sys
from pathlib import Path
from agent_core.sessions.repair import repair
setattr(os, sys.argv[2], lambda *_: os._exit(9))
repair(Path(sys.argv[1]))
"""
KEEP_OPEN = """
import sys
from pathlib import Path
from agent_core.sessions.database import Database
database = Database(Path(sys.argv[1]))
with database.read() as connection:
    connection.execute("SELECT count(*) FROM sessions").fetchone()
print("open", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    home = tmp_path_factory.mktemp("filled") / "home"
    fill(home / "hermes-acp.db")
    assert counted(home / "hermes-acp.db") == WHOLE
    return home


@pytest.fixture
def path(filled, tmp_path):
    shutil.copytree(filled, tmp_path / "home")
    return tmp_path / "home" / "hermes-acp.db"


@contextlib.contextmanager
def plain(path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def subjects(path):
    return {problem.subject for problem in examine(path, now=NOW).problems}


def saved(path):
    """What is in the file after a repair; it is in order, and a store can write it."""
    assert subjects(path) == set()
    database = Database(path)
    with database.write() as connection:
        connection.execute("INSERT INTO texts VALUES ('after', '1')")
    with database.write() as connection:
        connection.execute("DELETE FROM texts WHERE hash = 'after'")
    database.close()
    assert subjects(path) == set()
    return counted(path)


def files(path):
    return {entry.name: entry.read_bytes() for entry in path.parent.iterdir() if entry.is_file()}


def test_a_database_in_order_is_told_as_it_is_and_left_as_it_is(path):
    before = files(path)
    found = examine(path, now=NOW)
    assert (found.exists, found.fault, found.problems, found.remedy) == (True, "", [], "")
    assert (found.sessions, found.messages) == (20, 200)
    assert found.version == known_migrations()[-1].number
    assert found.size == path.stat().st_size
    assert found.contents == 20
    report = repair(path, now=NOW)
    assert (report.done, report.refused, report.set_aside) == ((), "", None)
    assert files(path) == before


def test_where_there_is_no_database_nothing_is_wrong_and_nothing_is_made(tmp_path):
    path = tmp_path / "home" / "hermes-acp.db"
    assert not examine(path).exists
    assert repair(path).done == ()
    assert not path.parent.exists()


@pytest.mark.parametrize("is_in_use", [True, False])
def test_examining_reads_what_is_in_the_log_and_leaves_it_there(path, is_in_use):
    database = Database(path)
    with database.write() as connection:
        connection.execute(
            "INSERT INTO sessions (id, cwd, source, mode, root_id, created_at, updated_at)"
            " VALUES ('new', '/', 'acp', 'default', 'new', 1, 1)"
        )
    if not is_in_use:  # as a killed process leaves it
        shutil.copytree(path.parent, path.parent.parent / "copy")
        path = path.parent.parent / "copy" / path.name
    before = path.read_bytes(), path.with_name("hermes-acp.db-wal").read_bytes()
    command = "import sys, pathlib; from agent_core.sessions.repair import examine\n"
    command += "found = examine(pathlib.Path(sys.argv[1])); print(found.sessions, len(found.problems))"
    said = subprocess.run([sys.executable, "-c", command, path], capture_output=True, text=True, check=True)
    assert said.stdout == "21 0\n"
    assert (path.read_bytes(), path.with_name("hermes-acp.db-wal").read_bytes()) == before
    database.close()


def test_a_damaged_page_of_messages_costs_the_messages_on_it_alone(path):
    pages = pages_of(path, "messages")
    assert len(pages) > 10
    overwrite(path, pages[len(pages) // 2])
    broken = path.read_bytes()
    assert examine(path, now=NOW).remedy == "rebuild"
    with pytest.raises(StoreError, match="doctor --fix"):
        list(read_messages(path))
    report = repair(path, now=NOW)
    assert report.refused == ""
    assert (
        report.set_aside.name.startswith("hermes-acp.db.broken-20231114-") or "broken-202311" in report.set_aside.name
    )
    assert report.set_aside.read_bytes() == broken
    assert str(report.set_aside) in report.done[0]
    left = saved(path)
    assert 190 <= left["messages"] < 200
    assert {**left, "messages": 200} == WHOLE
    assert f" {left['messages']} messages," in report.done[1]
    assert report.done[2].endswith(f"in the broken file only: {200 - left['messages']} of messages.")


def read_messages(path):
    database = Database(path)
    try:
        with database.read() as connection:
            return connection.execute("SELECT * FROM messages").fetchall()
    finally:
        database.close()


@pytest.mark.parametrize("table", ["sessions", "turns", "messages", "events", "texts", "file_versions"])
@pytest.mark.parametrize("place", [0, -1])
def test_whatever_table_a_page_is_lost_of_the_rest_is_saved(path, table, place):
    page = pages_of(path, table)[place]
    overwrite(path, page, os.urandom(4096))
    repair(path, now=NOW)
    left = saved(path)
    assert {**left, table: 0, "sessions": 0, "turns": 0} == {**WHOLE, table: 0, "sessions": 0, "turns": 0}
    if table != "texts":
        assert (left["sessions"], left["turns"]) == (20, 100)  # made anew from what refers to them, if need be


def test_a_session_whose_own_row_is_lost_gets_a_new_one(path):
    for page in pages_of(path, "sessions"):
        overwrite(path, page)
    report = repair(path, now=NOW)
    assert "20 sessions had lost their title and directory: «Recovered session»." in report.done
    assert {**saved(path), "texts": 20} == WHOLE
    with plain(path) as connection:
        row = connection.execute("SELECT title, source, turns_begun, root_id FROM sessions WHERE id = 'session-007'")
        assert row.fetchone() == ("Recovered session", "recovered", 5, "session-007")


def test_a_file_that_was_cut_off_is_saved_as_far_as_it_reaches(path):
    with path.open("r+b") as stream:
        stream.truncate(path.stat().st_size * 2 // 3)
    assert examine(path, now=NOW).remedy == "rebuild"
    report = repair(path, now=NOW)
    assert report.set_aside is not None
    left = saved(path)
    assert left["messages"] > 50
    assert left["sessions"] == 20


@pytest.mark.parametrize("length", [16, 100, 4096])
@pytest.mark.parametrize("filler", [b"\0", b"\xa5"])
def test_a_file_whose_beginning_is_lost_is_saved_whole(path, length, filler):
    overwrite(path, 1, filler * length)
    found = examine(path, now=NOW)
    assert found.remedy == "rebuild"
    assert found.fault in {"corrupt", "foreign"}
    report = repair(path, now=NOW)
    assert report.set_aside.exists()
    assert saved(path) == WHOLE


@pytest.mark.parametrize("seed", range(16))
def test_whatever_the_damage_a_repair_ends_with_a_file_in_order_and_the_broken_one_kept(path, seed):
    damage(path, seed)
    broken = path.read_bytes()
    remedy = examine(path, now=NOW).remedy
    report = repair(path, now=NOW)
    assert (report.refused, report.set_aside is not None) == ("", remedy == "rebuild")
    if report.set_aside is not None:
        assert report.set_aside.read_bytes() == broken
    saved(path)
    names = {entry.name for entry in path.parent.iterdir() if ".broken-" not in entry.name}
    assert names == {"hermes-acp.db", "blobs"}


def test_a_file_with_nothing_to_save_is_set_aside_and_a_new_one_begun(path):
    rubbish = os.urandom(50_000)
    path.write_bytes(rubbish)
    report = repair(path, now=NOW)
    assert report.set_aside.read_bytes() == rubbish
    assert set(saved(path).values()) == {0}


def test_two_repairs_in_one_second_keep_both_broken_files(path):
    path.write_bytes(b"first" * 1000)
    first = repair(path, now=NOW).set_aside
    path.write_bytes(b"second" * 1000)
    second = repair(path, now=NOW).set_aside
    assert (first.read_bytes()[:5], second.read_bytes()[:6]) == (b"first", b"second")


def test_rubbish_in_the_place_of_the_log_costs_nothing(path):
    log = path.with_name("hermes-acp.db-wal")
    log.write_bytes(b"rubbish" * 3000)
    assert repair(path, now=NOW).refused == ""
    assert saved(path) == WHOLE


def test_a_log_that_is_damaged_in_the_middle_is_read_up_to_there(path):
    database = Database(path)
    for number in range(20):
        with database.write() as connection:
            connection.execute("INSERT INTO texts VALUES (?, ?)", (f"new-{number}", json.dumps("x" * 900)))
    copy = path.parent.parent / "copy"
    copy.mkdir(mode=0o700)
    for entry in (path, path.with_name("hermes-acp.db-wal")):
        (copy / entry.name).write_bytes(entry.read_bytes())
        (copy / entry.name).chmod(0o600)
    database.close()
    log = copy / "hermes-acp.db-wal"
    size = log.stat().st_size
    with log.open("r+b") as stream:
        stream.seek(size // 2)
        stream.write(b"\xa5" * 200)
    assert subjects(copy / path.name) == set()
    with plain(copy / path.name) as connection:
        assert 20 < connection.execute("SELECT count(*) FROM texts").fetchone()[0] < 40


def test_a_row_that_makes_no_sense_keeps_its_place_and_is_set_aside_in_the_new_file(path):
    with plain(path) as connection:
        connection.execute("UPDATE messages SET body = x'00112233' WHERE id = 7")
        connection.execute("UPDATE sessions SET options = '{broken' WHERE id = 'session-003'")
    overwrite(path, pages_of(path, "events")[0])
    report = repair(path, now=NOW)
    assert not any("of messages" in text for text in report.done)
    assert sum("set aside, in the table damaged_rows" in text for text in report.done) == 2
    assert saved(path)["messages"] == 200
    with plain(path) as connection:
        row = connection.execute("SELECT options, cwd FROM sessions WHERE id = 'session-003'").fetchone()
        kept = connection.execute("SELECT value FROM damaged_rows WHERE table_name = 'messages'").fetchall()
    assert row == ("{}", "/srv/project")
    assert kept == [(b"\x00\x11\x22\x33",)]


def test_an_index_that_is_not_in_the_schema_any_more_comes_back(path):
    with plain(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = 'messages_by_session'")
    assert "schema" in subjects(path)
    repair(path, now=NOW)
    assert saved(path) == WHOLE


def test_entries_that_are_missing_from_an_index_come_back(path):
    (root,) = read_one(path, "SELECT rootpage FROM sqlite_master WHERE name = 'file_versions_by_hash'")
    overwrite(path, root, bytes([0x0A, 0, 0, 0, 0, 0x10, 0, 0]) + bytes(4088))  # an index page without entries
    found = examine(path, now=NOW)
    assert {problem.subject for problem in found.problems} == {"index"}
    assert found.remedy == "in place"
    report = repair(path, now=NOW)
    assert report.set_aside is None
    assert saved(path) == WHOLE


def read_one(path, query):
    with plain(path) as connection:
        return connection.execute(query).fetchone()


def test_a_search_index_that_does_not_match_is_made_anew_in_place(path):
    with plain(path) as connection:
        connection.execute(
            "INSERT INTO search_texts (message_id, session_id, hidden, created_at, user)"
            " VALUES (1, 'session-000', '', 3, 'hello world')"
        )
        connection.execute("INSERT INTO messages_fts (messages_fts) VALUES ('delete-all')")
    assert subjects(path) == {"search"}
    report = repair(path, now=NOW)
    assert report.set_aside is None
    assert subjects(path) == set()
    assert read_one(path, "SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'world'") == (1,)


@pytest.mark.parametrize("record", [b"\0\0\0\0\x8f\x51\0\0" + bytes(2 * 2001), b"\xff\xff", b""])
def test_a_search_index_that_cannot_be_opened_is_made_anew_in_place(path, record):
    with plain(path) as connection:
        connection.execute(
            "INSERT INTO search_texts (message_id, session_id, hidden, created_at, user)"
            " VALUES (1, 'session-000', '', 3, 'hello world')"
        )
        connection.execute("UPDATE messages_fts_data SET block = ? WHERE id = 10", (record,))
    assert subjects(path) == {"search"}
    report = repair(path, now=NOW)
    assert report.refused == ""
    assert report.set_aside is None
    assert saved(path) == WHOLE
    assert read_one(path, "SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'world'") == (1,)


def test_the_search_index_is_not_examined_while_sessions_are_in_use(path):
    holder = replace(this_process(), until=NOW + 60)
    with plain(path) as connection:
        connection.execute("INSERT INTO messages_fts (messages_fts) VALUES ('delete-all')")
        connection.execute(
            "INSERT INTO search_texts (message_id, session_id, hidden, created_at, user)"
            " VALUES (1, 'session-000', '', 3, 'hello world')"
        )
        connection.execute("INSERT INTO messages_fts (messages_fts) VALUES ('delete-all')")
        connection.execute(
            "UPDATE sessions SET holder = ?, holder_token = 't', holder_until = ? WHERE id = 'session-001'",
            (json.dumps(asdict(holder)), NOW + 60),
        )
    assert subjects(path) == set()


@pytest.mark.parametrize("at", ["fsync", "link", "replace"])
def test_a_repair_that_is_killed_leaves_all_as_it_was_and_the_next_one_does_it(path, at):
    overwrite(path, pages_of(path, "messages")[3])
    broken = path.read_bytes()
    assert subprocess.run([sys.executable, "-c", KILLED, path, at], check=False).returncode == 9
    assert path.read_bytes() == broken
    assert "drafts" in subjects(path)
    report = repair(path, now=NOW)
    assert report.set_aside.read_bytes() == broken
    assert not list(path.parent.glob("*.new*"))
    assert {**saved(path), "messages": 200} == WHOLE


def test_what_a_killed_repair_left_half_written_is_told_and_removed(path):
    child = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    left = [path.with_name(f"{path.name}.{int(child.stdout)}.new{suffix}") for suffix in ("", "-journal", ".copy")]
    own = path.with_name(f"{path.name}.{os.getpid()}.new")
    for draft in (*left, own):
        draft.write_bytes(b"half")
    assert subjects(path) == {"drafts"}
    assert len(repair(path, now=NOW).done) == 3
    assert [draft.exists() for draft in (*left, own)] == [False, False, False, True]
    assert saved(path) == WHOLE


def test_an_older_file_is_saved_in_its_own_format_and_brought_forward(path):
    with plain(path) as connection:
        connection.execute("DROP TABLE messages_fts")
        connection.execute("DROP TRIGGER messages_hidden")
        connection.execute("DROP TABLE search_texts")
        connection.execute("PRAGMA user_version = 2")
    overwrite(path, pages_of(path, "messages")[3])
    repair(path, now=NOW)
    left = saved(path)
    assert {**left, "messages": 200} == WHOLE
    assert examine(path, now=NOW).version == known_migrations()[-1].number


def test_a_pipe_in_its_place_is_not_waited_for(path):
    path.unlink()
    os.mkfifo(path)
    found = examine(path)
    assert (found.fault, found.remedy) == ("unavailable", "")


@pytest.mark.parametrize("foreign", [False, True])
def test_a_newer_and_another_programs_file_are_not_touched(path, foreign):
    with plain(path) as connection:
        connection.execute("PRAGMA application_id = 77" if foreign else "PRAGMA user_version = 999")
    before = files(path)
    found = examine(path, now=NOW)
    assert (found.fault, found.remedy) == ("foreign" if foreign else "newer", "")
    report = repair(path, now=NOW)
    assert report.set_aside is None
    assert "left alone" in report.refused
    assert files(path) == before


def test_while_a_living_process_prompts_a_session_the_file_is_not_replaced(path):
    holder = replace(this_process(), until=NOW + 60)
    facts = asdict(holder)
    with plain(path) as connection:
        connection.execute(
            "UPDATE sessions SET holder = ?, holder_token = 't', holder_until = ? WHERE id = 'session-001'",
            (json.dumps(facts), NOW + 60),
        )
        connection.execute(
            "UPDATE sessions SET holder = ?, holder_token = 'u', holder_until = ? WHERE id = 'session-002'",
            (json.dumps({**facts, "started": facts["started"].rpartition(" ")[0] + " 1"}), NOW + 60),
        )
    found = examine(path, now=NOW)
    assert [holder.pid for holder in found.holders] == [os.getpid()]
    overwrite(path, pages_of(path, "messages")[3])
    before = files(path)
    report = repair(path, now=NOW)
    assert f"process {os.getpid()}" in report.refused
    assert files(path)[path.name] == before[path.name]
    assert report.set_aside is None


def test_while_another_process_has_it_open_the_file_is_not_replaced(path):
    child = subprocess.Popen(
        [sys.executable, "-c", KEEP_OPEN, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "open\n"
        overwrite(path, pages_of(path, "messages")[3])
        report = repair(path, now=NOW)
        assert "another process has it open" in report.refused
        assert report.set_aside is None
    finally:
        child.communicate("\n", timeout=30)
    assert repair(path, now=NOW).set_aside is not None
