"""What a loaded session's model is told of itself: as before while its server may still have it, anew after that."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from agent_core.config import ConfigSource
from agent_core.home import Home
from tests.support.in_memory import serving
from tests.support.model_server import ModelServer, Reply
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
