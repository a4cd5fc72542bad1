"""Cancel in each state of a turn: answered `cancelled`, and the session goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor import Editor
from tests.support.model_server import Hang, ModelServer, Reply, ToolCall
from tests.support.processes import has_ended
from tests.support.settings_files import use_model
from tests.support.waiting import wait_until


async def _cancelled(agent: Editor, session: str, turn: asyncio.Future) -> None:
    agent.cancel(session)
    answer = await agent.answer(turn)
    assert answer["stopReason"] == "cancelled"
    assert all(card["status"] in ("completed", "failed") for card in agent.cards(session).values())
    assert (await agent.prompt(session, "say still here"))["stopReason"] == "end_turn"


async def _offline(agent_in: EditorFactory, workspace: Path) -> tuple[Editor, str]:
    agent = await agent_in("--offline")
    await agent.initialize()
    return agent, await agent.new_session(workspace)


@pytest.mark.parametrize("hang", [Hang(before_headers=True), Hang(Reply(text="one two three", split=4), after=2)])
async def test_while_the_model_is_silent(
    hang: Hang, agent_in: EditorFactory, workspace: Path, home: Path, model_server: ModelServer
) -> None:
    model_server.add(hang, Reply(text="here"))
    use_model(home, model_server)
    agent = await agent_in()
    await agent.initialize()
    session = await agent.new_session(workspace)
    turn = agent.begin_prompt(session, "hello")
    request = await model_server.arrived()
    if hang.after:
        await agent.wait_for_update(session, "agent_message_chunk")
    await _cancelled(agent, session, turn)
    assert await asyncio.to_thread(request.disconnected.wait, 5), "the request was left running"
    history = model_server.requests[-1].body["messages"][1:]
    assert [message["role"] for message in history] == ["user", "assistant", "user"]
    assert "interrupted" in history[1]["content"]


async def test_in_a_stream(agent_in: EditorFactory, workspace: Path) -> None:
    agent, session = await _offline(agent_in, workspace)
    turn = agent.begin_prompt(session, "say first\nsleep 60\nsay never")
    await agent.wait_for_update(session, "agent_message_chunk")
    await _cancelled(agent, session, turn)
    assert "never" not in agent.text(session)


async def test_while_a_command_runs_its_whole_process_group_ends(agent_in: EditorFactory, workspace: Path) -> None:
    agent, session = await _offline(agent_in, workspace)
    turn = agent.begin_prompt(session, "run sleep 600 & echo $$ $! > pids; wait")
    path = workspace / "pids"
    await asyncio.to_thread(wait_until, lambda: path.exists() and len(path.read_text().split()) == 2)
    await _cancelled(agent, session, turn)
    pids = [int(word) for word in path.read_text().split()]
    await asyncio.to_thread(wait_until, lambda: all(has_ended(pid) for pid in pids))


async def test_a_command_that_ignores_signals_does_not_hold_the_session(
    agent_in: EditorFactory, workspace: Path
) -> None:
    agent, session = await _offline(agent_in, workspace)
    turn = agent.begin_prompt(session, "run trap '' TERM INT; touch begun; while :; do sleep 1; done")
    await asyncio.to_thread(wait_until, (workspace / "begun").exists)
    await _cancelled(agent, session, turn)


@pytest.mark.parametrize("editor_answers", [True, False])
async def test_while_a_permission_is_open(editor_answers: bool, agent_in: EditorFactory, workspace: Path) -> None:
    async def never(_: dict) -> None:
        return None

    agent, session = await _offline(agent_in, workspace)
    agent.on_permission = never
    agent.answers_on_cancel = editor_answers
    turn = agent.begin_prompt(session, "write new.txt text")
    await agent.wait_for_call("session/request_permission")
    await _cancelled(agent, session, turn)
    assert not (workspace / "new.txt").exists()


async def test_prompts_that_wait_behind_the_running_one_are_cancelled_too(
    agent_in: EditorFactory, workspace: Path
) -> None:
    agent, session = await _offline(agent_in, workspace)
    turns = [agent.begin_prompt(session, "say running\nsleep 60"), agent.begin_prompt(session, "say waiting")]
    await agent.wait_for_update(session, "agent_message_chunk")
    agent.cancel(session)
    assert [(await agent.answer(turn))["stopReason"] for turn in turns] == ["cancelled", "cancelled"]
    assert "waiting" not in agent.text(session)
    assert (await agent.prompt(session, "say after"))["stopReason"] == "end_turn"


async def test_when_nothing_runs_it_changes_nothing(agent_in: EditorFactory, workspace: Path) -> None:
    agent, session = await _offline(agent_in, workspace)
    agent.cancel(session)
    agent.notify("session/cancel", {"sessionId": "no such session"})
    assert (await agent.prompt(session, "say fine"))["stopReason"] == "end_turn"


async def test_cancel_request_of_a_prompt_cancels_that_prompt(agent_in: EditorFactory, workspace: Path) -> None:
    agent, session = await _offline(agent_in, workspace)
    turn = agent.begin_prompt(session, "say running\nsleep 60")
    await agent.wait_for_update(session, "agent_message_chunk")
    request = next(frame.id for frame in agent.frames if frame.method == "session/prompt")
    agent.notify("$/cancel_request", {"requestId": "unknown"})
    agent.notify("$/cancel_request", {"requestId": request})
    assert (await agent.answer(turn))["stopReason"] == "cancelled"


async def test_parallel_calls_are_all_cancelled(
    agent_in: EditorFactory, workspace: Path, home: Path, model_server: ModelServer
) -> None:
    calls = [ToolCall(str(number), "write_file", {"path": f"{number}.txt", "content": "x"}) for number in range(3)]
    model_server.add(Reply(tool_calls=calls), Reply(text="on"))
    use_model(home, model_server)
    agent = await agent_in()

    async def never(_: dict) -> None:
        return None

    agent.on_permission = never
    await agent.initialize()
    session = await agent.new_session(workspace)
    turn = agent.begin_prompt(session, "write three")
    await agent.wait_for_call("session/request_permission")
    await _cancelled(agent, session, turn)
    assert not list(workspace.glob("*.txt"))
    history = model_server.requests[-1].body["messages"]
    assert [message["role"] for message in history[1:]] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
        "assistant",
        "user",
    ]
