"""An MCP server that is dead, dies, or hangs when it is called: the call says so; once it is back, the next works."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import PLAIN, Editor
from tests.support.in_memory import serving
from tests.support.settings_files import configure

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("mcp_sdk")]

_SERVER = Path(__file__).parents[1] / "support" / "mcp_plain_server.py"
_MORTAL = """
import os, runpy, sys
if os.path.exists({gone!r}):
    sys.exit("the disk with its data is not there")
with open({pids!r}, "a") as file:
    file.write(f"{{os.getpid()}}\\n")
sys.argv = [{server!r}, "plain"]
runpy.run_path({server!r}, run_name="__main__")
"""


@dataclass
class Talk:
    """A session with one server, `plain`; while `gone` is there, it does not start."""

    agent: Editor
    session: str
    gone: Path
    pids: Path

    @property
    def pid(self) -> int:
        return int(self.pids.read_text().split()[-1])

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A turn with this call; its card."""
        answer = await self.agent.prompt(
            self.session, f"call mcp__plain__{tool} {json.dumps(arguments)}\nsay Went on."
        )
        assert answer["stopReason"] == "end_turn"
        assert self.agent.text(self.session).endswith("Went on.\n")
        return list(self.agent.cards(self.session).values())[-1]

    async def reconnect(self) -> None:
        await self.agent.prompt(self.session, "/mcp reconnect plain")


@asynccontextmanager
async def _talk(home: Path, workspace: Path, **options: Any) -> AsyncIterator[Talk]:
    gone, pids, program = (workspace.parent / name for name in ("gone", "pids", "mortal.py"))
    program.write_text(_MORTAL.format(gone=str(gone), pids=str(pids), server=str(_SERVER)))
    configure(home, {"mcp_servers": {"plain": {"command": sys.executable, "args": ["-IS", str(program)], **options}}})
    async with serving(home) as agent:
        await agent.initialize(PLAIN)
        session = await agent.new_session(workspace)
        await agent.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
        yield Talk(agent, session, gone, pids)


def _failed(card: dict[str, Any], *words: str) -> None:
    shown = json.dumps(card, ensure_ascii=False)
    assert card["status"] == "failed", shown
    assert all(word in shown for word in words), shown
    assert "Traceback" not in shown


async def test_calls_of_a_dead_server_say_that_it_is_and_the_next_one_after_it_is_back_works(
    home: Path, workspace: Path
) -> None:
    async with _talk(home, workspace) as talk:
        assert (await talk.call("echo", text="first"))["status"] == "completed"
        talk.gone.touch()
        os.kill(talk.pid, signal.SIGKILL)
        for _ in range(2):
            _failed(await talk.call("echo", text="lost"), "cannot be used", "Go on without it.")
        talk.gone.unlink()
        await talk.reconnect()
        back = await talk.call("echo", text="second")
        assert back["status"] == "completed"
        assert "second" in json.dumps(back)


async def test_a_server_that_dies_in_a_call_costs_that_call_and_is_quoted(home: Path, workspace: Path) -> None:
    async with _talk(home, workspace) as talk:
        _failed(await talk.call("crash"), "exited with status 7", "out of cheese")
        await talk.reconnect()
        assert (await talk.call("echo", text="second"))["status"] == "completed"


async def test_a_server_that_hangs_in_a_call_ends_with_the_cancel_and_is_used_again_once_it_answers(
    home: Path, workspace: Path
) -> None:
    async with _talk(home, workspace) as talk:
        await talk.call("echo", text="first")
        os.kill(talk.pid, signal.SIGSTOP)
        turn = talk.agent.begin_prompt(talk.session, 'call mcp__plain__echo {"text": "x"}')
        since = len(talk.agent.frames)
        await talk.agent.wait_for_update(talk.session, "tool_call_update", status="in_progress", since=since)
        talk.agent.cancel(talk.session)
        assert (await talk.agent.answer(turn))["stopReason"] == "cancelled"
        assert list(talk.agent.cards(talk.session).values())[-1]["status"] == "failed"
        os.kill(talk.pid, signal.SIGCONT)
        assert (await talk.call("echo", text="second"))["status"] == "completed"


async def test_a_server_that_hangs_in_a_call_is_waited_for_no_longer_than_its_settings_say(
    home: Path, workspace: Path
) -> None:
    async with _talk(home, workspace, timeout=5) as talk:
        await talk.call("echo", text="first")
        os.kill(talk.pid, signal.SIGSTOP)
        _failed(await talk.call("echo", text="lost"), "did not answer within 5 s")
        os.kill(talk.pid, signal.SIGCONT)
        assert (await asyncio.wait_for(talk.call("echo", text="second"), 30))["status"] == "completed"
