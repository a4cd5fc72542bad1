"""Finished turns become trajectories: completed and others apart, without secrets, and no turn waits for them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading

import pytest

from agent_core.batch.trajectories import Run, TrajectoryLog
from agent_core.errors import ModelFailed, ProviderConnectionError
from agent_core.messages import user_message
from agent_core.providers.base import ReasoningDelta, Usage, UsageReport
from agent_core.turn import no_usage
from tests.support.agents import in_background, make_agent
from tests.support.partial_writes import in_parts
from tests.support.scripted_provider import Hold, says, uses


@pytest.fixture
def kept(tmp_path):
    log = TrajectoryLog(tmp_path / "home" / "trajectories")
    yield log
    log.close()


def lines(tmp_path, name):
    file = tmp_path / "home" / "trajectories" / f"{name}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def said(line):
    return [(each["from"], each["value"]) for each in line["conversations"]]


def run_of(text="hello", outcome="end_turn", note=""):
    return Run(
        session_id="s", turn_id="t", cwd="/srv/project", model="m", messages=(user_message(text),), system=None,
        tools=None, outcome=outcome, note=note, began=10.0, ended=12.5, api_calls=1, usage=no_usage(), cost=None,
    )  # fmt: skip


def test_a_completed_turn_is_a_line_with_all_that_was_said(tmp_path, kept):
    first = [ReasoningDelta("Hm."), UsageReport(Usage(10, 5)), *uses(("a", "todo", {}))]
    agent = make_agent(tmp_path, first, says("Done."), save_trajectories=kept, session_id="session-1")
    agent.chat("go")
    kept.close()
    (line,) = lines(tmp_path, "completed")
    (system, human, call, result, answer) = said(line)
    assert (human, answer) == (("human", "go"), ("gpt", "<think>\n</think>\nDone."))
    assert system[0] == "system"
    assert '"name": "todo"' in system[1]
    assert call[1].startswith('<think>\nHm.\n</think>\n<tool_call>\n{"name": "todo"')
    assert result[1].startswith("<tool_response>\n")
    assert (line["completed"], line["outcome"], line["session_id"], line["api_calls"]) == (
        True,
        "end_turn",
        "session-1",
        2,
    )
    assert (line["input_tokens"], line["model"], line["cwd"]) == (10, "scripted:test-model", str(tmp_path))
    assert lines(tmp_path, "failed") == []


def test_what_is_never_stored_is_not_kept_here_either(tmp_path, kept):
    agent = make_agent(tmp_path, says("ok"), save_trajectories=kept, ephemeral_system_prompt="Speak like a pirate.")
    agent.chat("go")
    kept.close()
    assert "pirate" in str(agent.provider.requests[0].messages[0])
    assert "pirate" not in json.dumps(lines(tmp_path, "completed"))


def test_a_failed_turn_goes_to_the_others_with_the_reason(tmp_path, kept):
    agent = make_agent(tmp_path, [ProviderConnectionError("the server is gone")], save_trajectories=kept)
    with pytest.raises(ModelFailed):
        agent.chat("go")
    kept.close()
    (line,) = lines(tmp_path, "failed")
    assert (line["completed"], line["outcome"]) == (False, "error")
    assert "the server is gone" in line["note"]


def test_a_cancelled_turn_goes_to_the_others(tmp_path, kept):
    hold = Hold()
    agent = make_agent(tmp_path, [hold, *says("never")], save_trajectories=kept)
    turn = in_background(lambda: agent.chat("go"))
    assert hold.reached.wait(5)
    agent.interrupt()
    turn.result(5)
    kept.close()
    assert [line["outcome"] for line in lines(tmp_path, "failed")] == ["cancelled"]


def test_it_is_off_unless_it_is_asked_for(tmp_path):
    make_agent(tmp_path, says("ok")).chat("go")
    assert not (tmp_path / "home").exists()


def test_a_turn_does_not_wait_for_the_disk(tmp_path):
    released = threading.Event()
    slow = TrajectoryLog(tmp_path / "t", redactor=lambda: released.wait(10) and str)
    agent = make_agent(tmp_path, says("one"), says("two"), save_trajectories=slow)
    assert (agent.chat("go"), agent.chat("go on")) == ("one", "two")
    assert not (tmp_path / "t").exists()
    released.set()
    slow.close()
    assert len((tmp_path / "t" / "completed.jsonl").read_text().splitlines()) == 2


def test_files_are_for_the_user_alone(tmp_path, kept):
    kept.add(run_of())
    kept.close()
    directory = tmp_path / "home" / "trajectories"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "completed.jsonl").stat().st_mode) == 0o600


def test_secrets_are_taken_out_of_texts_and_notes(tmp_path):
    log = TrajectoryLog(
        tmp_path / "home" / "trajectories", redactor=lambda: lambda text: text.replace("s3cret", "***")
    )
    log.add(run_of("my s3cret", "error", "refused: s3cret"))
    log.close()
    (line,) = lines(tmp_path, "failed")
    assert (said(line), line["note"]) == ([("human", "my ***")], "refused: ***")


def test_a_full_file_makes_room_and_the_oldest_goes(tmp_path):
    log = TrajectoryLog(tmp_path / "t", max_bytes=1)
    for number in range(6):
        log.add(run_of(f"turn {number}"))
    log.close()
    told = {file.name: json.loads(file.read_text()) for file in (tmp_path / "t").iterdir()}
    assert {name: said(line)[0][1] for name, line in told.items()} == {
        "completed.jsonl": "turn 5",
        "completed.1.jsonl": "turn 4",
        "completed.2.jsonl": "turn 3",
        "completed.3.jsonl": "turn 2",
    }


def test_what_cannot_be_written_fails_nobody_and_is_in_the_log(tmp_path, caplog):
    (tmp_path / "t").write_text("a file in the way")
    log = TrajectoryLog(tmp_path / "t")
    agent = make_agent(tmp_path, says("ok"), save_trajectories=log)
    assert agent.chat("go") == "ok"
    log.close()
    assert "could not be written" in caplog.text


def test_half_a_line_of_who_was_killed_goes_and_what_is_whole_stays(tmp_path, kept):
    directory = tmp_path / "home" / "trajectories"
    directory.mkdir(parents=True)
    (directory / "completed.jsonl").write_bytes(b'{"whole": 1}\n{"conversations": [{"fr')
    (directory / "failed.jsonl").write_bytes(b'{"conv')
    kept.add(run_of())
    kept.add(run_of(outcome="error"))
    kept.close()
    assert [line.get("outcome") for line in lines(tmp_path, "completed")] == [None, "end_turn"]
    assert [line["outcome"] for line in lines(tmp_path, "failed")] == ["error"]


def test_a_disk_that_takes_a_part_at_a_time_gets_the_whole_line(tmp_path, kept, monkeypatch):
    monkeypatch.setattr(os, "write", in_parts(tmp_path / "home" / "trajectories" / "completed.jsonl"))
    kept.add(run_of("x" * 1000))
    kept.close()
    assert [line["outcome"] for line in lines(tmp_path, "completed")] == ["end_turn"]


def test_a_link_in_the_files_place_is_not_followed(tmp_path, kept, caplog):
    (tmp_path / "home" / "trajectories").mkdir(parents=True)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "home" / "trajectories" / "completed.jsonl").symlink_to(victim)
    kept.add(run_of())
    kept.close()
    assert victim.read_text() == "mine"
    assert "could not be written" in caplog.text


_WRITER = """
import sys
from pathlib import Path
from agent_core.messages import user_message
from agent_core.batch.trajectories import Run, TrajectoryLog
from agent_core.turn import no_usage
log = TrajectoryLog(Path(sys.argv[1]))
messages = (user_message("x" * 50_000),)
for number in range(20):
    log.add(Run("s", "t", "/srv", "m", messages, None, None, "end_turn", "", 0, 1, 1, no_usage(), None))
log.close(30)
"""


def test_lines_of_several_processes_do_not_mix(tmp_path):
    directory = tmp_path / "home" / "trajectories"
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(directory)]) for _ in range(2)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(lines(tmp_path, "completed")) == 40
