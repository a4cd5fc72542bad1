"""What sub-agents do for an agent: their work, their reports, what they may not, and what it costs."""

from __future__ import annotations

import json
import threading

import pytest

from agent_core.callbacks import CallRequested
from agent_core.delegation.settings import DelegationSettings
from agent_core.providers.base import Finished, TextDelta, Usage, UsageReport
from agent_core.services import SessionServices
from agent_core.settings.sections import DelegationPart
from tests.support.agents import Ears, LoggedStore, in_background, make_agent
from tests.support.delegating import delegates, delegating_agent, told
from tests.support.scripted_provider import Hold, says, uses
from tests.support.waiting import wait_until
from tools.approval.questions import Answer


def settings(**part):
    return DelegationSettings(DelegationPart(**part))


def test_a_sub_agent_does_its_goal_and_reports(tmp_path):
    agent = delegating_agent(tmp_path)
    report = told(agent.run_conversation(delegates("write b.txt one\nsay It is written."))["messages"])
    assert (tmp_path / "b.txt").read_text() == "one"
    assert report["status"] == "done"
    assert report["summary"] == "It is written."
    assert report["files_changed"] == ["b.txt"]
    assert report["tools"] == {"write_file": 1}
    assert report["requests"] == 2


def test_it_sees_its_goal_and_its_context_and_nothing_else(tmp_path):
    agent = make_agent(
        tmp_path, uses(("c1", "delegate_task", {"goal": "Look.", "context": "In a.py."})), says("seen")
    )
    agent.provider.add(says("done"))
    agent.run_conversation("my secret plan")
    child = agent.provider.requests[1]
    assert [message["role"] for message in child.messages] == ["system", "user"]
    assert child.messages[1]["content"] == "Look.\n\nContext:\nIn a.py."
    assert "secret plan" not in json.dumps(child.messages)
    assert "You are a sub-agent" in str(child.messages[0]["content"])


def test_a_leaf_has_no_tools_that_talk_remember_or_delegate(tmp_path):
    agent = make_agent(tmp_path, uses(("c1", "delegate_task", {"goal": "Look."})), says("seen"), says("done"))
    agent.run_conversation("go")
    own, child = ({tool["function"]["name"] for tool in request.tools} for request in agent.provider.requests[:2])
    assert {"delegate_task", "clarify"} <= own
    assert child < own
    assert not child & {"delegate_task", "clarify", "memory", "exit_plan_mode"}


def test_toolsets_are_only_ever_narrower_than_the_parents(tmp_path):
    agent = delegating_agent(tmp_path, enabled_toolsets=("files", "delegation"))
    result = agent.run_conversation(delegates("run echo hi\nsay x", toolsets=["files", "terminal"]))
    assert told(result["messages"])["tools"] == {"terminal": 1}  # it was called, and there is none
    for names, word in ((["terminal"], "You have no tools of terminal"), (["filez"], "filez")):
        agent = delegating_agent(tmp_path, enabled_toolsets=("files", "delegation"))
        assert word in told(agent.run_conversation(delegates("say x", toolsets=names))["messages"])["error"]


def test_several_work_side_by_side_and_no_more_than_the_limit(tmp_path, add_tool):
    meeting, at_work, most = threading.Barrier(2, timeout=10), [], []

    def meet(args, **kw):
        at_work.append(1)
        most.append(len(at_work))
        meeting.wait()
        at_work.pop()
        return "{}"

    add_tool("meet", meet)
    agent = delegating_agent(tmp_path, delegation=settings(max_concurrent_children=2))
    goals = [f"call meet {{}}\nsay {number}" for number in range(4)]
    result = agent.run_conversation(delegates(*goals))
    reports = told(result["messages"])["results"]
    assert [report["summary"] for report in reports] == ["0", "1", "2", "3"]
    assert max(most) == 2


def test_a_child_that_fails_is_an_answer_and_the_others_go_on(tmp_path):
    agent = delegating_agent(tmp_path)
    result = agent.run_conversation(f"{delegates('fail 400', 'say fine')}\nsay on")
    failed, fine = told(result["messages"])["results"]
    assert failed["status"] == "failed"
    assert "400" in failed["summary"]
    assert (fine["status"], fine["summary"]) == ("done", "fine")
    assert result["final_response"].strip() == "on"


