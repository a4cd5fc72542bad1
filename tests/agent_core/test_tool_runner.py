"""How the tool calls of one answer run: beside each other, their results in call order, their way told in order."""

from __future__ import annotations

import json
import threading

import pytest

from agent_core.callbacks import CallOutput
from agent_core.errors import TurnInterrupted
from agent_core.interrupt import CancelToken
from agent_core.messages import INTERRUPTED_RESULT, tool_call
from agent_core.tool_runner import ToolRunner
from agent_core.workspace import local_workspace
from tests.support.agents import TEST_TOOLS, Ears, in_background
from tests.support.services import turn_services
from tests.support.tool_context import ScriptedApprover
from tools.environments.guardian import Guardian
from tools.toolsets import select


def in_workspace(path):
    workspace = local_workspace(path, guardian=Guardian())
    return workspace, turn_services(approvals=workspace.approvals)


@pytest.fixture
def ears():
    return Ears()


@pytest.fixture
def run(tmp_path, ears):
    def run(*calls, token=None, mode="dont_ask", approver=None):
        offered = frozenset(entry.name for entry in select(("hermes-acp", TEST_TOOLS)))
        workspace = local_workspace(tmp_path, guardian=Guardian(), mode=mode, approver=approver)
        runner = ToolRunner(
            workspace,
            turn_services(approvals=workspace.approvals),
            offered,
            token=token or CancelToken(),
            session_id="session-1",
            turn_id="turn",
            task_id="task-1",
            listener=ears.callbacks().tool_progress_callback,
        )
        named = [tool_call(chr(ord("a") + number), *call) for number, call in enumerate(calls)]
        return [(call["id"], result) for call, result in runner.run(named)]

    return run


def error_of(result):
    assert result.failed
    return json.loads(result.text)["error"]


def test_calls_that_may_run_side_by_side_and_their_results_come_in_call_order(run, add_tool, ears):
    both_here, second_is_done = threading.Barrier(2), threading.Event()

    def first(args, **kw):
        both_here.wait(5)
        assert second_is_done.wait(5)
        return "one"

    def second(args, **kw):
        both_here.wait(5)
        second_is_done.set()
        return "two"

    add_tool("first", first, parallel="safe")
    add_tool("second", second, parallel="safe")
    results = run(("first", "{}"), ("second", "{}"))
    assert [(call_id, result.text) for call_id, result in results] == [("a", "one"), ("b", "two")]


def test_calls_that_may_not_run_side_by_side_wait_for_each_other(run, add_tool):
    log = []

    def tool(args, **kw):
        log.append("begin")
        log.append("end")
        return "{}"

    add_tool("alone", tool)
    run(("alone", "{}"), ("alone", "{}"))
    assert log == ["begin", "end", "begin", "end"]


def test_a_result_is_there_before_the_next_batch_begins(tmp_path, add_tool, run):
    log = []
    add_tool("step", lambda args, **kw: log.append("ran") or "{}")
    runner = ToolRunner(
        *in_workspace(tmp_path), frozenset({"step"}),
        token=CancelToken(), session_id="s", turn_id="t", task_id="t", listener=None,
    )  # fmt: skip
    for call, _ in runner.run([tool_call("a", "step", "{}"), tool_call("b", "step", "{}")]):
        log.append(f"stored {call['id']}")
    assert log == ["ran", "stored a", "ran", "stored b"]


def test_every_call_is_told_as_requested_before_the_first_runs(run, add_tool, ears):
    add_tool("alone", lambda args, **kw: "{}")
    run(("alone", "{}"), ("alone", "{}"))
    assert [type(step).__name__ for step in ears.of("tool")] == [
        "CallRequested",
        "CallRequested",
        "CallRunning",
        "CallFinished",
        "CallRunning",
        "CallFinished",
    ]


def test_output_is_told_between_running_and_finished_and_not_after(run, add_tool, ears):
    kept = []

    def chatty(args, **kw):
        kept.append(kw["ctx"].progress)
        kw["ctx"].progress("working\n")
        return "{}"

    add_tool("chatty", chatty)
    run(("chatty", "{}"))
    kept[0]("too late\n")
    assert ears.progress("a") == ["requested", "running", "output", "finished"]
    assert [step.text for step in ears.of("tool") if isinstance(step, CallOutput)] == ["working\n"]


def test_an_unknown_tool_is_answered_with_names_that_exist(run, ears):
    ((_, result),) = run(("reed_file", "{}"))
    assert "read_file" in error_of(result)
    assert ears.progress("a") == ["requested", "finished"]


