"""The agent's process ends, killed or by itself, at rest or in the middle of turns, and is started again."""

from __future__ import annotations

import asyncio
import contextlib

from tests.model.folding import fold_cut
from tests.model.invariants.stored import knows_turn
from tests.model.process import PATIENCE
from tests.model.steps.life import load, resume
from tests.model.steps.turns import PLACES, Cut, begin_cut
from tests.model.world import Running, World
from tests.support.editor import AgentGone, RpcError

_SEEN = {"agent_message_chunk", "tool_call"}


async def crash(world: World) -> None:
    """kill -9, mostly in turns; then everything is loaded or resumed."""
    await _end_and_start(world, killed=True)


async def restart(world: World) -> None:
    """The editor ends its side of the connection, and starts the agent again."""
    await _end_and_start(world, killed=False)


async def _end_and_start(world: World, *, killed: bool) -> None:
    world.did(f"{'kill' if killed else 'end of input'}:")
    was_open = world.open_sessions()
    busy = [session for session in was_open if world.chance.random() < 0.5]
    cuts = [begin_cut(world, session, world.chance.choice(PLACES)) for session in busy]
    if cuts:
        await asyncio.wait([cut.reached for cut in cuts], return_when=asyncio.FIRST_COMPLETED)
    over = {cut.running.turn.name for cut in cuts if _answered(cut)}
    await (world.process.kill() if killed else world.process.end())
    world.model.let_go()
    for cut in cuts:
        cut.reached.cancel()
        await asyncio.gather(cut.reached, return_exceptions=True)
    for session in world.sessions.values():
        session.closed()
    for cut in cuts:
        await _take_in(world, cut.running, is_over=cut.running.turn.name in over or _answered(cut))
    await world.start()
    for session in was_open:
        await world.chance.choice((load, load, resume))(world, session)


def _answered(cut: Cut) -> bool:
    answer = cut.running.answer
    return answer.done() and answer.exception() is None


async def _take_in(world: World, running: Running, *, is_over: bool) -> None:
    with contextlib.suppress(AgentGone, RpcError):
        await asyncio.wait_for(asyncio.shield(running.answer), PATIENCE)
    session, turn = running.session, running.turn
    world.took(running)
    kinds = {update["sessionUpdate"] for update in turn.updates}
    turn.end = "killed"
    if is_over and running.answer.result()["stopReason"] == "end_turn":
        turn.end = "whole"
    fold_cut(world, running)
    if knows_turn(world, session, turn):
        return
    assert not kinds & _SEEN, f"{turn.name} is lost, of which was shown: {kinds}"
    assert not turn.after, f"{turn.name} is lost, which has changed {turn.after}"
    session.drop(turn)
    session.undone = running.undone
