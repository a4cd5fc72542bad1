"""A session that another process holds cannot be changed by one that may not prompt it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor, RpcError
from tests.support.in_memory import serving


@contextlib.asynccontextmanager
async def opened(home: Path) -> AsyncIterator[Editor]:
    async with serving(home) as editor:
        await editor.initialize()
        yield editor


def stored(home: Path) -> tuple[str, str]:
    with contextlib.closing(sqlite3.connect(home / "hermes-acp.db")) as database:
        return database.execute("SELECT mode, options FROM sessions").fetchone()


async def _by_mode(editor: Editor, session: str) -> None:
    await editor.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})


async def _by_option(editor: Editor, session: str) -> None:
    chosen = {"sessionId": session, "configId": "mode", "value": "dont_ask"}
    await editor.request("session/set_config_option", chosen)


async def _by_another_option(editor: Editor, session: str) -> None:
    chosen = {"sessionId": session, "configId": "thoughts", "value": "false"}
    await editor.request("session/set_config_option", chosen)


CHANGES = [_by_mode, _by_option, _by_another_option]


@pytest.mark.parametrize("change", CHANGES)
async def test_what_is_chosen_where_it_may_not_be_prompted_is_refused_and_changes_nothing(
    home: Path, workspace: Path, change: Callable[[Editor, str], Awaitable[Any]]
) -> None:
    async with opened(home) as holder, opened(home) as other:
        session = await holder.new_session(workspace)
        await holder.prompt(session, "hello")
        before = stored(home)
        await other.load_session(session, workspace)
        with pytest.raises(RpcError, match="cannot be changed here: it is open in another program"):
            await change(other, session)
        assert stored(home) == before
        await holder.request("session/close", {"sessionId": session})
        await holder.load_session(session, workspace)
        assert stored(home) == before
        await change(other, session)
        assert stored(home) != before


async def test_the_command_is_refused_too(home: Path, workspace: Path) -> None:
    async with opened(home) as holder, opened(home) as other:
        session = await holder.new_session(workspace)
        await holder.prompt(session, "hello")
        loaded = await other.load_session(session, workspace)
        await other.prompt(session, "/mode dont_ask")
        assert "cannot be changed here" in other.text(session)
        assert stored(home)[0] == loaded["modes"]["currentModeId"]


async def test_its_holder_chooses_at_rest_and_in_a_turn(home: Path, workspace: Path) -> None:
    async with opened(home) as holder, opened(home) as other:
        session = await holder.new_session(workspace)
        await holder.prompt(session, "hello")
        await other.load_session(session, workspace)
        for change in CHANGES:
            await change(holder, session)
        assert stored(home)[0] == "dont_ask"
