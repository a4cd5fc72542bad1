"""Each request begins with the whole of the one before, byte for byte: servers keep that part and charge a tenth."""

from __future__ import annotations

import itertools
import json
import random

from tests.support.model_server import Reply, ToolCall
from tests.support.wire_agents import wired
from tests.support.wire_entries import PARTS, entries, head

TURNS = 50


def script(chance, number):
    """A turn: thoughts, parallel calls (some broken), now and then a second round, and a last word."""
    calls = [
        ToolCall(f"call_{number}_{index}", "read_file", {"path": "note.txt", "offset": index + 1})
        for index in range(chance.randint(0, 3))
    ]
    if calls and chance.random() < 0.2:
        calls[-1] = ToolCall(calls[-1].id, "read_file", '{"path": "note.txt",}')
    rounds = [Reply("Looking.", reasoning="hm", tool_calls=calls)] if calls else []
    if chance.random() < 0.15:
        rounds.append(Reply("a long ", finish_reason="length"))
    return [*rounds, Reply(f"Done with {number}.", reasoning="so")]


def test_over_fifty_turns_with_parallel_calls_each_request_begins_with_the_whole_of_the_last(
    model_server, over, protocol, tmp_path
):
    (tmp_path / "note.txt").write_text("one\ntwo\nthree\n")
    chance = random.Random(protocol)
    agent = over(wired(model_server.base_url, protocol))
    for number in range(TURNS):
        model_server.add(*script(chance, number))
        agent.chat(f"Prompt {number}, with ünïcode.")
    part = PARTS[protocol]
    bodies = [json.loads(request.raw) for request in model_server.requests]
    assert len(bodies) > 80
    for before, after in itertools.pairwise(bodies):
        assert head(after, part) == head(before, part)
        assert entries(after, part)[: len(entries(before, part))] == entries(before, part)
    assert agent.services.prefix.breaks == []


def test_a_second_agent_of_the_session_sends_the_same_system_prompt_and_tools(model_server, over, protocol, tmp_path):
    model_server.add(Reply("one"), Reply("two"))
    choice = wired(model_server.base_url, protocol)
    first = over(choice)
    first.chat("first")
    (tmp_path / "AGENTS.md").write_text("new rules\n")
    second = over(choice, session_id=first.session_id, services=first.services, session_store=first.session_store)
    second.chat("second")
    part = PARTS[protocol]
    one, two = (json.loads(request.raw) for request in model_server.requests)
    assert head(one, part) == head(two, part)
    assert first.services.prefix.breaks == []


def test_anthropic_is_told_where_to_keep_the_beginning(model_server, over):
    model_server.add(*[Reply(f"answer {number}") for number in range(4)])
    agent = over(wired(model_server.base_url, "anthropic_messages"), cache_ttl="1h")
    for number in range(4):
        agent.chat(f"prompt {number}")
    body = model_server.requests[-1].body
    marker = {"type": "ephemeral", "ttl": "1h"}
    assert body["system"][-1]["cache_control"] == marker
    marked = [message for message in body["messages"] if "cache_control" in message["content"][-1]]
    assert marked == body["messages"][-3:]
    assert all(message["content"][-1]["cache_control"] == marker for message in marked)
