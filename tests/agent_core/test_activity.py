"""What an agent is doing is known while it does it, here and from another process."""

from __future__ import annotations

import json
import os
import stat

import pytest

from agent_core.activity import Activity, Doing, RunReport, running_processes, span
from agent_core.callbacks import AgentCallbacks, CallFinished, CallRequested, CallRunning
from agent_core.services import SessionServices
from tests.support.agents import Ears, in_background, make_agent
from tests.support.clock import Clock
from tests.support.each import each
from tests.support.scripted_provider import Hold, says, uses
from tests.support.waiting import wait_until
from tools.result import ToolResult


def test_a_turn_is_followed_from_its_begin_to_its_end(tmp_path, add_tool):
    services, hold, seen = SessionServices(), Hold(), []
    add_tool("work", lambda args, **kw: seen.append(services.activity.now()) or "{}")
    first = [hold, *uses(("a", "work", {"path": "src/app.py"}))]
    last = says("all done")
    agent = make_agent(
        tmp_path, first, [*last[:1], lambda: seen.append(services.activity.now()), *last[1:]], services=services
    )
    assert services.activity.now().kind == "idle"
    turn = in_background(lambda: agent.chat("go"))
    assert hold.reached.wait(5)
    waiting = services.activity.now()
    hold.release()
    turn.result(5)
    assert (waiting.kind, waiting.detail) == ("waiting_for_model", "scripted:test-model")
    assert [(doing.kind, doing.detail) for doing in seen] == [
        ("asking", "work src/app.py"),
        ("receiving", "scripted:test-model"),
    ]
    assert all(doing.turn_since for doing in (waiting, *seen))
    assert services.activity.now().kind == "idle"


def test_a_failed_turn_leaves_nothing_behind(tmp_path):
    services = SessionServices()
    agent = make_agent(tmp_path, [ValueError("broken")], services=services)
    with pytest.raises(ValueError, match="broken"):
        agent.chat("go")
    assert services.activity.now().kind == "idle"


def test_of_several_calls_the_one_that_runs_longest_is_told(tmp_path):
    clock = Clock(100.0)
    activity = Activity(clock)
    activity.begin()
    listener = activity.heard(AgentCallbacks()).tool_progress_callback
    listener(CallRequested("a", "terminal", {"command": "make test\nmore"}))
    clock.now = 105.0
    assert (activity.now().kind, activity.now().since) == ("asking", 100.0)
    listener(CallRunning("a"))
    listener(CallRequested("b", "read_file", {"path": "x"}))
    assert activity.now() == Doing("running", "terminal make test and 1 more", 105.0, 100.0)
    assert activity.now().text(200.0) == "running: terminal make test and 1 more, for 1 min"
    listener(CallFinished("a", "terminal", {}, ToolResult("")))
    listener(CallFinished("b", "read_file", {}, ToolResult("")))
    assert activity.now().kind == "waiting_for_model"


def test_a_question_to_the_person_is_told_while_it_is_open():
    activity, seen = Activity(), []
    activity.begin()
    ask = activity.heard(AgentCallbacks(ask_callback=lambda *_: seen.append(activity.now().kind))).ask_callback
    ask(None, None)
    assert (seen, activity.now().kind) == (["asking"], "waiting_for_model")


def test_the_late_end_of_a_turn_that_was_given_up_does_not_hide_the_next():
    activity = Activity()
    stuck = activity.begin()
    activity.begin()
    activity.end(stuck)
    assert activity.now().kind == "waiting_for_model"


def test_the_listeners_hear_what_they_did_before(tmp_path):
    ears = Ears()
    make_agent(tmp_path, uses(("a", "todo", {})), says("ok"), callbacks=ears.callbacks()).chat("go")
    assert ears.of("text") == ["ok"]
    assert ears.progress("a") == ["requested", "running", "finished"]


@each(("seconds", "said"), [(-1, "0 s"), (59.9, "59 s"), (60, "1 min"), (3599, "59 min"), (7320, "2 h 2 min")])
def test_spans_are_for_people(seconds, said):
    assert span(seconds) == said


def test_other_processes_see_a_turn_while_it_runs_and_nothing_after_it(tmp_path):
    directory, activity = tmp_path / "run", Activity()
    report = RunReport(directory, pause=0.01)
    number = activity.begin()
    activity.turn("running", "terminal curl -H 'Authorization: Bearer abcdefghijklmnop1234567890'")
    report.follow("s1", "/srv/project", activity)
    wait_until(lambda: list(running_processes(directory)))
    (process,) = running_processes(directory)
    (session,) = process.sessions
    assert (session.id, session.cwd, session.doing.kind) == ("s1", "/srv/project", "running")
    assert "abcdefghijklmnop" not in session.doing.detail
    (file,) = directory.glob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    activity.end(number)
    wait_until(lambda: not file.exists())
    report.follow("s1", "/srv/project", activity)
    report.close()
    assert list(running_processes(directory)) == []


def test_what_killed_processes_have_left_goes_once_it_is_old(tmp_path):
    old = [tmp_path / name for name in ("1.json", "2.new")]
    young = tmp_path / "3.new"
    for file in (*old, young):
        file.write_text("{")
    for file in old:
        os.utime(file, (1, 1))
    report, activity = RunReport(tmp_path, pause=0.01), Activity()
    activity.begin()
    report.follow("s1", "/srv/project", activity)
    wait_until(lambda: not any(file.exists() for file in old))
    report.close()
    assert list(tmp_path.iterdir()) == [young]


def test_files_of_dead_processes_and_rubbish_are_passed_over(tmp_path):
    (tmp_path / "1.json").write_text("{")
    (tmp_path / "2.json").write_text("[]")
    dead = {"token": "", "host": "elsewhere", "pid": 3, "started": "", "program": "hermes-acp", "until": 0.0}
    (tmp_path / "3.json").write_text(json.dumps({"process": dead, "told": 0, "sessions": []}))
    assert list(running_processes(tmp_path)) == []
