"""Prompts that are cancelled before anything was done about them: what the person said is kept."""

from __future__ import annotations

from pathlib import Path

from tests.support.editor import PLAIN
from tests.support.in_memory import EditorFactory


async def test_what_is_cancelled_at_once_is_shown_again_and_can_be_taken_back(
    start: EditorFactory, workspace: Path
) -> None:
    agent = await start()
    await agent.initialize(PLAIN)
    session = await agent.new_session(workspace)
    for number in range(3):
        turn = agent.begin_prompt(session, f"say {number}")
        agent.cancel(session)
        assert (await agent.answer(turn))["stopReason"] == "cancelled"
    await agent.load_session(session, workspace)
    assert agent.text(session, "user_message_chunk") == "say 0say 1say 2"
    await agent.prompt(session, "/undo")
    assert "«say 2»" in agent.text(session)
    await agent.prompt(session, "say on")
    assert agent.text(session).endswith("on\n")


async def test_a_command_that_is_cancelled_at_once_is_neither_run_nor_kept(
    start: EditorFactory, workspace: Path
) -> None:
    agent = await start()
    await agent.initialize(PLAIN)
    session = await agent.new_session(workspace)
    await agent.prompt(session, "say one")
    turn = agent.begin_prompt(session, "/undo")
    agent.cancel(session)
    assert (await agent.answer(turn))["stopReason"] == "cancelled"
    await agent.load_session(session, workspace)
    assert agent.text(session, "user_message_chunk") == "say one"
