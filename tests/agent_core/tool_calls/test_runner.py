"""How the tool calls of one answer run: beside each other, their results in call order, their way told in order."""

from __future__ import annotations

import json
import threading

import pytest

from agent_core.callbacks import CallOutput, CallRequested
from agent_core.cancel import CancelToken
from agent_core.errors import TurnInterrupted
from agent_core.messages import INTERRUPTED_RESULT, tool_call
from agent_core.tool_calls import ToolRunner
from agent_core.workspace import local_workspace
from tests.support.agents import TEST_TOOLS, Ears, in_background
from tests.support.services import turn_services
from tests.support.tool_context import ScriptedApprover, error_of
from tests.support.waiting import wait_until
from tools.approval.questions import Answer
from tools.environments.guardian import Guardian
from tools.errors import ToolError
from tools.registry import registry
from tools.toolsets import select


class Asked:
    """A person who answers at once; `asked` are the ids of the calls."""

    def __init__(self):
        self.asked, self.refuses = [], frozenset()
        self.on_question = lambda call: None
        self.approvals = None

    def ask(self, question, interrupt):
        self.asked.append(question.tool_call_id)
        self.on_question(question.tool_call_id)
        return Answer(allowed=question.tool_call_id not in self.refuses)

    def wait_for_a_question_or(self, condition):
        wait_until(lambda: self.asked or condition())


def in_workspace(path):
    workspace = local_workspace(path, guardian=Guardian())
    return workspace, turn_services(approvals=workspace.approvals)


@pytest.fixture
def ears():
    return Ears()


@pytest.fixture
def run(tmp_path, ears):
    def run(*calls, token=None, mode="dont_ask", approver=None, **options):
        offered = frozenset(entry.name for entry in select(("hermes-acp", TEST_TOOLS)))
        workspace = local_workspace(tmp_path, guardian=Guardian(), mode=mode, approver=approver)
        if isinstance(approver, Asked):
            approver.approvals = workspace.approvals
        runner = ToolRunner(
            workspace,
            turn_services(approvals=workspace.approvals),
            offered,
            token=token or CancelToken(),
            session_id="session-1",
            turn_id="turn",
            task_id="task-1",
            listener=ears.callbacks().tool_progress_callback,
            **options,
        )
        named = [tool_call(chr(ord("a") + number), *call) for number, call in enumerate(calls)]
        return [(call["id"], result) for call, result in runner.run(named)]

    return run


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


def test_a_call_that_another_call_makes_is_told_with_its_parent(run, ears, add_tool):
    add_tool("noop", lambda args, **kw: "{}")
    run(("noop", "{}"), parent="outer")
    assert [progress.parent for progress in ears.of("tool") if isinstance(progress, CallRequested)] == ["outer"]


def test_questions_come_in_call_order_whichever_call_is_ready_first(run, add_tool, tmp_path):
    approver, ahead = Asked(), threading.Event()

    def slow(args, **kw):
        # Until the other call stands at the gate, and has asked if nobody holds it back.
        assert ahead.wait(5)
        approver.wait_for_a_question_or(lambda: approver.approvals.queue.waiting == 1)
        kw["ctx"].fs.write(tmp_path / "slow", b"1", expected=None)
        return "{}"

    def quick(args, **kw):
        ahead.set()
        kw["ctx"].fs.write(tmp_path / "quick", b"1", expected=None)
        return "{}"

    add_tool("slow", slow, parallel="paths")
    add_tool("quick", quick, parallel="paths")
    calls = ("slow", '{"path": "slow"}'), ("quick", '{"path": "quick"}')
    assert [result.failed for _, result in run(*calls, mode="default", approver=approver)] == [False, False]
    assert approver.asked == ["a", "b"]


@pytest.mark.parametrize("end", ["runs on", "fails", "is refused"])
def test_who_asks_no_more_holds_no_question_back(end, run, add_tool, tmp_path):
    approver, asked = Asked(), threading.Event()
    approver.on_question = lambda call: call == "b" and asked.set()

    def first(args, **kw):
        if end == "fails":
            raise ToolError("no")
        if end == "is refused":
            kw["ctx"].fs.write(tmp_path / "refused", b"1", expected=None)
        kw["ctx"].progress("begun\n")
        assert asked.wait(5)
        return "{}"

    def second(args, **kw):
        kw["ctx"].fs.write(tmp_path / "second", b"1", expected=None)
        return "{}"

    add_tool("first", first, parallel="paths")
    add_tool("second", second, parallel="paths")
    approver.refuses = frozenset({"a"})
    calls = ("first", '{"path": "refused"}'), ("second", '{"path": "second"}')
    results = run(*calls, mode="default", approver=approver)
    assert [result.failed for _, result in results] == [end != "runs on", False]
    assert approver.asked[-1] == "b"


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


