"""What is asked about a session while a turn runs in it: its end, and to be loaded, which is refused."""

from __future__ import annotations

import pytest

from tests.model.folding import fold_cut, fold_whole
from tests.model.lived import Lived
from tests.model.process import PATIENCE
from tests.model.steps.life import forget
from tests.model.steps.turns import PLACES, begin_cut, cancel
from tests.model.world import World
from tests.support.editor import RpcError


async def end_in_turn(world: World, session: Lived) -> None:
    """session/close or session/delete while a turn runs: its prompt is answered, once, as cancelled."""
    cut = begin_cut(world, session, world.chance.choice(PLACES))
    await cut.reached
    method = world.chance.choice(("session/close", "session/delete"))
    world.did(f"{method} in a turn: {session.id}")
    world.agent.answers_on_cancel = True
    running = cut.running
    is_over = running.answer.done()
    ended = world.agent.begin(method, {"sessionId": session.id})
    answer = await world.agent.answer(running.answer, "the prompt of a session that ends", PATIENCE)
    assert cut.place == "frames" or is_over or answer["stopReason"] == "cancelled", answer
    await world.agent.answer(ended, method, PATIENCE)
    world.model.let_go()
    world.took(running)
    if answer["stopReason"] == "cancelled":
        running.turn.end = "cancelled"
        fold_cut(world, running)
    else:
        fold_whole(world, running)
    if method == "session/delete":
        forget(world, session)
    else:
        session.is_open = False


async def load_in_turn(world: World, session: Lived) -> None:
    """session/load and session/resume are refused while a turn runs, which goes on."""
    cut = begin_cut(world, session, world.chance.choice(("stream", "command")))
    await cut.reached
    method = world.chance.choice(("session/load", "session/resume"))
    world.did(f"{method} in a turn: {session.id}")
    place = {"sessionId": session.id, "cwd": str(session.cwd), "mcpServers": []}
    if not cut.running.answer.done():
        with pytest.raises(RpcError, match="A prompt is running"):
            await world.agent.request(method, place, PATIENCE)
    await cancel(world, cut)
