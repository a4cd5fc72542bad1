"""Whole turns against a model server on the wire."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor import PROFILES, RpcError
from tests.support.model_server import Gate, ModelServer, Reply, Status, ToolCall, Usage
from tests.support.settings_files import use_model


async def test_the_word_acp_starts_the_server_and_its_directory_may_be_a_dot(
    editor: EditorFactory, workspace: Path
) -> None:
    agent = await editor("acp", "--offline", cwd=workspace)
    await agent.initialize()
    session = await agent.new_session(".")
    await agent.prompt(session, "run pwd")
    assert str(workspace.resolve()) in str(list(agent.cards(session).values())[-1])


# In memory, the golden transcripts have every profile.
@pytest.mark.parametrize(
    "profile", [pytest.param(name, marks=() if name == "zed" else pytest.mark.slow) for name in PROFILES]
)
async def test_a_prompt_reads_edits_and_runs_and_ends_with_the_answer(
    profile: str, agent_in: EditorFactory, workspace: Path, home: Path, model_server: ModelServer
) -> None:
    model_server.add(
        Reply(
            reasoning="Look first.",
            text="I look at both files.",
            tool_calls=[
                ToolCall("a", "read_file", {"path": "sums.py"}),
                ToolCall("b", "read_file", {"path": "tests/test_sums.py"}),
            ],
            split=3,
        ),
        Reply(
            tool_calls=[
                ToolCall("a", "patch", {"path": "sums.py", "old_string": "a - b", "new_string": "a + b"}),
            ]
        ),
        Reply(tool_calls=[ToolCall("d", "terminal", {"command": "python3 -c 'pass'; echo checked"})]),
        Reply(text="Fixed the sum.", split=4, usage=Usage(prompt=50, completion=5)),
    )
    use_model(home, model_server)
    agent = await agent_in()
    await agent.initialize(PROFILES[profile])
    session = await agent.new_session(workspace)

    answer = await agent.prompt(session, "The test fails. Mend it.")

    assert answer["stopReason"] == "end_turn"
    assert (workspace / "sums.py").read_text() == "def add(a, b):\n    return a + b\n"
    assert agent.text(session) == "I look at both files.Fixed the sum."
    assert agent.text(session, "agent_thought_chunk") == "Look first."
    cards = agent.cards(session)
    assert [card["status"] for card in cards.values()] == ["completed"] * 4
    assert [card["kind"] for card in cards.values()] == ["read", "read", "edit", "execute"]
    diff = next(part for card in cards.values() for part in card["content"] if part["type"] == "diff")
    assert diff["path"] == str(workspace / "sums.py")
    assert "a - b" in diff["oldText"]
    assert "a + b" in diff["newText"]
    last = model_server.requests[-1].body["messages"]
    assert [message["role"] for message in last] == [
        "system", "user", "assistant", "tool", "tool", "assistant", "tool", "assistant", "tool",
    ]  # fmt: skip
    assert "checked" in last[-1]["content"]


async def test_the_edit_is_asked_for_with_its_diff_on_the_card_before_it_is_made(
    agent_in: EditorFactory, workspace: Path
) -> None:
    agent = await agent_in("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)
    seen: list[str] = []

    async def decide(params: dict) -> str:
        card = agent.cards(session)[params["toolCall"]["toolCallId"]]
        diff = params["toolCall"]["content"][0]
        seen.extend([card["status"], diff["oldText"], diff["newText"], (workspace / "sums.py").read_text()])
        return "allow_once"

    agent.on_permission = decide
    await agent.prompt(session, "edit sums.py a - b => a + b")

    before = "def add(a, b):\n    return a - b\n"
    assert seen == ["pending", before, before.replace("-", "+"), before]


async def test_each_of_two_parallel_calls_of_one_tool_has_its_own_card_and_completes_when_it_is_done(
    agent_in: EditorFactory, workspace: Path, home: Path, model_server: ModelServer
) -> None:
    gate = Gate()
    model_server.add(
        Reply(tool_calls=[ToolCall("", "read_file", {"path": name}) for name in ("sums.py", "README.md")]),
        Reply(text="read", gate=gate),
    )
    use_model(home, model_server)
    agent = await agent_in()
    await agent.initialize()
    session = await agent.new_session(workspace)
    turn = agent.begin_prompt(session, "read both")

    def both_done() -> bool:
        cards = agent.cards(session)
        return len(cards) == 2 and all(card["status"] == "completed" for card in cards.values())

    # The next model call is held back: completion does not wait for it.
    await agent.until(both_done)
    gate.set()
    assert (await agent.answer(turn))["stopReason"] == "end_turn"
    assert {card["title"] for card in agent.cards(session).values()} == {"Read sums.py", "Read README.md"}


async def test_a_second_prompt_waits_for_the_first_and_sees_its_history(
    agent_in: EditorFactory, workspace: Path, home: Path, model_server: ModelServer
) -> None:
    gate = Gate()
    model_server.add(Reply(text="one", gate=gate), Reply(text="two"))
    use_model(home, model_server)
    agent = await agent_in()
    await agent.initialize()
    session = await agent.new_session(workspace)
    first, second = agent.begin_prompt(session, "first"), agent.begin_prompt(session, "second")
    await asyncio.to_thread(gate.reached.wait, 10)
    assert len(model_server.requests) == 1
    gate.set()
    assert (await agent.answer(first))["stopReason"] == "end_turn"
    assert (await agent.answer(second))["stopReason"] == "end_turn"
    said = [message["content"] for message in model_server.requests[1].body["messages"][1:]]
    assert said == ["first", "one", "second"]


async def test_a_failing_model_is_an_error_that_says_what_to_do_and_the_session_goes_on(
    agent_in: EditorFactory, workspace: Path, home: Path, model_server: ModelServer
) -> None:
    model_server.add(Status(401, {"error": {"message": "bad key test-key"}}), Reply(text="back"))
    use_model(home, model_server)
    agent = await agent_in()
    await agent.initialize()
    session = await agent.new_session(workspace)

    with pytest.raises(RpcError) as failure:
        await agent.prompt(session, "hello")

    assert failure.value.code == -32603
    for part in ("custom", model_server.base_url, "401", "test-model", "key"):
        assert part in failure.value.data["details"]
    assert "test-key" not in str(failure.value.data)
    assert (await agent.prompt(session, "again"))["stopReason"] == "end_turn"


async def test_stop_reasons_tell_the_truth(
    agent_in: EditorFactory, workspace: Path, home: Path, model_server: ModelServer
) -> None:
    call = ToolCall("c", "read_file", {"path": "sums.py"})
    model_server.add(
        *[Reply(text="cut", finish_reason="length")] * 4,
        Reply(text="no", finish_reason="content_filter"),
        *[Reply(tool_calls=[call])] * 4,
    )
    use_model(home, model_server, agent={"max_turns": 4})
    agent = await agent_in()
    await agent.initialize()
    session = await agent.new_session(workspace)
    reasons = [(await agent.prompt(session, "go"))["stopReason"] for _ in range(3)]
    assert reasons == ["max_tokens", "refusal", "max_turn_requests"]
    assert "agent.max_turns" in agent.text(session)