def test_at_most_eight_calls_run_at_once_and_the_others_follow_as_places_become_free(run, add_tool):
    lock, running, most = threading.Lock(), set(), []
    eight, slow_may_end = threading.Barrier(8), threading.Event()

    def tool(args, **kw):
        mine = kw["ctx"].tool_call_id
        with lock:
            running.add(mine)
            most.append(len(running))
        if ord(mine) - ord("a") < 8:
            eight.wait(5)
        if mine == "a":
            assert slow_may_end.wait(5)
        if mine == "t":  # the last one runs while the first one still does
            slow_may_end.set()
        with lock:
            running.remove(mine)
        return mine

    add_tool("busy", tool, parallel="safe")
    results = run(*[("busy", "{}")] * 20)
    assert max(most) == 8
    assert [result.text for _, result in results] == [chr(ord("a") + number) for number in range(20)]


def test_a_call_that_raises_leaves_those_beside_it_alone(run, add_tool):
    both_here = threading.Barrier(3)

    def broken(args, **kw):
        both_here.wait(5)
        raise KeyError("it broke")

    def fine(args, **kw):
        both_here.wait(5)
        return "{}"

    add_tool("broken", broken, parallel="safe")
    add_tool("fine", fine, parallel="safe")
    assert [result.failed for _, result in run(("fine", "{}"), ("broken", "{}"), ("fine", "{}"))] == [
        False,
        True,
        False,
    ]


@pytest.fixture
def together(add_tool):
    """A tool that changes paths; and which calls of it ran beside another."""
    met, running, meeting = set(), set(), threading.Condition()

    def change(args, **kw):
        mine = kw["ctx"].tool_call_id
        with meeting:
            running.add(mine)
            meeting.notify_all()
            # What would run beside it begins within moments.
            meeting.wait_for(lambda: len(running) > 1, timeout=0.3)
            if len(running) > 1:
                met.update(running)
        with meeting:
            running.remove(mine)
        return "{}"

    add_tool("change", change, parallel="paths")
    return met


def with_paths(paths_fn):
    old = registry.get("change")
    registry.register(old.name, old.toolset, old.schema, old.handler, parallel=old.parallel, paths_fn=paths_fn)


def test_calls_on_different_files_run_side_by_side(run, together):
    run(("change", '{"path": "x"}'), ("change", '{"path": "y"}'))
    assert together == {"a", "b"}


def test_calls_that_reach_the_same_file_by_a_link_do_not_run_side_by_side(run, together, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    run(("change", '{"path": "real/x"}'), ("change", '{"path": "link/x"}'))
    assert together == set()


def test_a_link_that_leads_in_a_circle_is_the_call_s_problem_only(run, together, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    results = run(("change", '{"path": "loop/x"}'), ("change", '{"path": "y"}'))
    assert [result.failed for _, result in results] == [False, False]


def test_a_tool_says_itself_which_paths_a_call_works_on(run, together):
    with_paths(lambda args: args["path"].split(","))
    run(("change", '{"path": "x,y"}'), ("change", '{"path": "z,y"}'), ("change", '{"path": "q"}'))
    assert together == {"b", "c"}


def test_a_tool_that_cannot_say_its_paths_runs_alone(run, together):
    with_paths(lambda args: [args["missing"]])
    results = run(("change", '{"path": "x"}'), ("change", '{"path": "y"}'))
    assert [result.failed for _, result in results] == [False, False]
    assert together == set()


def test_a_call_that_is_refused_does_not_run_and_is_asked_about_when_it_is_its_turn(run, add_tool, ears):
    log = []
    add_tool("alone", lambda args, **kw: log.append("ran") or "{}")

    def refuse(call):
        log.append(f"asked {call['id']}")
        return "Not again." if call["id"] == "b" else ""

    (_, first), (_, second) = run(("alone", "{}"), ("alone", "{}"), refuse=refuse)
    assert log == ["asked a", "ran", "asked b"]
    assert not first.failed
    assert error_of(second) == "Not again."
    assert ears.progress("b") == ["requested", "finished"]


@pytest.mark.parametrize("sees", [True, False])
def test_a_tool_knows_whether_its_images_are_seen(run, add_tool, sees):
    seen = []
    add_tool("look", lambda args, **kw: seen.append(kw["ctx"].images) or "{}")
    run(("look", "{}"), images=sees)
    assert seen == [sees]
