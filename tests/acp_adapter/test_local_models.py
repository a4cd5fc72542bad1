"""What an editor shows of models whose server leaves their thoughts and tool calls in the text."""

from __future__ import annotations

from pathlib import Path

from agent_core.config import ConfigSource
from agent_core.home import Home
from tests.support.in_memory import serving
from tests.support.model_server import ModelServer, Reply
from tests.support.settings_files import use_model

CALL = '<tool_call>\n{"name": "todo", "arguments": {"todos": []}}\n</tool_call>'


async def test_thinking_tags_and_written_calls_are_shown_as_what_they_are_and_status_names_the_server(
    home: Path, workspace: Path, model_server: ModelServer
) -> None:
    use_model(home, model_server)
    model_server.add(Reply(f"<think>A plan.</think>I plan.\n{CALL}", split=5), Reply("Done."))
    async with serving(home, config=ConfigSource(Home(home))) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        await editor.prompt(session, "Plan it, please.")
        thoughts = "".join(each["content"]["text"] for each in editor.updates(session, "agent_thought_chunk"))
        assert (thoughts, editor.text(session)) == ("A plan.", "I plan.\nDone.")
        await editor.prompt(session, "/status")
        status = editor.text(session)
    assert "The server of `custom:test-model` has no parser for the model's tool calls" in status
    assert "--enable-auto-tool-choice --tool-call-parser NAME" in status
    assert "--jinja" in status
