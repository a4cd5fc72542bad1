"""The requests of one turn: counted, given back, warned of; and the closing words when they are spent."""

from __future__ import annotations

import threading

import pytest

from agent_core.errors import ProviderConnectionError
from agent_core.providers.base import Finished, TextDelta, ToolCallArguments, ToolCallStarted
from agent_core.turn import IterationBudget
from tests.support.agents import Ears, assert_well_formed, in_background, make_agent, roles, tool_contents
from tests.support.each import each
from tests.support.scripted_provider import Hold, says, uses
from tools.environments.guardian import Guardian


def works(count, name="todo"):
    return [uses((f"c{number}", name, {})) for number in range(count)]


def test_a_spent_budget_gives_nothing_more():
    budget = IterationBudget(2)
    assert [budget.spend(), budget.spend(), budget.spend()] == [True, True, False]
    assert (budget.used, budget.left) == (2, 0)


def test_what_is_given_back_can_be_spent_again_but_not_for_ever():
    budget = IterationBudget(2)
    assert not budget.refund()
    spent = 0
    while budget.spend():
        spent += 1
        budget.refund()
    assert spent == 4


def test_many_threads_spend_no_more_than_there_is():
    budget, spent = IterationBudget(500), []

    def work():
        while budget.spend():
            spent.append(1)
            if len(spent) % 3 == 0:
                budget.refund()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.used == 500
    assert 500 < len(spent) <= 1000


@each(("limit", "warned_at"), [(90, [81]), (10, [9]), (20, [18]), (9, []), (1, [])])
def test_a_warning_comes_once_when_a_tenth_is_left(limit, warned_at):
    budget = IterationBudget(limit)
    assert [budget.used for _ in range(limit) if budget.spend() and budget.warning()] == warned_at


def test_the_model_is_warned_with_the_last_result_of_an_answer(tmp_path):
    pair = uses(("a", "todo", {}), ("b", "todo", {}))
    script = [*works(8), pair]
    agent = make_agent(tmp_path, *script, says("Done."), max_iterations=10)
    told = tool_contents(agent.run_conversation("go")["messages"])
    assert ["request is left" in one for one in told] == [False] * 9 + [True]
    assert told[-1].rpartition("\n\n[")[2].startswith("1 of this turn's 10 model request is left.")


def test_a_spent_turn_ends_with_the_models_own_words_and_the_reason(tmp_path):
    ears = Ears()
    agent = make_agent(tmp_path, *works(2), says("I got half."), max_iterations=2, callbacks=ears.callbacks())
    result = agent.run_conversation("go")
    assert (result["final_response"], result["stop_reason"]) == ("I got half.", "max_turn_requests")
    assert result["iterations"] == 2
    ((kind, text),) = [(status.kind, status.text) for status in ears.of("status")]
    assert (kind, "2 model requests" in text, "agent.max_turns" in text) == ("budget", True, True)
    assert_well_formed(result["messages"])


def test_the_closing_request_keeps_what_servers_have_cached(tmp_path):
    agent = make_agent(tmp_path, *works(2), says("Half."), says("next"), max_iterations=2)
    agent.chat("go")
    agent.chat("go on")
    last, closing, following = agent.provider.requests[1:]
    assert closing.tools == last.tools
    assert closing.messages[: len(last.messages)] == last.messages
    assert (closing.messages[-1].get("injected"), closing.words_only, last.words_only) == (True, True, False)
    assert following.messages[: len(closing.messages)] == closing.messages
    assert not following.words_only
    assert agent.services.prefix.breaks == []


def test_calls_of_the_closing_answer_are_not_run_and_each_has_a_result(tmp_path, add_tool):
    ran, ears = [], Ears()
    add_tool("act", lambda args, **kw: ran.append(1) or "{}")
    last = uses(("x", "act", {}), ("y", "act", {}), text="One more thing:")
    agent = make_agent(tmp_path, *works(1), last, max_iterations=1, callbacks=ears.callbacks())
    result = agent.run_conversation("go")
    assert ran == []
    assert all(one.startswith("Error: Not run:") for one in tool_contents(result["messages"])[1:])
    assert roles(result["messages"][-4:]) == ["assistant", "tool", "tool", "assistant"]
    assert result["final_response"] == "One more thing:"
    assert [ears.finished(call).ran for call in ("x", "y")] == [False, False]
    assert_well_formed(result["messages"])


@pytest.mark.parametrize(
    "closing",
    [
        [ProviderConnectionError("gone")],
        [Finished("stop")],
        [ToolCallStarted(0, "x", "todo"), ToolCallArguments(0, "{}"), Finished("tool_calls")],
    ],
    ids=["failed", "empty", "only calls"],
)
def test_without_closing_words_there_is_the_reason_alone(tmp_path, closing):
    agent = make_agent(tmp_path, *works(2), closing, says("next"), max_iterations=2)
    result = agent.run_conversation("go")
    assert result["final_response"].startswith("Stopped after 2 model requests")
    assert result["stop_reason"] == "max_turn_requests"
    assert_well_formed(result["messages"])
    assert agent.chat("go on") == "next"


def test_closing_words_that_broke_off_stay(tmp_path):
    broken = [TextDelta("I got ha"), ProviderConnectionError("gone")]
    result = make_agent(tmp_path, *works(1), broken, max_iterations=1).run_conversation("go")
    assert result["final_response"].startswith("I got haStopped after 1 model requests")


def test_an_answer_that_was_cut_when_the_budget_ended_is_finished(tmp_path):
    agent = make_agent(tmp_path, says("first", "length"), says(" and last"), max_iterations=1)
    assert agent.chat("go") == "first and last"


def test_an_interrupt_ends_the_closing_request_too(tmp_path):
    hold = Hold()
    agent = make_agent(tmp_path, *works(1), [hold, *says("never")], max_iterations=1)
    turn = in_background(lambda: agent.run_conversation("go"))
    assert hold.reached.wait(5)
    agent.interrupt()
    result = turn.result(5)
    assert result["stop_reason"] == "cancelled"
    assert_well_formed(result["messages"])


def test_words_of_the_person_at_the_budgets_end_are_answered_in_the_closing(tmp_path, add_tool):
    agent = make_agent(tmp_path, *works(1, "act"), says("Yes, half."), max_iterations=1)
    add_tool("act", lambda args, **kw: agent.steer("how far are you?") and "{}")
    result = agent.run_conversation("go")
    assert agent.provider.requests[1].messages[-1]["content"].startswith("how far are you?\n\n[Not from the user.")
    assert result["final_response"] == "Yes, half."
    assert_well_formed(result["messages"])


def test_an_answer_of_programmatic_calls_alone_costs_nothing(tmp_path):
    program = ("a", "execute_code", {"code": "print(1)"})
    scripts = uses(program), uses(program), uses(program, ("b", "todo", {})), says("done")
    guardian = Guardian()
    agent = make_agent(tmp_path, *scripts, guardian=guardian, max_iterations=2)
    result = agent.run_conversation("go")
    guardian.kill_all()
    assert (result["stop_reason"], result["iterations"]) == ("end_turn", 2)
