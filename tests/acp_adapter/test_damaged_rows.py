"""A stored session with a damaged row: it is named, set aside and kept, and the session goes on."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.config import ConfigSource
from agent_core.home import Home
from tests.support.editor import Editor
from tests.support.in_memory import serving
from tests.support.model_replies import ToolCall
from tests.support.model_server import ModelServer, Reply
from tests.support.settings_files import use_model

LONG = "A long and quiet answer. " * 80


@pytest.fixture
def server() -> ModelServer:
    with ModelServer(default=lambda _: Reply("Fine.")) as made:
        yield made


def rows(home: Path, query: str, *values: object) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(home / "hermes-acp.db")) as database, database:
        return database.execute(query, values).fetchall()


def flip(home: Path, row: int, table: str = "messages", place: int = -6) -> bytes:
    """Flip one bit in a row's body; the bytes that are there now."""
    text, is_text = rows(home, f"SELECT CAST(body AS BLOB), typeof(body) = 'text' FROM {table} WHERE id = ?", row)[0]
    body = bytearray(text)
    body[place] ^= 0x80 if is_text else 0x01
    value = "CAST(? AS TEXT)" if is_text else "?"
    rows(home, f"UPDATE {table} SET body = {value} WHERE id = ?", bytes(body), row)
    return bytes(body)


@contextlib.asynccontextmanager
async def opened(home: Path) -> AsyncIterator[Editor]:
    async with serving(home, config=ConfigSource(Home(home))) as editor:
        await editor.initialize()
        yield editor


@pytest.fixture
async def session(home: Path, workspace: Path, server: ModelServer) -> str:
    """Its messages: 1 prompt, 2 long answer, 3 prompt, 4 two calls, 5 and 6 their results, 7 answer."""
    use_model(home, server)
    (workspace / "a.txt").write_text("first file")
    (workspace / "b.txt").write_text("second file")
    calls = [ToolCall(name, "read_file", {"path": name}) for name in ("a.txt", "b.txt")]
    server.add(Reply(LONG), Reply("I look.", tool_calls=calls), Reply("Both are read."))
    async with opened(home) as editor:
        made = await editor.new_session(workspace)
        await editor.prompt(made, "tell me much")
        await editor.prompt(made, "read both")
    assert [role for (role,) in rows(home, "SELECT role FROM messages ORDER BY id")] == [
        "user", "assistant", "user", "assistant", "tool", "tool", "assistant",
    ]  # fmt: skip
    return made


@pytest.mark.parametrize("row", range(1, 8))
async def test_a_damaged_message_is_named_and_kept_and_the_model_sees_all_others(
    home: Path, workspace: Path, server: ModelServer, session: str, row: int
) -> None:
    before = len(server.requests)
    sent = server.requests[-1].body["messages"][1:]
    damaged = flip(home, row)
    async with opened(home) as editor:
        await editor.load_session(session, workspace)
        await editor.prompt(session, "go on")
        assert "have been set aside" in editor.text(session)
        await editor.prompt(session, "/compact")
        await editor.prompt(session, "/undo")
        await editor.prompt(session, "/reset")
        assert (await editor.prompt(session, "once more"))["stopReason"] == "end_turn"
    told = server.requests[before].body["messages"][1:]
    others = [
        message
        for number, message in enumerate([*sent, {"role": "assistant", "content": "Both are read."}], 1)
        if number != row
    ]
    assert [message for message in told if message in others] == others
    assert len(told) == len(others) + 2
    ((value, name),) = rows(home, "SELECT value, table_name FROM damaged_rows")
    assert (value, name) == (damaged, "messages")


async def test_the_result_of_a_call_is_told_as_lost_and_a_lost_answer_keeps_its_calls(
    home: Path, workspace: Path, server: ModelServer, session: str
) -> None:
    before = len(server.requests)
    flip(home, 6)
    flip(home, 4)
    async with opened(home) as editor:
        await editor.load_session(session, workspace)
        await editor.prompt(session, "go on")
    told = server.requests[before].body["messages"][1:]
    (call,) = told[3]["tool_calls"]  # of the other one nothing is known but its card
    assert call["function"]["name"] == "read_file"
    assert "first file" in told[4]["content"]


@pytest.mark.parametrize("place", ["typed", "shown"])
async def test_what_is_shown_is_shown_but_for_the_damaged_part(
    home: Path, workspace: Path, session: str, place: str
) -> None:
    (row,) = rows(home, "SELECT max(id) FROM events WHERE kind = 'text' AND turn = 1")[0]
    flip(home, row, "events")
    if place == "typed":
        rows(home, "UPDATE events SET body = '[]' WHERE id = ?", row)
    async with opened(home) as editor:
        await editor.load_session(session, workspace)
        assert "cannot be read any more" in editor.text(session, "agent_thought_chunk")
        assert "Both are read." in editor.text(session)


async def test_damaged_options_let_the_session_ask_again(home: Path, workspace: Path, session: str) -> None:
    rows(home, "UPDATE sessions SET mode = 'dont_ask', options = CAST(x'7b2280' AS TEXT)")
    async with opened(home) as editor:
        loaded = await editor.load_session(session, workspace)
        assert loaded["modes"]["currentModeId"] == "default"
        await editor.prompt(session, "go on")
        assert "its options" in editor.text(session)
    assert rows(home, "SELECT mode, options FROM sessions") == [("default", "{}")]
    assert rows(home, "SELECT value FROM damaged_rows") == [(b'{"\x80',)]


async def test_names_that_are_no_text_any_more_keep_nobody_from_the_sessions(
    home: Path, workspace: Path, session: str
) -> None:
    rows(home, "UPDATE sessions SET title = CAST(x'41ff' AS TEXT), source = CAST(x'ff' AS TEXT), roots = '[1'")
    rows(home, "UPDATE turns SET outcome = 'error', note = CAST(x'6e6fff' AS TEXT) WHERE number = 2")
    async with opened(home) as editor:
        (listed,) = (await editor.request("session/list", {}))["sessions"]
        assert listed["title"] == "A\ufffd"
        await editor.load_session(session, workspace)
        assert "failed:** no\ufffd" in editor.text(session)
        await editor.prompt(session, "go on")
        assert "its additional directories" in editor.text(session)
    assert rows(home, "SELECT roots FROM sessions") == [("[]",)]


async def test_a_fork_from_a_message_of_a_damaged_turn_works(home: Path, workspace: Path, session: str) -> None:
    flip(home, 7)
    async with opened(home) as editor:
        await editor.load_session(session, workspace)
        ids = [
            update["messageId"] for update in editor.updates(session, "agent_message_chunk") if "messageId" in update
        ]
        fork = {"sessionId": session, "cwd": str(workspace), "mcpServers": []}
        await editor.request("session/fork", {**fork, "_meta": {"hermes": {"messageId": ids[-1]}}})
        forked = await editor.request("session/fork", fork)
        assert (await editor.prompt(forked["sessionId"], "go on"))["stopReason"] == "end_turn"


async def test_a_deleted_session_leaves_nothing_that_was_set_aside(home: Path, workspace: Path, session: str) -> None:
    flip(home, 2)
    async with opened(home) as editor:
        await editor.load_session(session, workspace)
        await editor.prompt(session, "go on")
        assert rows(home, "SELECT count(*) FROM damaged_rows") == [(1,)]
        await editor.request("session/delete", {"sessionId": session})
    assert rows(home, "SELECT count(*) FROM damaged_rows") == [(0,)]
