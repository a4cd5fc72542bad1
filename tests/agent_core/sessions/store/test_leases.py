"""Who may prompt a session, and how the death of a process is noticed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from dataclasses import asdict, replace

import pytest

from agent_core.errors import SessionInUse, StoreError
from agent_core.messages import user_message
from agent_core.sessions import leases
from agent_core.sessions.leases import holder_of, is_alive, this_process
from agent_core.sessions.records import Holder, KeptState
from agent_core.sessions.store import PATIENCE
from tests.support.each import each
from tests.support.session_database import Desk

NOW = 1_800_000_000.0
unshare = shutil.which("unshare")
HELLO = user_message("hello")


@pytest.fixture
def sleeper():
    """Another process of this machine."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def identity_of(pid: int) -> Holder:
    """The process as it would name itself."""
    mine = this_process()
    start = leases.start_of(pid)
    assert start is not None
    return replace(mine, token="theirs", pid=pid, started=f"{mine.started.rpartition(' ')[0]} {start}")


def test_no_two_identities_share_a_token():
    assert this_process().token != this_process().token


def test_a_living_process_holds_on_though_its_time_is_over(sleeper):
    assert is_alive(replace(identity_of(sleeper.pid), until=NOW - 3600), NOW)


def test_a_process_that_ended_is_dead_at_once_though_nobody_has_asked_for_its_end(sleeper):
    holder = replace(identity_of(sleeper.pid), until=NOW + 3600)
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)  # it stays in the process table
    assert not is_alive(holder, NOW)
    sleeper.wait()
    assert not is_alive(holder, NOW)


def test_a_process_number_used_again_is_noticed(sleeper):
    holder = replace(identity_of(sleeper.pid), until=NOW + 3600)
    assert not is_alive(replace(holder, started=holder.started + "0"), NOW)


@each("change", [{"started": "another-boot 1"}, {"started": ""}, {"beats": True}])
@each(("until", "alive"), [(NOW + 1, True), (NOW - 1, False)])
def test_where_the_process_table_does_not_tell_the_heartbeat_does(change, until, alive):
    holder = replace(this_process(), until=until, **change)
    assert is_alive(holder, NOW) is alive


def test_a_host_that_was_renamed_changes_nothing(sleeper):
    living = replace(replace(identity_of(sleeper.pid), until=NOW - 3600), host="its.former.name")
    assert is_alive(living, NOW)
    sleeper.kill()
    sleeper.wait()
    assert not is_alive(replace(living, until=NOW + 3600), NOW)


@each(("ahead", "alive"), [(50_000, True), (10 * 365 * 86_400, False), (2.0**62, False)])
def test_a_clock_that_was_years_ahead_locks_nothing_for_years(ahead, alive):
    elsewhere = replace(this_process(), until=NOW + ahead, started="another-boot 1")
    assert is_alive(elsewhere, NOW) is alive
    assert is_alive(replace(this_process(), until=NOW + ahead), NOW)


def test_two_machines_of_one_name_are_two():
    mine = this_process()
    start = mine.started.rpartition(" ")[2]
    twin = replace(mine, until=NOW - 1, started=f"another-boot pid:[4026531836] {start}")
    assert not is_alive(twin, NOW)


def test_who_is_known_to_be_dead_is_so_whatever_the_heartbeat_says(sleeper):
    holder = replace(replace(identity_of(sleeper.pid), until=NOW + 3600), beats=True)
    assert is_alive(holder, NOW)
    sleeper.kill()
    sleeper.wait()
    assert not is_alive(holder, NOW)


HOLDING = """
import sys
from pathlib import Path
from agent_core.sessions.database import Database
from agent_core.sessions.store import SessionStore
store = SessionStore(Database(Path(sys.argv[1])), background=False)
store.begin_turn("s", "t1")
print(store.identity.host, flush=True)
sys.stdin.readline()
"""


