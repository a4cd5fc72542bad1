"""Words for a turn of their own, and what ends the session right behind them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.editor import PLAIN
from tests.support.in_memory import EditorFactory


async def test_a_session_that_is_closed_right_behind_steering_shows_nothing_more(
    start: EditorFactory, workspace: Path
) -> None:
    editor = await start()
    await editor.initialize(PLAIN)
    session = await editor.new_session(workspace)
    await editor.prompt(session, "say one.")
    words = [{"type": "text", "text": "sleep 0.3\nsay two."}]
    begun = editor.begin("_session/steering", {"sessionId": session, "prompt": words})
    await asyncio.gather(begun, editor.begin("session/close", {"sessionId": session}))
    # Another session's turn takes longer than the one that must not go on.
    await editor.prompt(await editor.new_session(workspace), "sleep 0.6\nsay three.")
    assert editor.text(session) == "one.\n"
