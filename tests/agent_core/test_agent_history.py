"""What of a turn is stored, and when: before it is acted on, and well formed however the turn ends."""

from __future__ import annotations

import threading

import pytest

from agent_core.callbacks import AgentCallbacks, Status
from agent_core.errors import ModelFailed, ProviderConnectionError, StoreError
from agent_core.messages import INTERRUPTED_TURN, assistant_message, tool_call, user_message
from agent_core.providers.base import Finished, ReasoningDelta, TextDelta, ToolCallStarted
from tests.support.agents import LoggedStore, MemoryStore, assert_well_formed, in_background, make_agent, roles
from tests.support.scripted_provider import Hold, says, uses

SESSION = "session-1"


@pytest.fixture
def store():
    return LoggedStore()


def test_each_message_is_stored_before_it_is_acted_on(tmp_path, store, add_tool):
    add_tool("act", lambda args, **kw: store.log.append("tool ran") or "{}")
    first = [store.note("model asked"), *uses(("a", "act", {}), ("b", "act", {}))]
    agent = make_agent(tmp_path, first, [store.note("model asked"), *says("done")], session_store=store)
    agent.chat("go")
    assert store.log == [
        "stored user",
        "model asked",
        "stored assistant+calls",
        "tool ran",
        "stored tool",
        "tool ran",
        "stored tool",
        "model asked",
        "stored assistant",
    ]


def test_every_result_of_parallel_calls_is_stored_before_the_model_is_asked_again(tmp_path, store, add_tool):
    both = threading.Barrier(2)
    add_tool("meet", lambda args, **kw: (both.wait(5) and None) or "{}", parallel="safe")
    first = uses(("a", "meet", {}), ("b", "meet", {}))
    agent = make_agent(tmp_path, first, [store.note("model asked"), *says("done")], session_store=store)
    agent.chat("go")
    assert store.log[-4:] == ["stored tool", "stored tool", "model asked", "stored assistant"]


class FailingStore(MemoryStore):
    """Cannot store messages of one role."""

    def __init__(self, role):
        super().__init__()
        self.role = role

    def append(self, session_id, turn_id, message):
        if message["role"] == self.role:
            raise StoreError("the disk is full")
        return super().append(session_id, turn_id, message)


@pytest.mark.parametrize(("role", "asked"), [("user", 0), ("assistant", 1)])
def test_what_cannot_be_stored_is_not_acted_on(tmp_path, add_tool, role, asked):
    ran = []
    add_tool("act", lambda args, **kw: ran.append(1) or "{}")
    agent = make_agent(tmp_path, uses(("a", "act", {})), session_store=FailingStore(role))
    with pytest.raises(StoreError, match="the disk is full"):
        agent.chat("go")
    assert ran == []
    assert len(agent.provider.requests) == asked


def run_normally(agent, _hold):
    agent.chat("go")


def cancel_at_the_hold(agent, hold):
    running = in_background(lambda: agent.run_conversation("go"))
    assert hold.reached.wait(5)
    agent.interrupt()
    assert running.result(5)["stop_reason"] == "cancelled"


def fail(agent, _hold):
    with pytest.raises(ModelFailed):
        agent.chat("go")