def test_a_process_under_another_host_name_holds_its_session_and_frees_it_when_it_dies(desk):
    command = 'hostname renamed.example && exec "$0" "$@"'
    if unshare is None or subprocess.run([unshare, "-ru", "sh", "-c", command, "true"], check=False).returncode:
        pytest.skip("the host can be renamed on Linux only, and not in every container")
    words = [unshare, "-ru", "sh", "-c", command, sys.executable, "-c", HOLDING, str(desk.path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "renamed.example\n"
        desk.time.now += 2 * leases.LEASE
        with pytest.raises(SessionInUse, match=r"renamed\.example"):
            desk.store.begin_turn("s", "t2")
        process.kill()
        process.wait()
        desk.store.begin_turn("s", "t3")


@each(("beats", "renewed"), [(True, True), (False, False)])
def test_where_other_machines_may_use_the_file_a_session_at_rest_is_kept_by_its_heartbeat(tmp_path, beats, renewed):
    desk = Desk(tmp_path / f"{beats}.db")
    store = desk.another_store(replace(this_process(), beats=beats))
    store.create("s", "/srv/project")
    store.begin_turn("s", "t1")
    store.end_turn("s", "t1")
    before = desk.rows("SELECT holder_until FROM sessions")
    desk.time.now += 30
    desk.clock.now += 30
    store.tick()
    assert (desk.rows("SELECT holder_until FROM sessions") > before) is renewed
    assert json.loads(desk.rows("SELECT holder FROM sessions")[0][0])["beats"] is beats
    store.close()
    desk.close()


def test_the_list_of_processes_tells_the_same_as_the_kernel(sleeper):
    mine = leases.start_from_ps(os.getpid())
    assert mine
    assert mine == leases.start_from_ps(os.getpid())
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert leases.start_from_ps(sleeper.pid) is None
    sleeper.wait()
    assert leases.start_from_ps(sleeper.pid) is None


def test_a_holder_survives_its_row():
    holder = replace(this_process(), until=NOW)
    assert holder_of(json.dumps(asdict(holder)), holder.token, NOW) == holder
    assert holder_of(None, None, None) is None


@each("row", [None, "", "[]", "{}", "no JSON", '{"host": 1, "pid": "x", "started": 1, "program": 1}'])
def test_a_holder_that_cannot_be_read_counts_until_its_time_is_over(row):
    holder = holder_of(row, "token", NOW)
    assert holder is not None
    assert is_alive(holder, NOW - 1)
    assert not is_alive(holder, NOW + 1)


def test_the_lease_of_a_dead_process_is_taken_over_with_what_it_left(desk, sleeper):
    dead = desk.another_store(identity_of(sleeper.pid))
    dead.begin_turn("s", "t1")
    dead.append("s", "t1", HELLO)
    with pytest.raises(SessionInUse, match=str(sleeper.pid)):
        desk.store.begin_turn("s", "t2")
    sleeper.kill()
    sleeper.wait()
    desk.store.begin_turn("s", "t2")
    assert desk.store.messages("s") == [HELLO]
    desk.store.append("s", "t2", HELLO)
    assert desk.rows("SELECT number, ended_at IS NULL FROM turns") == [(1, 1), (2, 1)]


def test_a_turn_that_a_dead_process_left_empty_is_removed(desk, sleeper):
    dead = desk.another_store(identity_of(sleeper.pid))
    dead.begin_turn("s", "t1")
    sleeper.kill()
    sleeper.wait()
    desk.store.begin_turn("s", "t2")
    assert desk.rows("SELECT number, id FROM turns") == [(2, "t2")]


def test_a_lease_outlasts_its_turn_and_ends_with_the_release(desk):
    desk.store.begin_turn("s", "t1")
    desk.store.end_turn("s", "t1")
    assert desk.rows("SELECT holder_token IS NULL FROM sessions") == [(0,)]
    desk.store.release("s")
    assert desk.rows("SELECT holder, holder_token, holder_until FROM sessions") == [(None, None, None)]


def test_a_lease_ends_when_the_store_is_closed_and_its_turn_counts_as_broken_off(desk):
    desk.store.begin_turn("s", "t1")
    desk.store.append("s", "t1", HELLO)
    desk.store.close()
    assert desk.rows("SELECT holder_token FROM sessions") == [(None,)]
    assert desk.rows("SELECT ended_at FROM turns") == [(None,)]
    assert not desk.store.append("s", "t1", HELLO)


def test_a_lease_can_be_taken_without_a_turn(desk):
    desk.store.take_lease("s")
    other = desk.another_store()
    with pytest.raises(SessionInUse):
        other.begin_turn("s", "t1")
    desk.store.release("s")
    other.begin_turn("s", "t1")
    other.close()


def test_who_cannot_go_on_without_it_waits_longer_for_a_busy_database(desk, monkeypatch):
    with contextlib.closing(sqlite3.connect(desk.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            desk.store.take_lease("s")
        monkeypatch.setattr(time, "sleep", lambda _: other.rollback())
        desk.store.take_lease("s", PATIENCE)
    assert desk.rows("SELECT holder_token IS NULL FROM sessions") == [(0,)]


def test_a_session_at_rest_is_kept_from_its_own_machine_and_let_go_to_others(desk, sleeper):
    neighbour = desk.another_store(identity_of(sleeper.pid))
    neighbour.begin_turn("s", "t1")
    neighbour.end_turn("s", "t1")
    desk.time.now += leases.LEASE + 1
    with pytest.raises(SessionInUse):
        desk.store.begin_turn("s", "t2")
    neighbour.release("s")
    far = desk.another_store(replace(this_process(), started="another-boot 1"))
    far.begin_turn("s", "t2")
    far.append("s", "t2", HELLO)
    far.end_turn("s", "t2")
    with pytest.raises(SessionInUse):
        desk.store.begin_turn("s", "t3")
    desk.time.now += leases.LEASE + 1
    desk.store.begin_turn("s", "t3")
    assert desk.store.messages("s") == [HELLO]
    for store in (neighbour, far):
        store.close()


def test_a_process_that_was_thought_dead_is_refused_and_notices_what_was_said_meanwhile(desk, sleeper):
    mine = desk.another_store(replace(this_process(), started="another-boot 1"))
    mine.begin_turn("s", "t1")
    mine.append("s", "t1", HELLO)
    desk.time.now += leases.LEASE + 1
    desk.store.begin_turn("s", "t2")
    assert mine.append("s", "t1", user_message("late")) is False
    assert "taken over" in mine.trouble("s")
    with pytest.raises(SessionInUse):
        mine.begin_turn("s", "t3")
    desk.store.append("s", "t2", user_message("meanwhile"))
    desk.store.release("s")
    mine.begin_turn("s", "t3")
    assert mine.messages("s") == [HELLO, user_message("meanwhile")]
    assert mine.trouble("s") == ""
    mine.close()


def test_a_turn_that_begins_after_the_lease_was_lost_takes_it_back_where_nobody_has_it(desk):
    mine = desk.another_store(replace(this_process(), started="another-boot 1"))
    mine.begin_turn("s", "t1")
    mine.end_turn("s", "t1")
    desk.time.now += leases.LEASE + 1
    desk.store.begin_turn("s", "t2")
    desk.store.append("s", "t2", HELLO)
    desk.store.release("s")
    mine.begin_turn("s", "t3")
    assert mine.messages("s") == [HELLO]
    assert mine.append("s", "t3", HELLO)
    mine.close()


def test_what_another_process_holds_is_not_kept_for(desk):
    desk.store.begin_turn("s", "t1")
    other = desk.another_store()
    other.keep("s", KeptState(program="theirs"))
    assert desk.store.kept("s") is None
    other.close()
