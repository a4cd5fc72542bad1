"""A conversation that Bedrock takes no more of goes on compressed, ahead of a request and after a refusal."""

from __future__ import annotations

import pytest

from tests.support.agents import Ears, assert_well_formed
from tests.support.bedrock_server import BedrockServer, Stream, reply
from tests.support.model_server import Status, ToolCall
from tests.support.strict_protocols import bedrock_problems
from tests.support.wire_agents import wired

CALLS = 12
MODEL = "us.anthropic.claude-3-7-sonnet-20250219-v1:0"
TOO_LONG = Status(400, {"__type": "ValidationException", "message": "Input is too long for requested model."})
SIGNED = ({"text": "I should read on."}, {"signature": "c2lnbmVk"})


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    with BedrockServer() as server:
        yield server


@pytest.fixture
def files(tmp_path):
    for number in range(CALLS):
        (tmp_path / f"part{number}.txt").write_text(f"a sentence of part {number} that says little.\n" * 200)


def reads(number):
    calls = [ToolCall(f"c{number}", "read_file", {"path": f"part{number}.txt"})]
    return Stream(reply("", calls, reasoning=SIGNED))


def bedrock(server, **options):
    return wired(server.url, "bedrock_converse", provider="bedrock", model=MODEL, **options)


def bodies(server):
    return [request.body for request in server.requests]


def test_a_long_turn_is_compressed_and_each_request_is_valid(server, over, files):
    server.add(Stream(reply("hi")))
    probe = over(bedrock(server))
    probe.chat("hello")
    services = probe.services
    window = services.meter.fixed("any", services.system, services.tools) + 12_000
    server.add(*[reads(number) for number in range(CALLS)], Stream(reply("done")))
    ears, agent = Ears(), over(bedrock(server, context_length=window))
    result = agent.run_conversation("Read all parts, and tell me what TASK-17 wants.", callbacks=ears.callbacks())
    assert result["final_response"] == "done"
    assert "done" in [step.state for step in ears.of("compression")]
    assert [problem for body in bodies(server) for problem in bedrock_problems(body)] == []
    last = server.requests[-1].raw.decode()
    assert "TASK-17" in last
    assert "a sentence of part 3 that" not in last
    assert_well_formed(result["messages"])


def test_two_refusals_in_a_row_are_answered_with_less_each_time(server, over, files):
    ears, agent = Ears(), over(bedrock(server))
    server.add(*[reads(number) for number in range(CALLS)], Stream(reply("read")))
    agent.chat("Read all parts.")
    server.add(TOO_LONG, TOO_LONG, Stream(reply("done")))
    result = agent.run_conversation("And TASK-17?", callbacks=ears.callbacks())
    assert result["final_response"] == "done"
    sizes = [len(request.raw) for request in server.requests[-3:]]
    assert sizes == sorted(set(sizes), reverse=True)
    assert [problem for body in bodies(server)[-3:] for problem in bedrock_problems(body)] == []
    assert "TASK-17" in server.requests[-1].raw.decode()
    assert [status.kind for status in ears.of("status")].count("retry") == 2
