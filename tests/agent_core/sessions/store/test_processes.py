"""Several real processes and one database."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.messages import user_message
from agent_core.sessions.database import Database, unpack
from agent_core.sessions.store import SessionStore
from tests.support.session_database import Desk

ROOT = Path(__file__).parents[4]


def writer(path: Path, session: str, turns: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.support.session_writer", str(path), session, str(turns)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("turns", [100, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.timeout(300)])])
def test_two_processes_that_write_at_once_lose_nothing_and_have_no_trouble(tmp_path, turns):
    path = tmp_path / "hermes-acp.db"
    processes = {session: writer(path, session, turns) for session in ("one", "two")}
    told = {session: process.communicate(timeout=250) for session, process in processes.items()}
    desk = Desk(path)
    for session, (output, errors) in told.items():
        assert (errors, processes[session].returncode) == ("", 0)
        *texts, trouble = output.splitlines()
        assert trouble == "trouble 0"
        assert [message["content"] for message in desk.store.messages(session)] == texts
        assert desk.rows(
            "SELECT count(*), max(number), count(ended_at) FROM turns WHERE session_id = ?", session
        ) == [(turns, turns, turns)]
        assert desk.rows("SELECT count(*) FROM events WHERE session_id = ?", session) == [(len(texts),)]
    assert desk.rows("PRAGMA integrity_check") == [("ok",)]
    assert desk.rows("SELECT count(holder) FROM sessions") == [(0,)]
    desk.close()


def test_what_a_killed_process_acknowledged_is_there_and_its_lease_is_taken_over_at_once(tmp_path):
    path = tmp_path / "hermes-acp.db"
    process = writer(path, "s", 0)
    assert process.stdout is not None
    told = [process.stdout.readline().strip() for _ in range(300)]
    process.kill()
    told += [line.strip() for line in process.stdout if line.endswith("\n")]

    database = Database(path)
    store = SessionStore(database)
    store.begin_turn("s", "next")  # nobody has waited for the process yet: it is in the process table
    process.communicate()
    texts = [str(message["content"]) for message in store.messages("s")]
    assert texts[: len(told)] == told
    assert len(texts) <= len(told) + 1
    assert store.append("s", "next", user_message("go on"))
    assert store.trouble("s") == ""
    store.close()
    database.close()

    desk = Desk(path)
    open_turns = desk.rows("SELECT number FROM turns WHERE ended_at IS NULL ORDER BY number")
    assert len(open_turns) <= 2
    numbers = [number for (number,) in desk.rows("SELECT DISTINCT turn FROM messages ORDER BY id")]
    assert numbers == sorted(numbers)
    assert all(unpack(body) for (body,) in desk.rows("SELECT body FROM events"))
    desk.close()
