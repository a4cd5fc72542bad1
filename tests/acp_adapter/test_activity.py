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


async def test_status_leaves_the_turn_that_runs_as_it_is_and_is_shown_again_in_it(
    start: EditorFactory, workspace: Path
) -> None:
    editor = await start()
    await editor.initialize(PLAIN)
    session = await editor.new_session(workspace)
    turn = editor.begin_prompt(session, "say begun.\nsleep 0.5\nrun true\nsay ended.")
    await editor.wait_for_update(session, "agent_message_chunk")
    await editor.prompt(session, "/status")
    assert (await turn)["stopReason"] == "end_turn"

    shown = editor.text(session)
    assert shown.startswith("begun.\nNow: ")
    assert shown.endswith("ended.\n")
    await editor.request("session/close", {"sessionId": session})
    since = len(editor.frames)
    await editor.load_session(session, workspace)
    again = [f.update for f in editor.frames[since:] if f.is_update(session, "agent_message_chunk")]
    assert "".join(update["content"]["text"] for update in again) == shown
