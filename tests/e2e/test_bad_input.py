"""Bad lines and huge ones reach a real process, which goes on; tests/acp_adapter has all the cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory

_LINES = (b"{not json", b"[" * 100_000, b"[]", b"42", b"null", b'{"jsonrpc":"2.0","id":7,"method":5}')


@pytest.mark.parametrize("stage", [pytest.param("before initialize", marks=pytest.mark.slow), "in a session"])
async def test_lines_that_are_no_requests_are_answered_and_the_next_one_works(
    stage: str, editor: EditorFactory, workspace: Path
) -> None:
    agent = await editor("--offline", check=False)
    if stage == "in a session":
        await agent.initialize()
        await agent.new_session(workspace)
    for line in _LINES:
        seen = len(agent.frames)
        agent.send_raw(line + b"\n")
        await agent.wait_for(lambda frame: not frame.ours and "error" in frame.message, since=seen)
    assert (await agent.initialize())["protocolVersion"] == 1


@pytest.mark.long
async def test_a_message_of_fifty_mebibytes_is_taken(agent_in: EditorFactory, workspace: Path) -> None:
    agent = await agent_in("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)
    answer = await agent.prompt(session, "say it arrived\n" + "x" * (50 * 1024 * 1024 - 1000))
    assert answer["stopReason"] == "end_turn"
    assert agent.text(session) == "it arrived\n"
