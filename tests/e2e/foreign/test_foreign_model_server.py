"""A model server that this project did not write is understood in all of our wire protocols, failures included."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.providers.base import ApiMode
from agent_core.providers.choice import ModelChoice
from tests.support.agents import Ears, assert_well_formed
from tests.support.wire_agents import KEY, PROTOCOLS, AgentOver, Connections, agent_over, wired

pytestmark = pytest.mark.long

AIMOCK = Path(__file__).parent / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
LONG = "one two three four five six seven eight nine ten eleven twelve"
Fixture = dict[str, Any]


def answers(prompt: str, response: Fixture, *, more: Fixture | None = None, **match: Any) -> Fixture:
    """What the server says to a prompt; `more` is beside the response: how it is sent, what goes wrong."""
    return {"match": {"userMessage": prompt, **match}, "response": response, **(more or {})}


def failing_once(prompt: str, failure: Fixture) -> list[Fixture]:
    return [
        {"response": {"content": "never"}, **failure, "match": {"userMessage": prompt, "sequenceIndex": 0}},
        answers(prompt, {"content": "well again"}),
    ]


READ = [{"name": "read_file", "arguments": {"path": name}} for name in ("a.txt", "b.txt")]
FAILURES: dict[str, Fixture] = {
    "overloaded": {"response": {"error": {"message": "Overloaded", "type": "overloaded_error"}, "status": 503}},
    "dropped": {"chaos": {"dropRate": 1}},
    "malformed": {"chaos": {"malformedRate": 1}},
    "disconnected": {"chaos": {"disconnectRate": 1}},
}
FIXTURES = [
    answers("greet", {"content": "Good day.", "reasoning": "A greeting.", "usage": {"prompt_tokens": 11}}),
    answers("read both", {"content": "I look. ", "toolCalls": READ}, hasToolResult=False),
    answers("read both", {"content": "Read."}, hasToolResult=True),
    answers("count", {"content": LONG}, more={"chunkSize": 4, "latency": 20, "truncateAfterChunks": 8}),
    answers("was cut off here", {"content": " and so on"}),
    *(fixture for prompt, failure in FAILURES.items() for fixture in failing_once(prompt, failure)),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the server answers; it wants our key."""
    node = shutil.which("node")
    if node is None or not AIMOCK.exists():
        pytest.skip("the foreign model server is not installed: run `make node-clients` (needs Node ≥ 20 and npm)")
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}), encoding="utf-8")
    words = [node, str(AIMOCK), "--port", "0", "--fixtures", str(fixtures), "--strict"]
    environment = {**os.environ, "AIMOCK_API_KEYS": KEY}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        said = next(line for line in process.stdout if "listening on" in line)
        yield said.split()[-1]
        process.terminate()
        process.stdout.read()


@pytest.fixture(params=PROTOCOLS)
def choice(request: pytest.FixtureRequest, address: str) -> ModelChoice:
    """The server's model, in each protocol; what it has said so far counts for each test on its own."""
    protocol: ApiMode = request.param
    return wired(f"{address}/v1", protocol, headers=(("X-Test-Id", request.node.name),))


@pytest.fixture
def over(tmp_path: Path) -> Iterator[AgentOver]:
    connections = Connections()
    yield lambda *choices, **options: agent_over(tmp_path, connections, choices, **options)
    connections.close()


def test_text_and_reasoning_come_through(choice: ModelChoice, over: AgentOver) -> None:
    ears = Ears()
    result = over(choice).run_conversation("greet", callbacks=ears.callbacks())
    assert (result["final_response"], result["stop_reason"]) == ("Good day.", "end_turn")
    assert "".join(ears.of("text")) == "Good day."
    assert "".join(ears.of("reasoning")) == "A greeting."
    assert result["usage"]["input_tokens"] == 11


@pytest.mark.slow
def test_parallel_tool_calls_are_run_and_their_results_are_understood(
    choice: ModelChoice, over: AgentOver, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"content of {name}", encoding="utf-8")
    result = over(choice).run_conversation("read both")
    assert result["final_response"] == "Read."
    assert_well_formed(result["messages"])
    results = [message["content"] for message in result["messages"] if message["role"] == "tool"]
    assert [f"content of {name}" in str(text) for name, text in zip("ab", results, strict=True)] == [True, True]


@pytest.mark.parametrize("prompt", FAILURES)
def test_a_failure_is_outlasted(prompt: str, choice: ModelChoice, over: AgentOver) -> None:
    ears = Ears()
    result = over(choice).run_conversation(prompt, callbacks=ears.callbacks())
    assert result["final_response"] == "well again"
    assert [status.kind for status in ears.of("status")] == ["retry"]


@pytest.mark.slow
def test_a_stream_that_is_cut_goes_on_where_it_stopped(choice: ModelChoice, over: AgentOver) -> None:
    ears = Ears()
    result = over(choice).run_conversation("count", callbacks=ears.callbacks())
    heard = "".join(ears.of("text"))
    assert result["final_response"] == heard
    begun = heard.removesuffix(" and so on")
    assert begun != heard
    assert LONG.startswith(begun)
    assert_well_formed(result["messages"])


@pytest.mark.slow
def test_a_key_that_the_server_refuses_gives_way_to_the_next(choice: ModelChoice, over: AgentOver) -> None:
    ears = Ears()
    agent = over(wired(choice.base_url, choice.api_mode, api_key="sk-wrong-0123456789", spare_keys=(KEY,)))
    assert agent.run_conversation("greet", callbacks=ears.callbacks())["final_response"] == "Good day."
    (notice,) = ears.of("status")
    assert "401" in notice.text
    assert "sk-wrong" not in notice.text
