"""Nothing runs that nobody waits for, no request is without its answer, and of what was deleted nothing is left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.model.calls import BEHIND
from tests.model.invariants.files import half_written
from tests.model.process import PATIENCE
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from tests.model.world import World

_SERVER = "mcp_plain_server.py"


async def check_remains(world: World) -> None:
    """While no turn runs. Raises AssertionError."""
    assert not world.agent.wire.unanswered, f"requests without an answer: {world.agent.wire.unanswered}"
    for session in world.open_sessions():
        known = world.agent.wire.sessions[session.id]
        assert not known.unfinished(), f"cards are open in {session.id}: {known.unfinished()}"
    terminals = world.agent.host.terminals
    # A turn that was cancelled may be answered before its command has ended.
    await _eventually(lambda: not terminals, lambda: f"terminals of the editor: {list(terminals)}")
    await _eventually(lambda: _is_all_wanted(world), world.process.running)
    for path in world.process.home.rglob("*"):
        found = [session for session in world.deleted if session in path.name]
        assert not found, f"{path} is left of {found}"


async def check_half_written(world: World) -> None:
    """While nothing is written: what earlier processes have left so goes, as soon as there is quiet."""
    await _eventually(lambda: not half_written(world), lambda: half_written(world))


async def check_end(world: World) -> None:
    """After the agent's end."""
    await _eventually(lambda: not world.process.everything(), world.process.everything)
    log = world.process.home / "logs" / "hermes-acp.log"
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    assert " ERROR " not in text, text


def _is_all_wanted(world: World) -> bool:
    """Whether just that runs which sessions that are open want: their servers, and what is in their background."""
    lines, opened = world.process.running(), world.open_sessions()
    servers = sum(_SERVER in line for line in lines)
    behind = sum(line == BEHIND for line in lines)
    least = sum(session.behind for session in opened)
    most = least + sum(session.may_be_behind for session in opened)
    around = sum(BEHIND in line for line in lines) if behind else 0
    return servers <= len(opened) and least <= behind <= most and servers + around == len(lines)


async def _eventually(holds: Callable[[], bool], told: Callable[[], Any]) -> None:
    try:
        await asyncio.to_thread(wait_until, holds, PATIENCE)
    except AssertionError as late:
        raise AssertionError(f"it still runs: {told()}") from late
