"""`/permissions`: what was answered is shown, and taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acp_adapter.commands.talk import Talk
from tests.support.editor import ZED, Editor
from tests.support.editor_policies import pick
from tests.support.in_memory import serving


@pytest.fixture
async def editor(home: Path) -> AsyncIterator[Editor]:
    async with serving(home) as made:
        await made.initialize(ZED)
        yield made


@pytest.fixture
async def talk(editor: Editor, home: Path, workspace: Path) -> Talk:
    return await Talk.begin(editor, home, workspace)


def _asked(talk: Talk) -> list[object]:
    return [frame for frame in talk.editor.frames if frame.method == "session/request_permission"]


async def test_without_answers_there_is_nothing_to_show_or_take_back(talk: Talk):
    assert "nothing for longer than once" in await talk.say("/permissions")
    assert "no answer number '1'" in await talk.say("/permissions revoke 1")
    assert "Nothing was refused" in await talk.say("/permissions forget-refusals")
    assert "does not know 'clear'" in await talk.say("/permissions clear")


async def test_a_yes_for_the_session_is_listed_and_taken_back(talk: Talk, workspace: Path):
    talk.editor.on_permission = pick("allow_session")
    await talk.say("write a.txt one")
    assert f"1. allowed: `edit {workspace}/a.txt` (this session)" in await talk.say("/permissions")
    assert "No longer allowed: `edit" in await talk.say("/permissions revoke 1")
    await talk.say("write a.txt two")
    assert len(_asked(talk)) == 2


async def test_refusals_are_listed_and_forgotten(talk: Talk, workspace: Path):
    talk.editor.on_permission = pick("reject_always")
    await talk.say("write a.txt one")
    assert "**refused**: `edit" in await talk.say("/permissions")
    assert "1 refusal" in await talk.say("/permissions forget-refusals")
    assert "nothing for longer than once" in await talk.say("/permissions")
