"""What a loaded session's model is told of itself: as before while its server may still have it, anew after that."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from agent_core.config import ConfigSource
from agent_core.home import Home
from tests.support.in_memory import serving
from tests.support.model_server import ModelServer, Reply, ToolCall
from tests.support.settings_files import use_model

_HOUR = 3600.0


@pytest.mark.parametrize(("hours", "told"), [(23, "Old rules."), (25, "New rules.")])
async def test_rules_that_changed_are_told_once_a_session_has_rested_for_a_day(
    home: Path, workspace: Path, hours: int, told: str
) -> None:
    rules = workspace / "AGENTS.md"
    rules.write_text("Old rules.")
    with ModelServer(default=lambda _: Reply("Fine.")) as server:
        use_model(home, server)
        async with serving(home, config=ConfigSource(Home(home))) as editor:
            await editor.initialize()
            session = await editor.new_session(workspace)
            await editor.prompt(session, "mind the gate")
        rules.write_text("New rules.")
        with contextlib.closing(sqlite3.connect(home / "hermes-acp.db")) as database:
            database.execute("UPDATE sessions SET updated_at = updated_at - ?", (hours * _HOUR,))
            database.commit()
        async with serving(home, config=ConfigSource(Home(home))) as editor:
            await editor.initialize()
            await editor.load_session(session, workspace)
            await editor.prompt(session, "and now?")
        systems = [request.body["messages"][0]["content"] for request in server.requests]
    assert "Old rules." in systems[0]
    assert told in systems[1]


async def test_a_prompt_forgets_the_memory_of_a_turn_that_was_undone(home: Path, workspace: Path) -> None:
    entry = {"action": "add", "content": "Builds with a very old make"}
    with ModelServer(default=lambda _: Reply("Fine.")) as server:
        use_model(home, server)
        server.add(Reply(tool_calls=[ToolCall("c", "memory", entry)]))
        async with serving(home, config=ConfigSource(Home(home))) as editor:
            await editor.initialize()
            session = await editor.new_session(workspace)
            await editor.prompt(session, "remember the make")
        with contextlib.closing(sqlite3.connect(home / "hermes-acp.db")) as database:
            database.execute("UPDATE sessions SET updated_at = updated_at - ?", (25 * _HOUR,))
            database.commit()
        async with serving(home, config=ConfigSource(Home(home))) as editor:
            await editor.initialize()
            await editor.load_session(session, workspace)
            await editor.prompt(session, "and now?")
            await editor.prompt(session, "/rewind 2")
            await editor.prompt(session, "and then?")
        asked = [request.body["messages"] for request in server.requests]
    holds = ["very old make" in messages[0]["content"] for messages in asked]
    assert holds == [False, False, True, False]
    assert "very old make" not in json.dumps(asked[-1])
