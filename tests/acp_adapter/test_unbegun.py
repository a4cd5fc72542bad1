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


async def test_a_command_that_is_cancelled_at_once_is_done_and_told_or_neither(
    start: EditorFactory, workspace: Path
) -> None:
    """One that a worker had taken up goes on: half an undo would be worse."""
    agent = await start()
    await agent.initialize(PLAIN)
    session = await agent.new_session(workspace)
    await agent.prompt(session, "say one")
    turn = agent.begin_prompt(session, "/undo")
    agent.cancel(session)
    stop = (await agent.answer(turn))["stopReason"]
    was_told = "«say one»" in agent.text(session)
    # It may have been over when the cancel came.
    assert stop == "cancelled" or (stop == "end_turn" and was_told)
    await agent.load_session(session, workspace)
    assert agent.text(session, "user_message_chunk") == ("/undo" if was_told else "say one")


async def test_what_waited_when_everything_was_cancelled_is_kept_in_order(
    start: EditorFactory, workspace: Path
) -> None:
    agent = await start()
    await agent.initialize(PLAIN)
    session = await agent.new_session(workspace)
    zeroth = agent.begin_prompt(session, "sleep 0.2")
    first = agent.begin_prompt(session, "say begun\nsleep 600")
    await agent.wait_for_update(session, "agent_message_chunk")
    assert (await agent.answer(zeroth))["stopReason"] == "end_turn"
    others = [agent.begin_prompt(session, f"say {number}") for number in range(2)]
    agent.cancel(session)
    last = agent.begin_prompt(session, "say last")
    for turn in (first, *others):
        assert (await agent.answer(turn))["stopReason"] == "cancelled"
    assert (await agent.answer(last))["stopReason"] == "end_turn"
    await agent.load_session(session, workspace)
    assert agent.text(session, "user_message_chunk") == "sleep 0.2say begun\nsleep 600say 0say 1say last"
    await agent.prompt(session, "/rewind 2")
    assert "«say 1»" in agent.text(session)


async def test_a_prompt_that_was_withdrawn_as_it_waited_is_not_kept(start: EditorFactory, workspace: Path) -> None:
    agent = await start()
    await agent.initialize(PLAIN)
    session = await agent.new_session(workspace)
    first = agent.begin_prompt(session, "say begun\nsleep 600")
    await agent.wait_for_update(session, "agent_message_chunk")
    second = agent.begin_prompt(session, "say never")
    sent = [frame.id for frame in agent.frames if frame.ours and frame.method == "session/prompt"]
    agent.notify("$/cancel_request", {"requestId": sent[-1]})
    assert (await agent.answer(second))["stopReason"] == "cancelled"
    assert not first.done()
    agent.cancel(session)
    assert (await agent.answer(first))["stopReason"] == "cancelled"
    await agent.load_session(session, workspace)
    assert agent.text(session, "user_message_chunk") == "say begun\nsleep 600"