def test_a_tool_that_is_not_offered_does_not_run(run, tmp_path, ears):
    (tmp_path / "x.txt").write_text("x")
    runner = ToolRunner(
        *in_workspace(tmp_path), frozenset({"todo"}),
        token=CancelToken(), session_id="s", turn_id="t", task_id="t", listener=None,
    )  # fmt: skip
    ((_, result),) = list(runner.run([tool_call("a", "read_file", '{"path": "x.txt"}')]))
    assert "There is no tool 'read_file'" in error_of(result)


@pytest.mark.parametrize("arguments", ['{"path": ', "[1]", "[" * 100_000], ids=["cut off", "a list", "too deep"])
def test_arguments_that_are_no_object_are_told_to_the_model_and_the_other_calls_run(run, add_tool, arguments):
    add_tool("fine", lambda args, **kw: "{}")
    (_, broken), (_, fine) = run(("read_file", arguments), ("fine", "{}"))
    assert "one JSON object" in error_of(broken)
    assert not fine.failed


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "x" * 5000], ids=["null byte", "lone surrogate", "too long"])
def test_a_path_that_no_file_can_have_fails_the_call_and_not_the_turn(run, path):
    (_, read), (_, other) = run(
        ("read_file", json.dumps({"path": path})), ("read_file", json.dumps({"path": "missing"}))
    )
    assert error_of(read)
    assert "missing" in error_of(other)


@pytest.mark.parametrize("problem", [ValueError("it broke"), SystemExit(3), KeyError("it broke")])
def test_a_tool_that_raises_fails_its_call_only(run, add_tool, ears, problem):
    def broken(args, **kw):
        raise problem

    add_tool("broken", broken)
    add_tool("fine", lambda args, **kw: "{}")
    (_, failed), (_, fine) = run(("broken", "{}"), ("fine", "{}"))
    assert error_of(failed).startswith(f"broken failed: {type(problem).__name__}")
    assert not fine.failed
    assert ears.finished("a").result is failed


def test_a_card_runs_only_after_the_grant(run, tmp_path, ears):
    shown_when_asked = []
    approver = ScriptedApprover(before_answer=lambda: shown_when_asked.append(ears.progress("a")))
    run(("write_file", '{"path": "new.txt", "content": "hi\\n"}'), mode="default", approver=approver)
    assert shown_when_asked == [["requested"]]
    assert ears.progress("a") == ["requested", "running", "finished"]
    assert (tmp_path / "new.txt").read_text() == "hi\n"


def test_a_refused_call_never_runs_on_its_card(run, tmp_path, ears):
    approver = ScriptedApprover(choice="reject_once")
    ((_, result),) = run(("write_file", '{"path": "new.txt", "content": "hi"}'), mode="default", approver=approver)
    assert "the user said no" in error_of(result)
    assert ears.progress("a") == ["requested", "finished"]
    assert not (tmp_path / "new.txt").exists()


def test_a_cancelled_turn_reports_every_call_as_finished_once(run, add_tool, ears):
    token, waiting = CancelToken(), threading.Event()

    def waits(args, **kw):
        waiting.set()
        kw["ctx"].interrupt.wait_for(lambda: False, timeout=10)
        return '{"done": true}'

    add_tool("waits", waits)
    add_tool("fine", lambda args, **kw: "{}")
    running = in_background(lambda: run(("fine", "{}"), ("waits", "{}"), ("fine", "{}"), token=token))
    assert waiting.wait(5)
    token.cancel()
    with pytest.raises(TurnInterrupted):
        running.result(5)
    assert ears.progress("a") == ["requested", "running", "finished"]
    # The second one ended while the cancel came: what it did is told. The third one never ran.
    assert ears.progress("b") == ["requested", "running", "finished"]
    assert ears.progress("c") == ["requested", "finished"]
    assert not ears.finished("a").result.failed
    assert ears.finished("b").result.text == '{"done": true}'
    assert ears.finished("c").result.text == INTERRUPTED_RESULT
    assert ears.finished("c").result.failed


def test_a_turn_that_is_over_runs_nothing(run, add_tool, ears):
    token, ran = CancelToken(), []
    add_tool("touch", lambda args, **kw: ran.append(1) or "{}", parallel="safe")
    token.cancel()
    with pytest.raises(TurnInterrupted):
        run(("touch", "{}"), ("touch", "{}"), token=token)
    assert ran == []
    assert ears.progress("b") == ["requested", "finished"]


def test_a_tool_knows_the_call_and_the_turn_it_serves(run, add_tool, tmp_path):
    seen = []
    add_tool("look", lambda args, **kw: seen.append((kw["task_id"], kw["ctx"])) or "{}")
    run(("look", "{}"))
    ((task_id, ctx),) = seen
    assert (task_id, ctx.task_id, ctx.session_id, ctx.tool_call_id, ctx.cwd) == (
        "task-1",
        "task-1",
        "session-1",
        "a",
        tmp_path,
    )
