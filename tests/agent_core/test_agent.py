"""A turn from outside: what goes in, what comes back, how it ends, and one turn at a time."""

from __future__ import annotations

import threading

import pytest

from agent_core.agent import AIAgent
from agent_core.callbacks import AgentCallbacks
from agent_core.cancel import CancelToken
from agent_core.errors import (
    ModelFailed,
    ProviderConnectionError,
    RequestError,
    SettingsError,
    UnknownSession,
)
from agent_core.messages import assistant_message, tool_call, user_message
from agent_core.model_request.fallback_chain import make_provider
from agent_core.providers.base import Finished, ReasoningDelta, TextDelta, Usage, UsageReport
from tests.support.agents import Ears, MemoryStore, assert_well_formed, in_background, make_agent, roles
from tests.support.choices import choice_for
from tests.support.model_server import Hang, Reply
from tests.support.scripted_provider import Hold, ScriptedProvider, says, uses


def test_chat_returns_the_answers_text(tmp_path):
    assert make_agent(tmp_path, says("Hello there.")).chat("hi") == "Hello there."


def test_a_turn_tells_everything_about_itself(tmp_path):
    (tmp_path / "note.txt").write_text("remember\n")
    first = [UsageReport(Usage(10, 5, 2, 1)), *uses(("a", "read_file", {"path": "note.txt"}))]
    second = [UsageReport(Usage(20, None, 3)), *says("It says remember.")]
    result = make_agent(tmp_path, first, second).run_conversation("read it")
    assert roles(result["messages"]) == ["user", "assistant", "tool", "assistant"]
    assert "remember" in str(result["messages"][2]["content"])
    assert result["final_response"] == "It says remember."
    assert result["usage"] == {"input_tokens": 30, "output_tokens": 5, "cached_tokens": 5, "reasoning_tokens": 1}
    assert (result["stop_reason"], result["interrupted"], result["iterations"]) == ("end_turn", False, 2)
    assert result["model"] == "test-model"
    assert result["turn_id"]


def test_the_model_gets_the_system_prompt_the_history_and_the_tools(tmp_path):
    agent = make_agent(tmp_path, says("one"), says("two"), max_tokens=77)
    agent.chat("first")
    agent.chat("second")
    first, second = agent.provider.requests
    assert first.messages[0]["role"] == "system"
    assert str(tmp_path) in str(first.messages[0]["content"])
    assert second.messages[0] == first.messages[0]
    assert [message["content"] for message in second.messages[1:]] == ["first", "one", "second"]
    assert {"read_file", "terminal"} <= {tool["function"]["name"] for tool in first.tools}
    assert (first.model, first.max_tokens) == ("test-model", 77)


def test_a_disabled_toolset_is_not_offered(tmp_path):
    agent = make_agent(tmp_path, says("ok"), disabled_toolsets=("terminal",))
    agent.chat("hi")
    names = {tool["function"]["name"] for tool in agent.provider.requests[0].tools}
    assert "read_file" in names
    assert "terminal" not in names


def test_content_with_images_reaches_the_model_as_it_is(tmp_path):
    content = [{"type": "text", "text": "what?"}, {"type": "image_url", "image_url": {"url": "data:image/png,x"}}]
    agent = make_agent(tmp_path, says("a picture"))
    agent.run_conversation(content)
    assert agent.provider.requests[0].messages[-1]["content"] == content


def test_a_given_system_message_takes_the_place_of_the_agents_own(tmp_path):
    agent = make_agent(tmp_path, says("ok"))
    agent.run_conversation("hi", system_message="You are a parrot.")
    assert agent.provider.requests[0].messages[0] == {"role": "system", "content": "You are a parrot."}


def test_a_given_history_takes_the_place_of_the_stored_one_and_is_not_changed(tmp_path):
    agent = make_agent(tmp_path, says("one"), says("two"))
    agent.chat("stored")
    history = [user_message("earlier"), assistant_message("indeed")]
    result = agent.run_conversation("and now?", conversation_history=history)
    asked = [message["content"] for message in agent.provider.requests[1].messages[1:]]
    assert asked == ["earlier", "indeed", "and now?"]
    assert len(history) == 2
    assert [message["content"] for message in result["messages"]] == [*asked, "two"]


def test_a_given_history_that_breaks_off_is_made_whole_for_the_model(tmp_path):
    agent = make_agent(tmp_path, says("ok"))
    history = [user_message("go"), assistant_message("", [tool_call("a", "todo", "{}")])]
    result = agent.run_conversation("go on", conversation_history=history)
    assert_well_formed(result["messages"])


@pytest.mark.parametrize(
    ("finish", "stop_reason", "requests"),
    [("stop", "end_turn", 1), ("length", "max_tokens", 4), ("refusal", "refusal", 1)],
)
def test_how_the_model_ends_is_how_the_turn_ends(tmp_path, finish, stop_reason, requests):
    result = make_agent(tmp_path, *[says("so far", finish)] * requests).run_conversation("hi")
    assert (result["stop_reason"], result["final_response"]) == (stop_reason, "so far" * requests)
    assert_well_formed(result["messages"])


@pytest.mark.parametrize(
    "script",
    [
        [Finished("stop")],
        [Finished("tool_calls")],
        [TextDelta(" \n"), Finished("stop")],
        [ReasoningDelta("hm"), Finished("stop")],
    ],
    ids=["nothing", "calls that are not there", "blank", "only thoughts"],
)
def test_an_empty_answer_is_an_error_and_no_silent_end(tmp_path, script):
    agent = make_agent(tmp_path, script, says("better"))
    with pytest.raises(ModelFailed, match="gave an empty answer for model test-model"):
        agent.chat("hi")
    assert agent.chat("again") == "better"


