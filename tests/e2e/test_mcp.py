"""MCP servers of the settings, in the real process: there, killed and back, beside a silent one, and gone with us."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor import Editor
from tests.support.mcp_servers import plain
from tests.support.processes import has_ended
from tests.support.settings_files import configure
from tests.support.waiting import wait_until


async def _said(agent: Editor, session: str, tool: str, **arguments: str) -> str:
    await agent.prompt(session, f"call mcp__good__{tool} {json.dumps(arguments)}")
    return json.dumps(list(agent.cards(session).values())[-1]["content"])


async def _pid(agent: Editor, session: str) -> int:
    """The process of the server, once it is there."""
    while (found := re.search(r"n(\d{2,})\\n", await _said(agent, session, "pid"))) is None:
        pass
    return int(found[1])


@pytest.mark.long
async def test_a_server_that_is_killed_comes_back_and_all_are_gone_with_the_process(
    editor: EditorFactory, home: Path, workspace: Path
) -> None:
    entries = {
        name: {"command": spec.command, "args": list(spec.args)}
        for name, spec in (("good", plain()), ("slow", plain("slow", "silent")), ("dead", plain("dead", "exits")))
    }
    configure(home, {"mcp_servers": entries})
    agent = await editor("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)
    while not re.search(
        r"\| good \| ready.*\| slow \| connecting.*\| dead \| failed", agent.text(session), re.DOTALL
    ):
        await agent.prompt(session, "/mcp")
    await agent.prompt(session, "say ready")
    assert agent.text(session).count("MCP server dead could not be used") == 1
    first = await _pid(agent, session)
    os.kill(first, signal.SIGKILL)
    second = await _pid(agent, session)
    while second == first:  # its end is noticed a moment later
        second = await _pid(agent, session)
    assert "still here" in await _said(agent, session, "echo", text="still here")
    agent.close_stdin()
    assert await agent.exit_code() == 0
    await asyncio.to_thread(wait_until, lambda: has_ended(second))
