"""A prompt that meets a missing key: where the editor can show one, the person is led to the page that makes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.config import ConfigSource
from agent_core.home import Home
from tests.support.editor import PLAIN, ZED, Editor, RpcError
from tests.support.in_memory import serving
from tests.support.settings_files import configure

KEY = "OPENAI_API_KEY"


@pytest.fixture
async def editor(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Editor]:
    monkeypatch.delenv(KEY, raising=False)
    async with serving(home, config=ConfigSource(Home(home)), front_door=True) as made:
        yield made


async def _session_that_lost_its_key(editor: Editor, home: Path, workspace: Path) -> str:
    configure(home, {"model": {"provider": "openai", "default": "gpt-5"}})
    (home / ".env").write_text(f"{KEY}=sk-example\n")
    session = await editor.new_session(workspace)
    (home / ".env").write_text("")
    return session


async def test_the_page_is_shown_and_a_key_that_came_meanwhile_is_used(
    editor: Editor, home: Path, workspace: Path
) -> None:
    await editor.initialize(ZED)
    shown: list[dict[str, Any]] = []

    async def open_page(params: dict[str, Any]) -> dict[str, Any]:
        shown.append(params)
        configure(home, {"model": "offline"})
        return {"action": "accept"}

    editor.host.forms = open_page
    session = await _session_that_lost_its_key(editor, home, workspace)
    assert await editor.prompt(session, "say hello") == {"stopReason": "end_turn"}
    (question,) = shown
    assert (question["mode"], question["url"]) == ("url", "https://platform.openai.com/api-keys")
    assert "OPENAI_API_KEY" in question["message"]
    assert str(home / ".env") in question["message"]


@pytest.mark.parametrize("reply", [{"action": "accept"}, {"action": "decline"}, {"action": "cancel"}])
async def test_a_key_that_is_still_missing_is_an_error_with_what_to_do(
    editor: Editor, home: Path, workspace: Path, reply: dict[str, Any]
) -> None:
    await editor.initialize(ZED)
    shown: list[dict[str, Any]] = []

    async def answer(params: dict[str, Any]) -> dict[str, Any]:
        shown.append(params)
        return reply

    editor.host.forms = answer
    session = await _session_that_lost_its_key(editor, home, workspace)
    with pytest.raises(RpcError, match="Set OPENAI_API_KEY in") as failed:
        await editor.prompt(session, "say hello")
    assert failed.value.code == -32000
    assert len(shown) == 1


async def test_without_pages_the_error_says_it(editor: Editor, home: Path, workspace: Path) -> None:
    await editor.initialize(PLAIN)
    session = await _session_that_lost_its_key(editor, home, workspace)
    with pytest.raises(RpcError, match="Set OPENAI_API_KEY in"):
        await editor.prompt(session, "say hello")
    assert not [frame for frame in editor.frames if frame.method == "elicitation/create"]


async def test_a_cancel_withdraws_the_question(editor: Editor, home: Path, workspace: Path) -> None:
    await editor.initialize(ZED)

    async def never(params: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    editor.host.forms = never
    session = await _session_that_lost_its_key(editor, home, workspace)
    prompt = editor.begin_prompt(session, "say hello")
    await editor.wait_for_call("elicitation/create")
    editor.cancel(session)
    assert await editor.answer(prompt, "session/prompt") == {"stopReason": "cancelled"}
    await editor.wait_for_call("$/cancel_request")
