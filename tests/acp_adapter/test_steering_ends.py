"""Words for a turn of their own, and what ends the session right behind them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.editor import PLAIN, RpcError
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


async def test_turns_that_no_request_waits_for_are_not_without_number(
    start: EditorFactory, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acp_adapter.turn.MOST_UNASKED", 1)
    editor = await start()
    await editor.initialize(PLAIN)
    one, two = [await editor.new_session(workspace) for _ in range(2)]
    words = [{"type": "text", "text": "sleep 30"}]
    await editor.request("_session/steering", {"sessionId": one, "prompt": words})
    with pytest.raises(RpcError) as refused:
        await editor.request("_session/steering", {"sessionId": two, "prompt": words})
    assert "Cancel some" in refused.value.message
    editor.cancel(one)
    assert (await editor.prompt(two, "say Here."))["stopReason"] == "end_turn"
