"""What the agent is doing, told to the editor while it does it."""

from __future__ import annotations

from pathlib import Path

from tests.support.editor import PLAIN
from tests.support.in_memory import EditorFactory


async def test_the_editor_is_told_what_is_done_and_that_nothing_is(start: EditorFactory, workspace: Path) -> None:
    editor = await start()
    await editor.initialize(PLAIN)
    session = await editor.new_session(workspace)
    assert (await editor.begin("_hermes/session/activity", {"sessionId": session}))["activity"] == "idle"
    turn = editor.begin_prompt(session, "say begun.\nsleep 30")
    await editor.wait_for_update(session, "agent_message_chunk")
    told = await editor.begin("_hermes/session/activity", {"sessionId": session})
    assert (told["activity"], told["detail"]) == ("receiving", "offline:offline")
    assert told["turnSince"] <= told["since"]
    editor.cancel(session)
    assert (await turn)["stopReason"] == "cancelled"


async def test_status_answers_while_a_turn_runs(start: EditorFactory, workspace: Path) -> None:
    editor = await start()
    await editor.initialize(PLAIN)
    session = await editor.new_session(workspace)
    turn = editor.begin_prompt(session, "say begun.\nsleep 30")
    await editor.wait_for_update(session, "agent_message_chunk")
    await editor.prompt(session, "/status")
    assert "receiving the model's answer: offline:offline, for " in editor.text(session).replace("\\", "")
    assert not turn.done()
    editor.cancel(session)
    await turn
