"""What a person does between turns that are cancelled, and while one runs."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.chaos_plans import Round
from tests.support.chaos_remains import PATIENCE
from tests.support.chaos_session import ChaosSession

_MODES = ("default", "accept_edits", "dont_ask", "plan")
_BETWEEN = ("nothing", "mode", "stop a task", "reconnect", "load")
_BETWEEN_WEIGHTS = (10, 6, 4, 1, 1)
_BESIDE = ("nothing", "mode", "stop a task", "look")
_BESIDE_WEIGHTS = (12, 2, 3, 1)
_UNDO = 0.2


async def undo(session: ChaosSession, was: Round, began: int) -> None:
    """Sometimes take the turn back that was cancelled: nothing of its files stays, but what is told to.

    Args:
        began: the first frame of the turn.
    """
    if session.chance.random() >= _UNDO:
        return
    session.acts.append(f"/undo of {was.name}")
    session.ground.look()  # its files may go
    until = len(session.agent.frames)
    told = await session.command("/undo")
    session.gone.append((began, until))
    session.rounds.remove(was.name)
    assert "The last turn was taken back." in told, told
    assert was.name in told, told
    left = [path for path in was.files(session.ground) if (session.ground.workspace / path).exists()]
    assert not [path for path in left if path not in told], f"{left} are still there: {told}"
    await session.load()


async def between(session: ChaosSession) -> None:
    """While no turn runs."""
    match session.chance.choices(_BETWEEN, _BETWEEN_WEIGHTS)[0]:
        case "mode":
            await _mode(session)
        case "stop a task":
            await _stop_one(session)
        case "reconnect":
            name = session.chance.choice(("steady", "flapping"))
            session.acts.append(f"/mcp reconnect {name}")
            assert name in await session.command(f"/mcp reconnect {name}")
        case "load":
            session.acts.append("session/load")
            await session.load()


async def beside(session: ChaosSession) -> list[asyncio.Future[Any]]:
    """While a turn runs; the answers that are still to come."""
    match session.chance.choices(_BESIDE, _BESIDE_WEIGHTS)[0]:
        case "mode":
            await _mode(session)
        case "stop a task":
            if running := await session.running():
                task = session.chance.choice(running)["id"]
                session.acts.append(f"beside: /tasks stop {task}")
                return [session.agent.begin_prompt(session.id, f"/tasks stop {task}")]
        case "look":
            session.acts.append("beside: /status")
            return [session.agent.begin_prompt(session.id, "/status")]
    return []


async def _mode(session: ChaosSession) -> None:
    mode = session.chance.choice(_MODES)
    session.acts.append(f"mode {mode}")
    await session.agent.request("session/set_mode", {"sessionId": session.id, "modeId": mode}, PATIENCE)


async def _stop_one(session: ChaosSession) -> None:
    """A task that is stopped runs no more; one that has ended by itself meanwhile cannot be."""
    running = await session.running()
    if not running:
        return
    task = session.chance.choice(running)
    session.acts.append(f"/tasks stop {task['id']}")
    await session.command(f"/tasks stop {task['id']}")
    await session.until_over(task["id"])
    name = task["title"].partition(";")[0].rpartition("/")[2]
    if "-b" in name:
        assert not session.ground.alive(name), task