def test_the_budget_of_a_child_is_its_own(tmp_path):
    agent = delegating_agent(tmp_path, delegation=settings(max_iterations=2), max_iterations=3)
    reads = "\n".join(["read a.txt"] * 9)
    (tmp_path / "a.txt").write_text("a")
    report = told(agent.run_conversation(delegates(reads))["messages"])
    assert report["status"] == "out_of_budget"
    assert report["requests"] == 3  # and one for its last words


def test_a_long_report_is_cut_and_all_of_it_is_in_a_file(tmp_path):
    agent = make_agent(
        tmp_path, uses(("c1", "delegate_task", {"goal": "Tell."})), says("long " * 20_000), says("done")
    )
    saved = tmp_path / "saved.txt"
    object.__setattr__(agent.workspace, "output_file", lambda call: saved)
    report = told(agent.run_conversation("go")["messages"])
    assert len(report["summary"]) < 25_000
    assert report["full_report"] == str(saved)
    assert saved.read_text().strip() == ("long " * 20_000).strip()


def test_what_children_use_is_counted_in_the_turn_and_in_the_session(tmp_path):
    def answer(text, tokens):
        return [TextDelta(text), UsageReport(Usage(input_tokens=tokens, output_tokens=1)), Finished("stop")]

    calls = [
        *uses(("c1", "delegate_task", {"goal": "Look."}))[:-1],
        UsageReport(Usage(10, 1)),
        Finished("tool_calls"),
    ]
    services = SessionServices()
    agent = make_agent(tmp_path, calls, answer("seen", 100), answer("done", 1_000), services=services)
    result = agent.run_conversation("go")
    assert result["usage"]["input_tokens"] == 1_110
    assert services.spent.requests == 3
    assert services.spent.usage.input_tokens == 1_110
    assert result["iterations"] == 2


def test_orchestrators_delegate_as_far_as_the_depth_allows(tmp_path):
    inner = delegates("write deep.txt x\nsay deep", role="orchestrator")
    goal = f"{inner}\nsay middle"
    agent = delegating_agent(tmp_path, delegation=settings(max_spawn_depth=2))
    ears = Ears()
    agent.run_conversation(delegates(goal, role="orchestrator"), callbacks=ears.callbacks())
    assert (tmp_path / "deep.txt").exists()
    asked = {call.name: call for call in ears.of("tool") if isinstance(call, CallRequested) and call.by}
    assert asked["write_file"].by == "Agent 1.1"
    assert asked["write_file"].parent == asked["delegate_task"].call_id


def test_without_depth_an_orchestrator_is_a_leaf_and_there_may_be_no_sub_agents_at_all(tmp_path):
    agent = delegating_agent(tmp_path)
    report = told(agent.run_conversation(delegates(delegates("write deep.txt x"), role="orchestrator"))["messages"])
    assert report["tools"] == {"delegate_task": 1}
    assert not (tmp_path / "deep.txt").exists()
    none = delegating_agent(tmp_path, delegation=settings(max_spawn_depth=0))
    assert "There is no tool" in told(none.run_conversation(delegates("say x"))["messages"])["error"]


def test_each_call_of_a_child_stands_under_the_call_that_delegates_and_says_whose_it_is(tmp_path):
    ears = Ears()
    agent = delegating_agent(tmp_path)
    agent.run_conversation(delegates("read a.txt", "read a.txt"), callbacks=ears.callbacks())
    requested = [call for call in ears.of("tool") if isinstance(call, CallRequested)]
    own, *others = requested
    assert own.name == "delegate_task"
    assert own.parent == own.by == ""
    assert {call.parent for call in others} == {own.call_id}
    assert sorted(call.by for call in others) == ["Agent 1", "Agent 2"]
    assert len({call.call_id for call in requested}) == 3
    assert all(ears.progress(call.call_id)[-1] == "finished" for call in requested)


