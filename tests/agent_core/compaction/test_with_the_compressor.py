"""The usual engine in whole turns: in the middle of one, after a switch to a smaller window, and on real servers."""

from __future__ import annotations

import json

import pytest

from agent_core.agent import AIAgent
from agent_core.compaction.view import shown
from agent_core.errors import ModelFailed
from agent_core.messages import repaired
from agent_core.model_request.fallback_chain import Route
from agent_core.providers.base import ModelRequest
from tests.support.agents import Ears, assert_well_formed
from tests.support.model_server import ModelServer, Reply, Status, ToolCall
from tests.support.wire_agents import pooled, wired

CALLS = 12
SMALL = 20_000  # a window with few tools in the list


@pytest.fixture
def files(tmp_path):
    for number in range(CALLS):
        (tmp_path / f"part{number}.txt").write_text(f"a sentence of part {number} that says little.\n" * 200)


def reads(number):
    return Reply("", tool_calls=[ToolCall(f"c{number}", "read_file", {"path": f"part{number}.txt"})])


def fixed(agent: AIAgent) -> int:
    return agent.services.meter.fixed("any", agent.services.system or "", agent.services.tools or ())


@pytest.fixture
def window(model_server, over, protocol):
    """One that the tools fill to less than a half, and five of the files as well."""
    model_server.add(Reply("hi"))
    probe = over(wired(model_server.base_url, protocol, context_length=SMALL))
    probe.chat("hello")
    return fixed(probe) + 12_000


def test_within_one_turn_of_many_calls_the_model_goes_on_with_its_task(model_server, over, protocol, files, window):
    model_server.add(*[reads(number) for number in range(CALLS)], reads(0), Reply("done"))
    ears, agent = Ears(), over(wired(model_server.base_url, protocol, context_length=window))
    result = agent.run_conversation("Read all parts, and tell me what TASK-17 wants.", callbacks=ears.callbacks())
    assert result["final_response"] == "done"
    assert [step.state for step in ears.of("compression")]
    assert set(agent.services.prefix.breaks) == {"compression"}
    last = model_server.requests[-1].raw.decode()
    assert "TASK-17" in last
    assert "a sentence of part 3 that" not in last
    assert_well_formed(result["messages"])
    # What has left the view is read again, whole, when it is asked for.
    assert "a sentence of part 0" in str(result["messages"][-2]["content"])
    assert len(result["messages"]) == 2 + 2 * (CALLS + 1)
    sizes = [len(request.raw) for request in model_server.requests]
    assert max(sizes[1:]) < 3 * window * 4


def test_a_switch_to_a_smaller_window_compresses_before_its_first_request(
    model_server, over, protocol, files, window
):
    model_server.add(*[reads(number) for number in range(8)], Reply("read"), Reply("smaller"))
    agent = over(wired(model_server.base_url, protocol, context_length=1_000_000))
    agent.chat("Read all parts.")
    assert agent.services.compaction is None
    little = wired(model_server.base_url, protocol, context_length=window, model="other-model")
    agent.switch(Route([pooled(little)], agent.route.connect), None)
    assert agent.chat("go on") == "smaller"
    made = agent.services.compaction
    assert made is not None
    assert made.reason == "preflight"
    sent = json.loads(model_server.requests[-1].raw)
    assert sent["model"] == "other-model"
    assert len(model_server.requests[-1].raw) < len(model_server.requests[-2].raw) / 2


def test_a_fallback_with_a_smaller_window_gets_what_fits_it(over, model_server, files, window):
    with ModelServer(*[reads(number) for number in range(8)], Reply("read"), default=Status(401, "no")) as first:
        model_server.add(Reply("from the other"))
        agent = over(
            wired(first.base_url, context_length=1_000_000),
            wired(model_server.base_url, context_length=window, model="other-model"),
        )
        agent.chat("Read all parts.")
        assert agent.chat("go on") == "from the other"
    assert agent.services.compaction is not None
    assert "a sentence of part 3 that" not in model_server.requests[-1].raw.decode()


def test_words_said_to_the_running_turn_come_through_a_compression(model_server, over, protocol, files, window):
    agent = over(wired(model_server.base_url, protocol, context_length=window))
    said = []

    def say(request):
        said.append(agent.steer("mind the STEERED words"))
        return reads(6)

    model_server.add(*[reads(number) for number in range(6)], say, *map(reads, range(7, CALLS)), Reply("done"))
    agent.run_conversation("Read all parts.")
    assert said == [True]
    assert agent.services.compaction is not None
    assert "STEERED" in model_server.requests[-1].raw.decode()


def test_a_prompt_that_is_too_large_however_it_is_cut_ends_with_what_to_do(over, protocol):
    refusal = Status(400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum", "type": "error"}})
    with ModelServer(default=lambda request: refusal if b"words of a" in request.raw else Reply("yes")) as server:
        agent = over(wired(server.base_url, protocol))
        agent.chat("hello")
        with pytest.raises(ModelFailed, match="Send a shorter prompt"):
            agent.chat("many words of a prompt " * 5_000)
        assert len(server.requests) <= 5
        assert agent.chat("short") == "yes"


def test_what_is_shown_is_valid_and_the_same_each_time(model_server, over, protocol, files, window):
    model_server.add(*[reads(number) for number in range(CALLS)], Reply("done"))
    agent = over(wired(model_server.base_url, protocol, context_length=window))
    messages = agent.run_conversation("Read all parts.")["messages"]
    services = agent.services
    view = shown(messages, services.omissions, services.compaction)
    assert repaired(view) == list(view) == list(shown(messages, services.omissions, services.compaction))
    request = ModelRequest("m", ({"role": "system", "content": services.system or ""}, *view))
    assert services.meter.tokens("custom:test-model", request) < window
