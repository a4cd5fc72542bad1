"""What is done by the clock: checkpoints of streamed text, leases, backlogs, and work that can wait."""

from __future__ import annotations

import threading

from agent_core.errors import StoreError
from agent_core.events import AgentText
from agent_core.messages import user_message
from agent_core.sessions.database import Database, unpack
from agent_core.sessions.leases import LEASE
from agent_core.sessions.store import SessionStore
from tests.support.session_database import Desk
from tests.support.waiting import wait_until

HELLO = user_message("hello")


def texts(desk: Desk) -> list[str]:
    return [str(unpack(body)) for (body,) in desk.rows("SELECT body FROM events ORDER BY id")]


def test_streamed_text_is_stored_within_a_second_though_no_message_comes(desk):
    journal = desk.store.journal("s", "t1")
    desk.store.begin_turn("s", "t1")
    journal.record(AgentText("m", "half an answ"))
    pause = desk.store.tick()
    assert pause is not None
    assert pause <= 1.0
    assert "half an answ" in texts(desk)[0]


def test_a_tick_without_news_writes_nothing(desk):
    desk.store.journal("s", "t1").record(AgentText("m", "text"))
    desk.store.begin_turn("s", "t1")
    desk.store.tick()
    log = desk.path.with_name("hermes-acp.db-wal")
    before = log.read_bytes()
    desk.clock.now += 0.5
    desk.store.tick()
    assert log.read_bytes() == before


def test_leases_are_renewed_every_ten_seconds_while_a_turn_runs(desk):
    desk.store.begin_turn("s", "t1")
    for passed, renewed in ((0, True), (9, False), (2, True), (9, False)):
        desk.clock.now += passed
        desk.time.now += passed
        desk.store.tick()
        [(until,)] = desk.rows("SELECT holder_until FROM sessions")
        assert (until == desk.time.now + LEASE) is renewed


def test_at_rest_nothing_is_renewed_and_nothing_is_due(desk):
    desk.store.begin_turn("s", "t1")
    desk.store.tick()
    desk.store.end_turn("s", "t1")
    [before] = desk.rows("SELECT holder_until FROM sessions")
    for _ in range(3):
        desk.clock.now += 20
        desk.time.now += 20
        due = desk.store.tick()
    assert due is None
    assert desk.rows("SELECT holder_until FROM sessions") == [before]


def test_a_turn_after_a_rest_renews_the_lease_as_it_begins(desk):
    desk.store.begin_turn("s", "t1")
    desk.store.end_turn("s", "t1")
    desk.time.now += 10 * LEASE
    desk.store.begin_turn("s", "t2")
    assert desk.rows("SELECT holder_until FROM sessions") == [(desk.time.now + LEASE,)]


def test_a_tick_tells_when_the_next_is_due(desk):
    assert desk.store.tick() == 1.0  # what was written may be tidied up then
    desk.clock.now += 1
    assert desk.store.tick() is None
    desk.store.begin_turn("s", "t1")
    assert desk.store.tick() == 1.0
    desk.store.end_turn("s", "t1")
    desk.store.tick()
    desk.clock.now += 1
    assert desk.store.tick() == 9.0
    desk.store.release("s")
    desk.store.tick()
    desk.clock.now += 20
    assert desk.store.tick() is None


def test_what_can_wait_is_done_when_nothing_was_written_for_a_second(tmp_path):
    done: list[int] = []

    def job() -> bool:
        done.append(1)
        return len(done) < 5

    desk = Desk(tmp_path / "hermes-acp.db", idle_jobs=(job,))
    desk.store.create("s", "/srv/project")
    desk.store.begin_turn("s", "t1")
    desk.store.tick()
    desk.clock.now += 0.9
    desk.store.append("s", "t1", HELLO)
    desk.store.tick()
    desk.clock.now += 0.9
    desk.store.tick()
    assert done == []
    desk.clock.now += 0.1
    desk.store.tick()
    assert len(done) == 5
    desk.clock.now += 10
    desk.store.tick()
    assert len(done) == 5
    desk.close()


def test_what_can_wait_does_not_wait_for_ever_while_sessions_are_at_work(tmp_path):
    done: list[int] = []

    def job() -> bool:
        done.append(1)
        return len(done) % 3 > 0

    desk = Desk(tmp_path / "hermes-acp.db", idle_jobs=(job,))
    desk.store.create("s", "/srv/project")
    desk.store.begin_turn("s", "t1")
    counts = []
    for _ in range(42):
        desk.store.append("s", "t1", HELLO)
        assert desk.store.tick() <= 1.0
        counts.append(len(done))
        desk.clock.now += 0.5
    assert (counts[19], counts[20], counts[39], counts[40]) == (0, 3, 3, 6)
    desk.close()


def test_a_job_stops_when_a_turn_writes_and_goes_on_afterwards(tmp_path):
    done: list[int] = []

    def job() -> bool:
        done.append(1)
        if len(done) == 2:
            desk.store.append("s", "t1", HELLO)
        return len(done) < 4

    desk = Desk(tmp_path / "hermes-acp.db", idle_jobs=(job,))
    desk.store.create("s", "/srv/project")
    desk.store.begin_turn("s", "t1")
    desk.store.tick()
    desk.clock.now += 1
    desk.store.tick()
    assert len(done) == 2
    desk.store.tick()
    assert len(done) == 2
    desk.clock.now += 1
    desk.store.tick()
    assert len(done) == 4
    desk.close()


def test_a_job_that_fails_keeps_nobody_from_work_and_is_logged_once(tmp_path, caplog):
    done: list[int] = []

    def failing() -> bool:
        raise StoreError("It is damaged.", kind="corrupt")

    desk = Desk(tmp_path / "hermes-acp.db", idle_jobs=(failing, lambda: bool(done.append(1))))
    desk.store.create("s", "/srv/project")
    for turn in ("t1", "t2"):
        desk.store.begin_turn("s", turn)
        desk.store.tick()
        desk.clock.now += 1
        desk.store.tick()
    assert len(done) == 2
    assert caplog.text.count("It is damaged.") == 1
    desk.close()


def test_after_a_quiet_second_the_log_is_moved_into_the_database(desk):
    desk.store.begin_turn("s", "t1")
    desk.store.append("s", "t1", HELLO)
    desk.store.tick()
    before = desk.path.read_bytes()
    desk.clock.now += 1
    desk.store.tick()
    assert desk.path.read_bytes() != before


def test_the_stores_own_thread_writes_streamed_text_and_ends_with_the_store(tmp_path):
    database = Database(tmp_path / "hermes-acp.db")
    store = SessionStore(database)
    store.create("s", "/srv/project")
    assert not _housekeepers()
    journal = store.journal("s", "t1")
    store.begin_turn("s", "t1")
    journal.record(AgentText("m", "half an answ"))
    wait_until(lambda: not journal.is_dirty)
    store.close()
    assert not _housekeepers()
    database.close()


def _housekeepers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "session-housekeeping"]
