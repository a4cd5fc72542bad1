"""What the person saw of an answer before a cancel, a kill or a failure is told to the model with the next prompt."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agent_core.config import ConfigSource
from agent_core.home import Home
from agent_core.messages import INTERRUPTED_TURN
from tests.e2e.conftest import EditorFactory
from tests.support.editor import Editor, RpcError
from tests.support.in_memory import serving
from tests.support.model_replies import Disconnect, Gate, Reply, ToolCall
from tests.support.model_server import ModelServer
from tests.support.settings_files import use_model
from tests.support.waiting import wait_until

SEEN = "Half of what I have to say"
CUT = f"{SEEN}\n\n{INTERRUPTED_TURN}"
CALL = ToolCall("c", "read_file", {"path": "a.txt"})


def half(before: str = SEEN, reasoning: str = "", calls: tuple[ToolCall, ...] = ()) -> tuple[Reply, Gate]:
    """An answer that stands still behind `before`."""
    gate = Gate()
    pieces = len(reasoning) // len(before) + bool(reasoning) + 1
    reply = Reply(
        f"{before} and what nobody hears", reasoning, calls, split=len(before), gate=gate, gate_after=pieces
    )
    return reply, gate


def told(server: ModelServer) -> list[dict[str, Any]]:
    return [message for message in server.requests[-1].body["messages"] if message["role"] != "system"]


def answers(server: ModelServer) -> list[str]:
    return [message["content"] for message in told(server) if message["role"] == "assistant"]


def is_stored(home: Path, text: str = SEEN) -> bool:
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(home / "hermes-acp.db")) as database:
        rows = database.execute("SELECT body FROM events WHERE kind = 'text'").fetchall()
        return any(text in str(body) for (body,) in rows)
    return False


@pytest.fixture
def server(home: Path) -> Any:
    with ModelServer(default=lambda _: Reply("Fine.")) as made:
        use_model(home, made)
        yield made


async def begun(editor: Editor, workspace: Path, prompt: str = "talk") -> tuple[str, asyncio.Future[Any]]:
    await editor.initialize()
    session = await editor.new_session(workspace)
    return session, editor.begin_prompt(session, prompt)


async def shown(editor: Editor, session: str, text: str = SEEN) -> None:
    await editor.wait_for(lambda _: text in editor.text(session), what="the half answer")


async def _kill(editor: Editor) -> None:
    await editor.kill()


async def _terminate(editor: Editor) -> None:
    assert editor.process is not None
    editor.process.send_signal(signal.SIGTERM)
    await editor.exit_code(30)


@pytest.mark.parametrize("end", [_kill, _terminate])
async def test_after_a_process_ended_in_mid_answer_its_model_knows_what_was_seen(
    editor: EditorFactory, home: Path, workspace: Path, server: ModelServer, end: Callable[[Editor], Awaitable[None]]
) -> None:
    reply, gate = half(reasoning="secret thought")
    server.add(reply)
    first = await editor()
    session, _ = await begun(first, workspace)
    await shown(first, session)
    await asyncio.to_thread(wait_until, lambda: is_stored(home), 30)
    await end(first)
    gate.set()

    async with serving(home, config=ConfigSource(Home(home))) as second:
        await second.initialize()
        await second.load_session(session, workspace)
        assert SEEN in second.text(session)
        fork = await second.request("session/fork", {"sessionId": session, "cwd": str(workspace), "mcpServers": []})
        await second.prompt(session, "go on")
        assert answers(server) == [CUT]
        assert "secret" not in str(told(server))
        await second.prompt(session, "/undo")
        await second.prompt(session, "go on in another way")
        assert answers(server) == [CUT]
        await second.prompt(session, "and on")
        assert answers(server) == [CUT, "Fine."]
        await second.prompt(fork["sessionId"], "go on")
        assert answers(server) == [CUT]
        before = len(second.text(session))
        await second.load_session(session, workspace)
        assert second.text(session)[before:].count(SEEN) == 1


async def test_after_a_cancel_and_a_load_it_is_told_once(home: Path, workspace: Path, server: ModelServer) -> None:
    reply, gate = half()
    server.add(reply)
    async with serving(home, config=ConfigSource(Home(home))) as editor:
        session, turn = await begun(editor, workspace)
        await shown(editor, session)
        editor.cancel(session)
        assert (await turn)["stopReason"] == "cancelled"
        gate.set()
        await editor.load_session(session, workspace)
        await editor.prompt(session, "go on")
        assert answers(server) == [CUT]
        assert [message["role"] for message in told(server)] == ["user", "assistant", "user"]
        await editor.prompt(session, "/rewind 2")
        await editor.prompt(session, "anew")
        assert answers(server) == []


async def test_an_answer_cut_behind_calls_keeps_them_and_drops_the_call_that_was_not_finished(
    home: Path, workspace: Path, server: ModelServer
) -> None:
    (workspace / "a.txt").write_text("the file")
    reply, gate = half(calls=(ToolCall("d", "terminal", {"command": "touch never"}),))
    server.add(Reply("I look.", tool_calls=[CALL]), reply)
    async with serving(home, config=ConfigSource(Home(home))) as editor:
        session, turn = await begun(editor, workspace)
        await shown(editor, session)
        editor.cancel(session)
        await turn
        gate.set()
        await editor.prompt(session, "go on")
        assert answers(server) == ["I look.", CUT]
        assert "never" not in str(told(server))


async def test_a_failure_in_mid_answer_says_what_was_seen_and_that_it_failed(
    home: Path, workspace: Path, server: ModelServer
) -> None:
    broken = Disconnect(Reply(f"{SEEN} and more", split=len(SEEN)), after=1)
    server.add(broken)
    use_model(home, server, agent={"api_max_retries": 1})
    async with serving(home, config=ConfigSource(Home(home))) as editor:
        session, turn = await begun(editor, workspace)
        with pytest.raises(RpcError):
            await turn
        await editor.prompt(session, "go on")
        (answer,) = answers(server)
        assert answer.startswith(f"{SEEN}\n\n[This turn failed: ")
        assert [message["role"] for message in told(server)] == ["user", "assistant", "user"]


async def test_a_compression_behind_it_has_it_in_view(home: Path, workspace: Path, server: ModelServer) -> None:
    reply, gate = half()
    server.add(Reply("A long answer. " * 2000), reply)
    async with serving(home, config=ConfigSource(Home(home))) as editor:
        session, turn = await begun(editor, workspace)
        await turn
        turn = editor.begin_prompt(session, "talk")
        await shown(editor, session)
        editor.cancel(session)
        await turn
        gate.set()
        await editor.prompt(session, "/compact")
        await editor.prompt(session, "go on")
        assert CUT in answers(server)
