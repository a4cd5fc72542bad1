"""kill -9 right after a conversation was compressed: another process goes on from there."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor import PLAIN
from tests.support.model_replies import Scripted
from tests.support.model_server import Hang, ModelServer, Recorded, Reply
from tests.support.settings_files import use_model
from tests.support.waiting import wait_until

LONG = "a sentence that says little about much. " * 300
OFFERS = {**PLAIN, "session": {"compaction": {}}}


@pytest.mark.long
async def test_a_compression_is_stored_before_the_request_that_it_was_made_for(
    editor: EditorFactory, home: Path, workspace: Path
) -> None:
    dies = False

    def is_meant(request: Recorded) -> bool:
        return b"Record of earlier work" in request.raw and b'"tools"' in request.raw

    def answer(request: Recorded) -> Scripted:
        if b'"tools"' not in request.raw:
            return Reply("They talked about much.")
        return Hang(before_headers=True) if dies and is_meant(request) else Reply("fine")

    with ModelServer(default=answer) as server:
        use_model(
            home,
            server,
            model={"context_length": 40_000},
            compression={"threshold": 0.4},
            platform_toolsets={"acp": ["files"]},
        )
        dies = True
        agent = await editor()
        await agent.initialize(OFFERS)
        session = await agent.new_session(workspace)

        def compressed() -> bool:
            return any(update["status"] == "completed" for update in agent.updates(session, "compaction_update"))

        for number in range(20):
            running = agent.begin_prompt(session, f"prompt {number}: {LONG}")
            await agent.until(lambda running=running: running.done() or compressed(), 30)
            if compressed():
                break
        await asyncio.to_thread(wait_until, lambda: any(map(is_meant, server.requests)))
        await agent.kill()
        dies = False
        again = await editor()
        await again.initialize(OFFERS)
        await again.load_session(session, workspace)
        assert [u["status"] for u in again.updates(session, "compaction_update")] == ["completed"]
        assert "prompt 1:" in json.dumps(again.updates(session))
        await again.prompt(session, "and now")
        sent = server.requests[-1].raw.decode()
        assert "Record of earlier work" in sent
        assert sent.count(LONG) < number