def test_what_children_say_is_live_output_of_that_call(tmp_path):
    ears = Ears()
    agent = delegating_agent(tmp_path)
    agent.run_conversation(delegates("say first words\nread a.txt\nsay last words"), callbacks=ears.callbacks())
    call = next(call for call in ears.of("tool") if isinstance(call, CallRequested)).call_id
    shown = "".join(step.text for step in ears.of("tool") if step.call_id == call and hasattr(step, "text"))
    assert "Agent 1: first words\n" in shown
    assert "Agent 1: last words\n" in shown
    assert "Agent 1: [done]" in shown
    assert "".join(ears.of("text")).strip() == "Done."  # the turn's own text is only the parent's


def test_the_plan_of_a_child_is_not_the_parents(tmp_path):
    services, ears = SessionServices(), Ears()
    agent = delegating_agent(tmp_path, services=services)
    agent.run_conversation(f"todo mine\n{delegates('todo its; own')}", callbacks=ears.callbacks())
    assert [item.content for item in services.plan] == ["mine"]
    assert len(ears.of("plan")) == 1


def test_questions_of_children_are_asked_one_at_a_time_with_their_names(tmp_path):
    asked, open_now = [], []

    class Person:
        def ask(self, question, interrupt):
            open_now.append(1)
            asked.append((question.asker, len(open_now)))
            open_now.pop()
            return Answer(allowed=question.asker == "Agent 1", note="" if question.asker == "Agent 1" else "no")

    agent = delegating_agent(tmp_path, mode="default", approver=Person())
    result = agent.run_conversation(delegates("write a.txt 1\nsay x", "write b.txt 2\nsay y"))
    assert sorted(asked) == [("Agent 1", 1), ("Agent 2", 1)]
    assert (tmp_path / "a.txt").exists()
    assert not (tmp_path / "b.txt").exists()
    assert {report["status"] for report in told(result["messages"])["results"]} == {"done"}


def test_a_change_of_mode_counts_for_children_at_once(tmp_path):
    class Person:
        def ask(self, question, interrupt):
            agent.workspace.approvals.mode = "plan"
            return Answer(allowed=True)

    agent = delegating_agent(tmp_path, mode="default", approver=Person())
    agent.run_conversation(delegates("write a.txt 1\nwrite b.txt 2"))
    assert not (tmp_path / "a.txt").exists()
    assert not (tmp_path / "b.txt").exists()


def test_cancelling_ends_children_and_leaves_nothing(tmp_path):
    hold = Hold()
    agent = make_agent(tmp_path, uses(("c1", "delegate_task", {"goal": "Wait."})), [TextDelta("on my way"), hold])
    ears = Ears()
    running = in_background(lambda: agent.run_conversation("go", callbacks=ears.callbacks()))
    assert hold.reached.wait(10)
    assert len(agent.workspace.children.working()) == 1
    agent.interrupt()
    assert running.result(10)["stop_reason"] == "cancelled"
    wait_until(lambda: not agent.workspace.children.working())
    assert not any(task.is_live for task in agent.services.tasks.list())
    assert ears.progress("c1")[-1] == "finished"


def test_a_child_whose_tool_ignores_the_cancel_holds_nothing_up_and_has_no_effect_any_more(tmp_path, add_tool):
    entered, let_go = threading.Event(), threading.Event()

    def stuck(args, **kw):
        entered.set()
        let_go.wait(10)
        return "{}"

    add_tool("stuck", stuck)
    services = SessionServices()
    agent = delegating_agent(tmp_path, services=services)
    script = delegates("call stuck {}\nwrite late.txt x")
    running = in_background(lambda: agent.run_conversation(script))
    assert entered.wait(10)
    child = next(thread for thread in threading.enumerate() if thread.name.startswith("agent-"))
    agent.interrupt()
    assert running.result(10)["stop_reason"] == "cancelled"
    assert agent.workspace.children.working() == ()
    assert [task.state for task in services.tasks.list()] == ["stopped"]
    let_go.set()
    child.join(10)
    assert not (tmp_path / "late.txt").exists()


@pytest.mark.parametrize(
    ("part", "word"), [({"idle_seconds": 0.5}, "no sign from its model"), ({"timeout": 0.5}, "")]
)
def test_a_child_without_a_sign_of_life_is_given_up_and_reported(tmp_path, part, word):
    agent = make_agent(
        tmp_path,
        uses(("c1", "delegate_task", {"goal": "Wait."})),
        [TextDelta("on my way"), Hold()],
        says("then without"),
        delegation=settings(**part),
    )
    result = agent.run_conversation("go")
    report = told(result["messages"])
    assert report["status"] == "stale"
    assert word in report["note"]
    assert report["summary"] == "on my way"
    assert result["final_response"] == "then without"


