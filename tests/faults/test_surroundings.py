"""Model servers, MCP servers and editors that fail at random: each turn ends readably, and the next one works."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_core.config import ConfigSource
from agent_core.home import Home
from tests.faults.stage import told
from tests.support.editor import PLAIN, ZED, Editor, RpcError
from tests.support.in_memory import serving
from tests.support.model_server import Disconnect, Garbage, ModelServer, Reply, Status
from tests.support.settings_files import configure, use_model

SEED = os.environ.get("FAULTS_SEED") or str(random.randrange(1_000_000))
_SERVER = Path(__file__).parents[1] / "support" / "mcp_plain_server.py"
_COUNTED = """
import os, runpy, sys
with open({pids!r}, "a") as file:
    file.write(f"{{os.getpid()}}\\n")
sys.argv = [{server!r}, "plain"]
runpy.run_path({server!r}, run_name="__main__")
"""
_SOON = {"Retry-After": "0"}
_FAULTS: tuple[Callable[[], Any], ...] = (
    lambda: Status(429, {"error": {"message": "Rate limit reached"}}, _SOON),
    lambda: Status(500, "<html>", _SOON),
    lambda: Status(503, {"error": {"message": "overloaded"}}, _SOON),
    lambda: Status(400, {"error": {"message": "no such thing"}}),
    lambda: Status(401, {"error": {"message": "bad key"}}),
    lambda: Disconnect(before_headers=True),
    lambda: Disconnect(Reply("Half of an answer.", split=4), after=2),
    Garbage,
    lambda: Garbage(b"\x00" * 100, "application/json"),
)


async def _model_faults(home: Path, workspace: Path, turns: int) -> None:
    chance = random.Random(SEED)
    script: list[Any] = []
    with ModelServer(default=lambda _: script.pop(0) if script else Reply("nothing is left")) as server:
        use_model(home, server, platform_toolsets={"acp": ["files"]})
        async with serving(home, config=ConfigSource(Home(home))) as agent:
            await agent.initialize(PLAIN)
            session = await agent.new_session(workspace)
            for number in range(turns):
                faults = [fault() for fault in chance.choices(_FAULTS, k=chance.randrange(3))]
                script[:] = [*faults, Reply(f"answer-{number}")]
                said = await _outcome_of(agent, session, f"prompt-{number}")
                assert "Traceback" not in said
            script[:] = [Reply("the last answer")]
            assert await _outcome_of(agent, session, "the last") == "end_turn"
            sent = server.requests[-1].raw.decode()
            assert all(sent.count(f'prompt-{number}"') <= 1 for number in range(turns))
            assert agent.text(session).endswith("the last answer")


async def _outcome_of(agent: Editor, session: str, prompt: str) -> str:
    """How the turn stopped, or the words of its error."""
    try:
        return str((await agent.prompt(session, prompt))["stopReason"])
    except RpcError as problem:
        return problem.message


@pytest.mark.long
async def test_model_servers_that_fail_at_random_leave_a_session_that_goes_on(home: Path, workspace: Path) -> None:
    with told(f"FAULTS_SEED={SEED}"):
        await _model_faults(home, workspace, 5)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_model_servers_that_fail_at_random_for_long(home: Path, workspace: Path) -> None:
    with told(f"FAULTS_SEED={SEED}"):
        await _model_faults(home, workspace, 60)


class FaultyHandler:
    """The editor's answer to a call: its own, an error, rubbish, late, or none until the turn is over."""

    def __init__(self, real: Callable[[Any], Any], chance: random.Random) -> None:
        self._real = real
        self._chance = chance

    async def __call__(self, params: Any) -> Any:
        match self._chance.choice(("real", "error", "rubbish", "late", "odd")):
            case "error":
                raise RpcError(-32603, "the editor could not do it")
            case "rubbish":
                return {"content": 7, "output": None, "terminalId": ["no"]}
            case "odd":
                return None
            case "late":
                await asyncio.sleep(0.05)  # so that other things come first
        return await self._real(params)


async def _editor_faults(agent: Editor, workspace: Path, turns: int, methods: set[str]) -> None:
    chance = random.Random(SEED)
    await agent.initialize(ZED)
    session = await agent.new_session(workspace)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
    real = dict(agent.handlers)
    agent.handlers.update({name: FaultyHandler(handler, chance) for name, handler in real.items()})
    agent.answer_twice = True
    for number in range(turns):
        prompt = f"read sums.py\nedit sums.py a - b => a + b\nwrite new{number}.txt text\nrun echo ran\nsay End."
        assert (await agent.prompt(session, prompt))["stopReason"] == "end_turn"
        whole = {"a - b", "a + b"}
        assert any(word in (workspace / "sums.py").read_text() for word in whole)
    assert {card["status"] for card in agent.cards(session).values()} <= {"completed", "failed"}
    asked = {frame.method for frame in agent.frames if not frame.ours and frame.method}
    assert methods <= asked
    agent.handlers.update(real)
    await agent.prompt(session, "read sums.py\nsay Last.")
    assert list(agent.cards(session).values())[-1]["status"] == "completed"


@pytest.mark.long
@pytest.mark.parametrize("terminals", [False, True])
async def test_an_editor_whose_files_and_terminals_fail_at_random_breaks_no_turn(
    home: Path, workspace: Path, terminals: bool
) -> None:
    configure(home, {"editor": {"terminals": terminals}})
    with told(f"FAULTS_SEED={SEED}"):
        async with serving(home) as agent:
            asked = {"fs/write_text_file", *(["terminal/create"] if terminals else [])}
            await _editor_faults(agent, workspace, 6, asked)


@pytest.mark.long
@pytest.mark.usefixtures("mcp_sdk")
async def test_an_mcp_server_that_is_killed_between_and_within_calls_costs_those_calls_alone(
    home: Path, workspace: Path
) -> None:
    pids = workspace / "pids"
    program = workspace / "counted.py"
    program.write_text(_COUNTED.format(pids=str(pids), server=str(_SERVER)))
    server = {"command": sys.executable, "args": ["-IS", str(program)]}
    configure(home, {"mcp_servers": {"plain": server}})
    async with serving(home) as agent:
        await agent.initialize(PLAIN)
        session = await agent.new_session(workspace)
        await agent.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
        await agent.prompt(session, "say First.")
        for _ in range(3):
            os.kill(int(pids.read_text().split()[-1]), signal.SIGKILL)
            assert (await agent.prompt(session, "run echo ran\nsay Next."))["stopReason"] == "end_turn"
            assert "Traceback" not in agent.text(session)
            known = len(pids.read_text().split())
            await agent.prompt(session, "/mcp reconnect plain")
            assert len(pids.read_text().split()) >= known
        await agent.prompt(session, "say Last.")
        assert agent.text(session).endswith("Last.\n")