ENDINGS = {
    "a plain answer": (run_normally, lambda hold: [says("done")]),
    "tools": (run_normally, lambda hold: [uses(("a", "todo", {}), ("b", "todo", {})), says("done")]),
    "cancel before the first token": (cancel_at_the_hold, lambda hold: [[hold]]),
    "cancel in the middle of the text": (
        cancel_at_the_hold,
        lambda hold: [[ReasoningDelta("secret thought"), TextDelta("partial text"), hold]],
    ),
    "cancel in the middle of a call's arguments": (
        cancel_at_the_hold,
        lambda hold: [[*uses(("a", "todo", '{"partial'))[:-1], hold]],
    ),
    "cancel in the request after tools": (cancel_at_the_hold, lambda hold: [uses(("a", "todo", {})), [hold]]),
    "error at once": (fail, lambda hold: [[ProviderConnectionError("gone")]]),
    "error in the middle": (fail, lambda hold: [[TextDelta("seen text"), ProviderConnectionError("gone")]]),
    "error after tools": (fail, lambda hold: [uses(("a", "todo", {})), [ProviderConnectionError("gone")]]),
    "budget": (run_normally, lambda hold: [uses((f"c{number}", "todo", {})) for number in range(5)]),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_history_is_well_formed_and_has_what_the_person_saw_after(tmp_path, ending):
    act, script = ENDINGS[ending]
    hold, store = Hold(), MemoryStore()
    agent = make_agent(tmp_path, *script(hold), session_store=store, session_id=SESSION, max_iterations=4)
    act(agent, hold)
    messages = store.messages(SESSION)
    assert_well_formed(messages)
    said = [message["content"] for message in messages if message["role"] == "assistant" and message["content"]]
    assert (f"partial text\n\n{INTERRUPTED_TURN}" in said) is (ending == "cancel in the middle of the text")
    assert ("seen text\n\n[This turn failed: " in str(said).replace("\\n", "\n")) is (ending == "error in the middle")
    assert '{"partial' not in str(messages), "of a call that was not finished nothing is kept"
    assert "secret" not in str(messages)
    agent.provider.add(says("the next turn"))
    agent.chat("next")
    assert_well_formed(store.messages(SESSION))
    assert_well_formed([*agent.provider.requests[-1].messages[1:], assistant_message("x")])


def test_a_failed_turn_tells_the_next_one_why(tmp_path):
    agent = make_agent(tmp_path, [ProviderConnectionError("the server is gone")], says("ok"))
    with pytest.raises(ModelFailed):
        agent.chat("go")
    agent.chat("go on")
    told = agent.provider.requests[1].messages[2]["content"]
    assert told.startswith("[This turn failed: ")
    assert "the server is gone" in told


def test_what_the_person_saw_of_an_answer_that_broke_off_is_in_the_history(tmp_path):
    agent = make_agent(tmp_path, [TextDelta("seen so far"), ProviderConnectionError("gone")], says("ok"))
    with pytest.raises(ModelFailed):
        agent.chat("go")
    agent.chat("go on")
    told = agent.provider.requests[1].messages[2]["content"]
    assert told.startswith("seen so far\n\n[This turn failed: ")


def test_a_cancel_while_tools_run_keeps_finished_results_and_answers_the_others(tmp_path, add_tool):
    waiting, store = threading.Event(), MemoryStore()

    def waits(args, **kw):
        waiting.set()
        kw["ctx"].interrupt.wait_for(lambda: False, timeout=10)
        return "{}"

    add_tool("quick", lambda args, **kw: '{"found": 42}')
    add_tool("waits", waits)
    agent = make_agent(
        tmp_path, uses(("a", "quick", {}), ("b", "waits", {}), ("c", "quick", {})), session_store=store,
        session_id=SESSION,
    )  # fmt: skip
    running = in_background(lambda: agent.run_conversation("go"))
    assert waiting.wait(5)
    agent.interrupt()
    result = running.result(5)
    messages = store.messages(SESSION)
    assert_well_formed(messages)
    assert messages[2]["content"] == '{"found": 42}'
    assert ["Interrupted" in str(message["content"]) for message in messages[3:5]] == [True, True]
    assert result["messages"] == messages


def test_an_abandoned_turn_writes_nothing_more_and_the_next_turn_begins_at_once(tmp_path, store, add_tool):
    stuck, go_on = threading.Event(), threading.Event()

    def deaf(args, **kw):
        stuck.set()
        assert go_on.wait(10)
        return '{"late": true}'

    add_tool("deaf", deaf)
    agent = make_agent(tmp_path, uses(("a", "deaf", {})), session_store=store, session_id=SESSION)
    running = in_background(lambda: agent.run_conversation("go"))
    assert stuck.wait(5)
    agent.abandon()
    successor = make_agent(tmp_path, says("at once"), session_store=store, session_id=SESSION)
    assert successor.chat("next") == "at once"
    messages = store.messages(SESSION)
    go_on.set()
    assert running.result(5)["stop_reason"] == "cancelled"
    assert store.messages(SESSION) == messages
    assert_well_formed(messages)
    assert "late" not in str(messages)
    assert "refused tool" in store.log


def test_a_replaced_turn_that_writes_during_its_successor_is_refused(tmp_path, store):
    hold_first, hold_second = Hold(), Hold()
    first = make_agent(tmp_path, [hold_first, *says("from the first")], session_store=store, session_id=SESSION)
    second = make_agent(tmp_path, [hold_second, *says("from the second")], session_store=store, session_id=SESSION)
    first_run = in_background(lambda: first.run_conversation("one"))
    assert hold_first.reached.wait(5)
    second_run = in_background(lambda: second.run_conversation("two"))
    assert hold_second.reached.wait(5)
    hold_first.release()
    assert first_run.result(5)["stop_reason"] == "cancelled"
    hold_second.release()
    assert second_run.result(5)["final_response"] == "from the second"
    assert_well_formed(store.messages(SESSION))
    assert "from the first" not in str(store.messages(SESSION))


def test_a_turn_that_is_abandoned_while_it_begins_is_cancelled_and_leaves_nothing(tmp_path):
    agent = None

    class AbandonedAtOnce(MemoryStore):
        def begin_turn(self, session_id, turn_id):
            super().begin_turn(session_id, turn_id)
            agent.abandon()

    store = AbandonedAtOnce()
    agent = make_agent(tmp_path, session_store=store, session_id=SESSION)
    assert agent.run_conversation("go")["stop_reason"] == "cancelled"
    assert store.messages(SESSION) == []


def test_a_session_that_a_crash_left_in_the_middle_of_a_tool_goes_on(tmp_path):
    store = MemoryStore()
    store.create(SESSION, str(tmp_path))
    store.begin_turn(SESSION, "crashed")
    for message in (user_message("go"), assistant_message("", [tool_call("a", "todo", "{}")])):
        store.append(SESSION, "crashed", message)
    agent = make_agent(tmp_path, says("on we go"), session_store=store, session_id=SESSION)
    agent.chat("go on")
    assert roles(store.messages(SESSION)) == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert_well_formed(store.messages(SESSION))


def test_reasoning_is_kept_with_its_message(tmp_path):
    script = [ReasoningDelta("because"), TextDelta("yes"), Finished("stop")]
    result = make_agent(tmp_path, script).run_conversation("why?")
    assert result["messages"][-1] == {"role": "assistant", "content": "yes", "reasoning": "because"}


def test_an_answer_that_was_cut_before_its_first_word_leaves_no_empty_message_behind(tmp_path):
    agent = make_agent(tmp_path, [ReasoningDelta("hm"), Finished("length")], says("on"))
    result = agent.run_conversation("go")
    assert result["stop_reason"] == "max_tokens"
    assert result["final_response"]
    assert result["messages"][-1]["content"]
    agent.chat("again")
    assert_well_formed([*agent.provider.requests[-1].messages[1:], assistant_message("on")])


def test_a_refusal_without_a_word_is_told_and_leaves_nothing_for_the_model(tmp_path):
    agent = make_agent(tmp_path, [ReasoningDelta("hm"), Finished("refusal")], says("on"))
    result = agent.run_conversation("go")
    assert result["stop_reason"] == "refusal"
    assert result["final_response"]
    assert result["messages"] == []
    agent.chat("again")
    assert_well_formed([*agent.provider.requests[-1].messages[1:], assistant_message("on")])


def test_an_id_that_was_announced_in_an_answer_that_broke_off_is_not_given_again(tmp_path):
    announced = []
    broken = [ToolCallStarted(0, "call_0", "todo"), ProviderConnectionError("gone")]
    agent = make_agent(tmp_path, broken, uses(("call_0", "todo", {})), says("done"))
    callbacks = AgentCallbacks(tool_gen_callback=lambda call_id, name: announced.append(call_id))
    with pytest.raises(ModelFailed):
        agent.run_conversation("go", callbacks=callbacks)
    agent.run_conversation("again", callbacks=callbacks)
    assert len(announced) == len(set(announced)) == 2


class TroubleAt(MemoryStore):
    """Can store nothing any more from one moment on: the end of a turn, or its last message."""

    def __init__(self, moment):
        super().__init__()
        self.moment, self.why = moment, ""

    def append(self, session_id, turn_id, message):
        if self.moment == message["role"]:
            self.why = "The disk is full."
        return super().append(session_id, turn_id, message)

    def end_turn(self, session_id, turn_id, outcome="", note=""):
        if self.moment == "end":
            self.why = "The disk is full."
        super().end_turn(session_id, turn_id, outcome, note)

    def trouble(self, session_id):
        return self.why


@pytest.mark.parametrize("moment", ["user", "assistant", "end"])
def test_that_nothing_can_be_stored_is_told_once_in_the_turn_in_which_it_begins(tmp_path, moment):
    told = []
    agent = make_agent(tmp_path, says("Hello."), session_store=TroubleAt(moment))
    result = agent.run_conversation("hi", callbacks=AgentCallbacks(status_callback=told.append))
    assert result["final_response"] == "Hello."
    assert told == [Status("storage", "The disk is full.")]
