"""Turns of a model that goes round in circles: it is warned, held back, and in the end the turn is over."""

from __future__ import annotations

import pytest

from agent_core.guardrails import Steps, Thresholds
from tests.support.agents import Ears, assert_well_formed, make_agent, tool_contents
from tests.support.scripted_provider import ScriptedProvider, says, uses

MISSING = ("read_file", {"path": "missing.txt"})
STOPPED = "Stopped: the model went round in circles."


def again(tool, arguments, times, first=1):
    return [uses((f"c{number}", tool, arguments)) for number in range(first, first + times)]


def test_a_call_that_fails_again_and_again_ends_the_turn(tmp_path):
    ears = Ears()
    agent = make_agent(tmp_path, *again(*MISSING, 6), callbacks=ears.callbacks())
    result = agent.run_conversation("read it")
    told = tool_contents(result["messages"])
    assert ["\n\n[" in one for one in told] == [False, True, True, True, False, False]
    assert [one.startswith("Error: Not run:") for one in told] == [False] * 4 + [True] * 2
    assert result["stop_reason"] == "max_turn_requests"
    assert result["final_response"].startswith(STOPPED)
    assert [status.kind for status in ears.of("status")] == ["circle"]
    assert [ears.progress(f"c{number}")[-1] for number in range(1, 7)] == ["finished"] * 6
    assert_well_formed(result["messages"])


def test_the_next_prompt_begins_anew(tmp_path):
    agent = make_agent(tmp_path, *again(*MISSING, 7), says("it is missing"))
    agent.run_conversation("read it")
    result = agent.run_conversation("again")
    assert result["stop_reason"] == "end_turn"
    assert "\n\n[" not in tool_contents(result["messages"])[-1]


def test_reading_the_same_is_held_back_until_something_changes(tmp_path, add_tool):
    (tmp_path / "a.txt").write_text("one\n")
    add_tool("look", lambda args, **kw: (tmp_path / "a.txt").read_text(), parallel="safe")
    write = uses(("w", "write_file", {"path": "b.txt", "content": "two\n"}))
    agent = make_agent(tmp_path, *again("look", {}, 5), write, *again("look", {}, 1, 6), says("so"))
    result = agent.run_conversation("look")
    told = [message["content"] for message in result["messages"] if message["role"] == "tool"]
    assert [text.startswith("one") for text in told] == [True, True, True, True, False, False, True]
    assert told[6] == "one\n"
    assert result["stop_reason"] == "end_turn"


def test_words_of_the_person_for_the_running_turn_let_it_go_on(tmp_path):
    steer = []
    scripts = again(*MISSING, 5)
    scripts += [[lambda: steer[0]("it comes in a moment"), *uses(("c6", *MISSING))]]
    agent = make_agent(tmp_path, *scripts, *again(*MISSING, 1, 7), says("still missing"))
    steer.append(agent.steer)
    result = agent.run_conversation("read it")
    assert result["stop_reason"] == "end_turn"
    assert "\n\n[" not in tool_contents(result["messages"])[-1]


def test_what_the_user_turned_off_is_not_done(tmp_path):
    off = Steps(0, 0, 0)
    agent = make_agent(tmp_path, *again(*MISSING, 12), says("it is missing"), guardrails=Thresholds(off, off, off))
    result = agent.run_conversation("read it")
    assert result["stop_reason"] == "end_turn"
    assert all("\n\n[" not in one for one in tool_contents(result["messages"]))


@pytest.mark.parametrize("calls", [1, 8])
def test_a_warning_is_part_of_the_history_and_breaks_no_cached_prefix(tmp_path, calls):
    scripts = [uses(*[(f"{turn}-{number}", *MISSING) for number in range(calls)]) for turn in range(4)]
    provider = ScriptedProvider(*scripts, says("enough"), says("fine"))
    agent = make_agent(tmp_path, provider=provider)
    agent.run_conversation("read it")
    agent.run_conversation("thanks")
    assert agent.services.prefix.breaks == []
    before, after = provider.requests[-2:]
    assert list(after.messages[: len(before.messages)]) == list(before.messages)
