"""What is deleted leaves no trace, holds nobody up, and is gone whatever interrupts it."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from agent_core.errors import SessionInUse, UnknownSession
from agent_core.messages import user_message
from agent_core.sessions.archive import SessionArchive, finish_deletes
from agent_core.sessions.database import Database
from agent_core.sessions.leases import claim, this_process
from agent_core.sessions.records import KeptState, NewSession
from agent_core.sessions.rows import packed_state, write_state
from agent_core.sessions.search_index import index_pending
from tests.support.stored_sessions import add_talk, add_turn, create, database_at, held_elsewhere, working_turn

SECRET = "correct horse battery staple"
OF_SESSIONS = ("turns", "messages", "events", "file_versions", "rewinds")


@pytest.fixture
def database(tmp_path):
    with closing(database_at(tmp_path)) as database:
        yield database


class Interrupted(Exception):
    """The process was killed, as far as a test of one process can tell."""


def interrupt(seconds):
    raise Interrupted


def full_session(database, session_id, turns=3, steps=3):
    """A session with rows in every table; all of its own words have SECRET in them."""
    archive = SessionArchive(database)
    create(archive.database, NewSession(session_id, f"/srv/{session_id}"))
    archive.name(session_id, SECRET, "person")
    for number in range(turns):
        messages, items = working_turn(f"{SECRET} {number}", steps)
        add_turn(database, session_id, f"{session_id}-{number}", messages, items)
    with database.write() as connection:
        connection.execute(
            "INSERT INTO search_texts (message_id, session_id, hidden, created_at, user)"
            " SELECT id, session_id, hidden, created_at, ? FROM messages WHERE session_id = ?",
            (f"{SECRET} {session_id}", session_id),
        )
        connection.execute(
            "INSERT INTO file_versions (session_id, turn, call_id, path, origin, created_at)"
            " VALUES (?, 1, 'c', ?, 'tool', 1)",
            (session_id, SECRET),
        )
        connection.execute(
            "INSERT INTO rewinds (session_id, first_turn, last_turn, created_at) VALUES (?, 1, 1, 1)", (session_id,)
        )
        state = KeptState(system=f"{SECRET} of {session_id}", tools=({"name": "shared"},))
        write_state(connection, session_id, packed_state(state))
    return archive


def rows_of(database, session_id):
    """How many rows there are of a session."""
    with database.read() as connection:
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table} WHERE session_id = ?", (session_id,)).fetchone()[
                0
            ]
            for table in (*OF_SESSIONS, "search_texts")
        }
        counts["sessions"] = connection.execute(
            "SELECT count(*) FROM sessions WHERE id = ?", (session_id,)
        ).fetchone()[0]
    return counts


def found_by_words(database, words):
    with database.read() as connection:
        return connection.execute(
            "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH ?", (words,)
        ).fetchone()[0]


def texts_left(database):
    with database.read() as connection:
        return connection.execute("SELECT count(*) FROM texts").fetchone()[0]


def assert_out_of_view(archive, session_id):
    for use in (archive.get, archive.find, archive.transcript):
        with pytest.raises(UnknownSession):
            use(session_id)
    for archived in (False, True):
        assert session_id not in {
            record.id for record in archive.page(archived=archived, with_empty=[session_id]).sessions
        }
    with pytest.raises(UnknownSession):
        archive.fork(session_id, NewSession("fork-of-deleted", "/srv"))
    with pytest.raises(UnknownSession):
        archive.update(session_id, this_process(), mode="plan")


def test_nothing_is_left_of_a_deleted_session_and_all_of_the_others(database):
    full_session(database, "other")
    before = rows_of(database, "other")
    archive = full_session(database, "gone")
    assert all(rows_of(database, "gone").values())
    assert archive.delete("gone") is True
    assert not any(rows_of(database, "gone").values())
    assert rows_of(database, "other") == before
    assert found_by_words(database, "gone") == 0
    assert found_by_words(database, "other") == before["messages"]
    assert texts_left(database) == 2, "its own system prompt is dropped, the shared tools stay"
    assert_out_of_view(archive, "gone")


def test_the_words_are_gone_from_the_file(database):
    archive = full_session(database, "gone")
    database.checkpoint()
    assert SECRET.encode() in database.path.read_bytes()
    archive.delete("gone")
    assert texts_left(database) == 0
    database.close()
    assert SECRET.encode() not in database.path.read_bytes()


def test_the_search_index_forgets_its_words_too(database):
    archive = full_session(database, "kept")
    for number in range(3):  # each time the index gets a part of its own
        add_turn(database, "kept", f"more-{number}", *working_turn(f"xylophone {number}", 1))
        index_pending(database)
    archive = full_session(database, "gone")
    add_turn(database, "gone", "last", *working_turn("zebraword", 1))
    index_pending(database)
    database.checkpoint()
    assert b"zebraword" in database.path.read_bytes()
    archive.delete("gone")
    assert found_by_words(database, "kept") > 0
    database.close()
    assert b"zebraword" not in database.path.read_bytes()


def test_deleting_again_and_deleting_nothing_do_nothing(database):
    archive = full_session(database, "gone")
    assert archive.delete("gone") is True
    assert archive.delete("gone") is False
    assert archive.delete("never was") is False


def test_a_session_that_another_living_process_holds_is_not_deleted(database):
    archive = full_session(database, "held")
    before = rows_of(database, "held")
    with held_elsewhere(database, "held") as pid:
        with pytest.raises(SessionInUse, match=rf"another program, process {pid}.*Close it there"):
            archive.delete("held")
        assert archive.prune(1e12) == ()
        assert rows_of(database, "held") == before
    assert archive.delete("held") is True, "its holder is dead"


def test_a_session_that_this_process_holds_can_be_deleted(database):
    archive = full_session(database, "mine")
    with database.write() as connection:
        claim(connection, "mine", this_process(), database.clock())
    assert archive.delete("mine") is True


def test_a_deletion_that_was_interrupted_is_out_of_view_and_is_finished_later(database):
    full_session(database, "half", turns=5, steps=10)
    with pytest.raises(Interrupted):
        SessionArchive(database, interrupt).delete("half")
    left = rows_of(database, "half")
    assert left["sessions"] == 1
    assert left["messages"] > 0
    archive = SessionArchive(database)
    assert_out_of_view(archive, "half")
    assert archive.delete("half") is False
    assert not any(rows_of(database, "half").values())


@pytest.mark.parametrize("finish", [finish_deletes, lambda database: SessionArchive(database).drop_empty(0.0)])
def test_whoever_tidies_up_finishes_it(database, finish):
    full_session(database, "half", turns=5)
    with pytest.raises(Interrupted):
        SessionArchive(database, interrupt).delete("half")
    finish(database)
    assert not any(rows_of(database, "half").values())
    assert texts_left(database) == 0


def test_an_id_can_be_used_again_while_its_session_is_on_its_way_out(database):
    full_session(database, "again", turns=5)
    with pytest.raises(Interrupted):
        SessionArchive(database, interrupt).delete("again")
    finish_deletes(database)
    archive = SessionArchive(database)
    create(archive.database, NewSession("again", "/srv/new"))
    assert archive.get("again").cwd == "/srv/new"
    assert archive.transcript("again").messages == ()
    finish_deletes(database)
    assert archive.get("again").cwd == "/srv/new"


def test_two_that_delete_the_same_do_not_hurt_each_other_or_a_new_session_of_that_id(database):
    full_session(database, "both", turns=10)
    raced = []

    def another_finishes(seconds):
        if not raced:
            raced.append(finish_deletes(database, lambda _: None))
            create(database, NewSession("both", "/srv/new"))
            add_talk(database, "both", "new")

    SessionArchive(database, another_finishes).delete("both")
    assert raced
    assert [stored.message["content"] for stored in SessionArchive(database).transcript("both").messages] == [
        "Hello.",
        "Hi.",
    ]


def test_between_two_batches_others_write(database):
    full_session(database, "big", turns=20, steps=20)
    other = Database(database.path, patience=0.5)
    written = []

    def pause(seconds):
        with other.write() as connection:
            connection.execute("UPDATE sessions SET mode = 'plan' WHERE id = 'big'")
        written.append(seconds)

    with closing(other):
        SessionArchive(database, pause).delete("big")
    assert len(written) > 3
    assert max(written) <= 0.01


def test_another_writer_does_not_wait_for_the_whole_of_a_large_deletion(database):
    archive = full_session(database, "big", turns=40, steps=24)
    create(archive.database, NewSession("live", "/srv"))
    add_turn(database, "live", "t", [user_message("x")], outcome=None)
    gone = threading.Event()
    written = []

    def live():
        while not gone.is_set():
            with database.write() as connection:
                connection.execute("UPDATE sessions SET mode = 'plan' WHERE id = 'live'")
            written.append(None)

    writer = threading.Thread(target=live)
    writer.start()
    archive.delete("big")
    gone.set()
    writer.join()
    assert len(written) > 20


def test_only_old_sessions_that_nobody_keeps_are_pruned(database):
    archive = SessionArchive(database)
    for session_id in ("old", "older", "kept", "held"):
        create(archive.database, NewSession(session_id, "/srv"))
        add_talk(database, session_id, "t")
    archive.archive("kept", archived=True)
    before = database.clock()
    create(archive.database, NewSession("new", "/srv"))
    add_talk(database, "new", "t")
    with held_elsewhere(database, "held"):
        assert sorted(archive.prune(before)) == ["old", "older"]
    assert {record.id for record in archive.page().sessions} == {"new", "held"}
    assert archive.get("kept").archived
    assert archive.prune(before) == ("held",)


def test_empty_sessions_are_dropped_once_they_are_old(database):
    archive = SessionArchive(database)
    for session_id in ("empty", "used", "held"):
        create(archive.database, NewSession(session_id, "/srv"))
    add_talk(database, "used", "t")
    before = database.clock()
    create(archive.database, NewSession("young", "/srv"))
    with held_elsewhere(database, "held"):
        assert archive.drop_empty(before) == 1
    ids = {record.id for record in archive.page(with_empty=["empty", "young", "held"]).sessions}
    assert ids == {"used", "young", "held"}
