"""A session that works on the home's own files (settings, skills), where the database lies as well."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor import Editor
from tests.support.merged_view import merged_view


async def _look_at_the_sessions(home: Path) -> None:
    """What another program of ours does with the database: open it, read, close it."""
    looking = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "acp_adapter", "sessions", "list",
        env={**os.environ, "HERMES_HOME": str(home)}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    await looking.communicate()
    assert looking.returncode == 0


async def _said(agent: Editor, session: str, place: Path) -> list[str]:
    await agent.load_session(session, place)
    return merged_view(agent.updates(session)).texts("user_message_chunk")


@pytest.mark.long
async def test_what_is_said_after_a_command_in_the_home_survives_another_program_and_a_kill(
    editor: EditorFactory, home: Path
) -> None:
    agent = await editor("--offline")
    await agent.initialize()
    session = await agent.new_session(home)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
    prompts = [
        "run touch new.txt",
        "read hermes-acp.db",
        "read hermes-acp.db-shm",
        "run echo x >> hermes-acp.db-none",
    ]
    for prompt in prompts:
        await agent.prompt(session, prompt)
    await _look_at_the_sessions(home)
    await agent.prompt(session, "say Kept.")
    await agent.kill()
    agent = await editor("--offline")
    await agent.initialize()
    assert await _said(agent, session, home) == [*prompts, "say Kept."]
    await agent.close(expect=0)