def test_a_turn_that_uses_up_its_requests_says_so_and_the_next_goes_on(tmp_path):
    ears = Ears()
    again = [uses((f"c{number}", "todo", {})) for number in range(3)]
    silent = [Finished("stop")]
    agent = make_agent(tmp_path, *again, silent, says("finally"), max_iterations=3, callbacks=ears.callbacks())
    result = agent.run_conversation("loop")
    assert (result["stop_reason"], result["iterations"], result["interrupted"]) == ("max_turn_requests", 3, False)
    assert "3 model requests" in result["final_response"]
    assert [(status.kind, status.text) for status in ears.of("status")] == [("budget", result["final_response"])]
    assert_well_formed(result["messages"])
    assert agent.chat("go on") == "finally"


def test_a_second_turn_at_the_same_time_is_refused_and_leaves_the_first_alone(tmp_path):
    hold = Hold()
    agent = make_agent(tmp_path, [hold, *says("first")], says("third"))
    running = in_background(lambda: agent.chat("one"))
    assert hold.reached.wait(5)
    with pytest.raises(RequestError, match="already running"):
        agent.chat("two")
    hold.release()
    assert running.result(5) == "first"
    assert agent.chat("three") == "third"


def test_a_store_that_cannot_begin_a_turn_does_not_block_the_agent_for_ever(tmp_path):
    store = MemoryStore()
    agent = make_agent(tmp_path, says("back"), session_store=store, session_id="s")
    agent.session_id = "another"
    for _ in range(2):
        with pytest.raises(UnknownSession):
            agent.chat("hi")
    agent.session_id = "s"
    assert agent.chat("hi") == "back"


def test_a_provider_error_reaches_the_caller_with_its_cause(tmp_path):
    agent = make_agent(tmp_path, [TextDelta("he"), ProviderConnectionError("the server is gone")], says("back"))
    with pytest.raises(ModelFailed, match="the server is gone") as caught:
        agent.chat("hi")
    assert isinstance(caught.value.__cause__, ProviderConnectionError)
    assert caught.value.reason == "connection"
    assert agent.chat("again") == "back"


def test_interrupt_from_another_thread_ends_the_turn(tmp_path):
    hold = Hold()
    agent = make_agent(tmp_path, [TextDelta("half"), hold, Finished("stop")], says("whole"))
    running = in_background(lambda: agent.run_conversation("hi"))
    assert hold.reached.wait(5)
    agent.interrupt()
    result = running.result(5)
    assert (result["stop_reason"], result["interrupted"], result["final_response"]) == ("cancelled", True, "")
    assert agent.chat("again") == "whole"


def test_an_interrupt_hangs_up_on_a_server_that_is_silent(tmp_path, model_server):
    model_server.add(Hang(Reply("half an answer", split=4), after=2), Reply("whole"))
    provider = make_provider(choice_for(model_server.base_url))
    agent, heard, halfway = make_agent(tmp_path, provider=provider), [], threading.Event()

    def hear(text):
        heard.append(text)
        if "".join(heard) == "half an ":
            halfway.set()

    running = in_background(lambda: agent.run_conversation("hi", callbacks=AgentCallbacks(hear)))
    assert halfway.wait(20)
    agent.interrupt()
    assert running.result(10)["stop_reason"] == "cancelled"
    assert model_server.requests[0].disconnected.wait(10)
    assert agent.chat("again") == "whole"
    provider.close()


def test_an_interrupt_while_nothing_runs_is_without_effect(tmp_path):
    agent = make_agent(tmp_path, says("still here"))
    agent.interrupt()
    assert agent.chat("hi") == "still here"


def test_a_token_that_is_cancelled_already_asks_no_model(tmp_path):
    agent, token = make_agent(tmp_path), CancelToken()
    token.cancel()
    result = agent.run_conversation("hi", token=token)
    assert result["stop_reason"] == "cancelled"
    assert agent.provider.requests == []


def test_close_ends_the_turn_and_leaves_a_shared_provider_open(tmp_path):
    hold, provider = Hold(), ScriptedProvider()
    provider.add([hold, *says("never")])
    agent, other = make_agent(tmp_path, provider=provider), make_agent(tmp_path, provider=provider)
    running = in_background(lambda: agent.run_conversation("hi"))
    assert hold.reached.wait(5)
    agent.close()
    assert running.result(5)["stop_reason"] == "cancelled"
    assert not provider.closed
    provider.add(says("fine"))
    assert other.chat("hi") == "fine"


def test_an_agent_by_name_takes_its_provider_from_the_settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("words\n")
    result = AIAgent("offline", "offline").run_conversation("read a.txt\nsay read")
    assert (result["final_response"].strip(), result["iterations"]) == ("read", 2)


def test_an_agent_by_name_refuses_a_protocol_that_its_provider_does_not_speak(home):
    with pytest.raises(RequestError, match="'telepathy' is not available for offline"):
        AIAgent("offline", "offline", api_mode="telepathy")
    with pytest.raises(SettingsError, match="nonesuch"):
        AIAgent("some-model", "nonesuch")


def test_agents_of_different_threads_do_not_wait_for_each_other(tmp_path):
    both = threading.Barrier(2)
    agents = [make_agent(tmp_path, [lambda: both.wait(5), *says(name)]) for name in ("one", "two")]
    running = [in_background(lambda agent=agent: agent.chat("hi")) for agent in agents]
    assert [one.result(5) for one in running] == ["one", "two"]