def test_a_child_that_waits_for_the_person_is_not_stale(tmp_path):
    class Slow:
        def ask(self, question, interrupt):
            interrupt.wait_for(lambda: False, 1.2)
            return Answer(allowed=True)

    agent = delegating_agent(
        tmp_path, mode="default", approver=Slow(), delegation=settings(idle_seconds=30, tool_seconds=1)
    )
    report = told(agent.run_conversation(delegates("write a.txt 1\nsay x"))["messages"])
    assert report["status"] == "done"


def test_one_branch_can_be_stopped_while_the_others_go_on(tmp_path):
    hold, other = Hold(), Hold()
    services = SessionServices()
    tasks = {"tasks": [{"goal": "One."}, {"goal": "Two."}]}
    agent = make_agent(
        tmp_path, uses(("c1", "delegate_task", tasks)), [hold, *says("1")], [other, *says("2")], services=services
    )
    agent.provider.add(says("done"))
    running = in_background(lambda: agent.run_conversation("go"))
    assert hold.reached.wait(10)
    assert other.reached.wait(10)
    first = services.tasks.list()[0]
    assert (first.kind, first.title, first.state) == ("delegation", "One.", "running")
    services.tasks.control(first.id, "stop")
    wait_until(lambda: not services.tasks.get(first.id).is_live)
    for each in (hold, other):
        each.release()
    reports = told(running.result(10)["messages"])["results"]
    assert [report["status"] for report in reports] == ["stopped", "done"]
    assert services.tasks.get(first.id).state == "stopped"


def test_a_branch_that_is_paused_rests_before_its_next_step(tmp_path):
    hold, services = Hold(), SessionServices()
    agent = make_agent(
        tmp_path,
        uses(("c1", "delegate_task", {"goal": "One."})),
        [hold, *uses(("c2", "write_file", {"path": "a.txt", "content": "x"}))],
        says("written"),
        says("done"),
        services=services,
        delegation=settings(idle_seconds=2),
    )
    running = in_background(lambda: agent.run_conversation("go"))
    assert hold.reached.wait(10)
    task = services.tasks.list()[0].id
    services.tasks.control(task, "pause")
    hold.release()
    assert agent.workspace.children.working() != ()
    assert services.tasks.get(task).state == "paused"
    assert not running.done()
    assert not (tmp_path / "a.txt").exists()
    services.tasks.control(task, "resume")
    assert told(running.result(10)["messages"])["status"] == "done"
    assert (tmp_path / "a.txt").exists()


def test_the_system_prompt_is_the_same_for_all_children_that_have_the_same_tools(tmp_path):
    agent = make_agent(tmp_path, uses(("c1", "delegate_task", {"tasks": [{"goal": "1"}, {"goal": "2"}]})))
    agent.provider.add(says("a"), says("b"), says("done"))
    agent.run_conversation("go")
    first, second = agent.provider.requests[1:3]
    assert first.messages[0] == second.messages[0]
    assert first.tools == second.tools


def test_what_is_said_of_the_tool_follows_the_settings_and_stays_the_same_in_a_session(tmp_path):
    part = settings(max_concurrent_children=7, max_background_children=0)
    agent = make_agent(tmp_path, says("a"), says("b"), delegation=part)
    agent.chat("one")
    agent.chat("two")
    first, second = (
        next(tool["function"] for tool in request.tools if tool["function"]["name"] == "delegate_task")
        for request in agent.provider.requests
    )
    assert first == second
    assert "7 at once" in first["description"]
    assert not {"background", "role", "model"} & first["parameters"]["properties"].keys()


def test_a_child_s_messages_are_stored_as_a_session_of_its_own_before_they_are_acted_on(tmp_path):
    store = LoggedStore()
    agent = delegating_agent(tmp_path, session_store=store)
    agent.run_conversation(delegates("say hi"))
    assert store.log == [
        "stored user",
        "stored assistant+calls",
        "stored user",
        "stored assistant",
        "stored tool",
        "stored assistant",
    ]
