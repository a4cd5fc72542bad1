"""Recordings on their way to the model: heard where that is known to work, said in words everywhere else."""

from __future__ import annotations

import pytest

from agent_core.providers.choice import Dialect, ModelFacts
from tests.support.agents import Ears, MemoryStore, assert_well_formed
from tests.support.model_server import Reply, Status
from tests.support.wire_agents import PROTOCOLS, wired

SOUND = "UklGRgAAAABXQVZF"
HEARS = {"facts": ModelFacts(audio=True), "dialect": Dialect(audio=True)}
CANNOT = "[Audio (wav) was attached; test-model cannot listen to it here. Ask the user to write what it says.]"


def prompt(kind: str = "wav"):
    return [
        {"type": "text", "text": "what is said?"},
        {"type": "input_audio", "input_audio": {"data": SOUND, "format": kind}},
    ]


def sent(request):
    return request.body["messages"][-1]["content"]


@pytest.mark.parametrize("kind", ["wav", "mp3"])
def test_a_model_that_hears_gets_the_recording_and_gets_it_again(model_server, over, kind):
    model_server.add(Reply("hello"), Reply("indeed"))
    agent = over(wired(model_server.base_url, "chat_completions", **HEARS))
    agent.run_conversation(prompt(kind))
    agent.chat("are you sure?")
    first, second = model_server.requests
    assert sent(first) == prompt(kind)
    assert next(message for message in second.body["messages"] if message["role"] == "user")["content"] == prompt(
        kind
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_other_protocol_and_no_other_model_gets_it(model_server, over, protocol):
    model_server.add(Reply("a pity"))
    facts = ModelFacts(audio=None if protocol == "chat_completions" else True)
    auth = "x-api-key" if protocol == "anthropic_messages" else "bearer"
    agent = over(wired(model_server.base_url, protocol, facts=facts, dialect=Dialect(audio=True, auth=auth)))
    result = agent.run_conversation(prompt())
    raw = model_server.requests[0].raw.decode()
    assert SOUND not in raw
    assert CANNOT in raw
    assert result["messages"][0]["content"] == prompt()


def test_a_format_that_is_not_sent_is_named_with_what_to_do(model_server, over):
    model_server.add(Reply("a pity"))
    over(wired(model_server.base_url, "chat_completions", **HEARS)).run_conversation(prompt("ogg"))
    assert "[Audio (ogg) was attached; only wav and mp3 can be sent." in sent(model_server.requests[0])


def test_after_a_change_of_models_the_one_that_hears_gets_what_the_other_could_not(model_server, over):
    model_server.add(Reply("a pity"), Reply("hello"))
    session = {"session_store": MemoryStore(), "session_id": "session"}
    over(wired(model_server.base_url), **session).run_conversation(prompt())
    over(wired(model_server.base_url, **HEARS), **session).chat("and now?")
    first, second = model_server.requests
    assert CANNOT in sent(first)
    assert second.body["messages"][1]["content"] == prompt()


def test_what_a_server_refuses_is_left_out_of_the_next_try(model_server, over):
    refusal = Status(413, {"error": {"message": "Request entity too large", "type": "error"}})
    model_server.add(refusal, Reply("from the text alone"))
    ears = Ears()
    agent = over(wired(model_server.base_url, "chat_completions", **HEARS))
    result = agent.run_conversation(prompt(), callbacks=ears.callbacks())
    refused, later = model_server.requests
    assert sent(refused) == prompt()
    assert "[A recording was here. The model's server did not take it.]" in sent(later)
    assert result["messages"][0]["content"] == prompt()
    assert_well_formed(result["messages"])
