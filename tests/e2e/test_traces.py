"""A real process tells a collector of its turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.collector import Collector
from tests.support.settings_files import configure


@pytest.mark.long
async def test_turns_requests_and_calls_of_a_process_reach_the_collector(
    editor: EditorFactory, home: Path, workspace: Path
) -> None:
    with Collector() as collector:
        configure(home, {"telemetry": {"enabled": True, "endpoint": collector.address}})
        agent = await editor("--offline")
        await agent.initialize()
        session = await agent.new_session(workspace)
        await agent.prompt(session, "say the-prompts-text\nread README.md")
        await agent.close()
        # What the process still had at its end was sent then.
        spans = collector.wait_for("invoke_agent hermes-acp")
    (turn,) = [span for span in spans if not span.parent]
    below = [span for span in spans if span.parent]
    assert turn.attributes["gen_ai.conversation.id"] == session
    assert {span.name for span in below} == {"chat offline", "execute_tool read_file"}
    assert {(span.trace, span.parent) for span in below} == {(turn.trace, turn.id)}
    assert "the-prompts-text" not in str(spans)
