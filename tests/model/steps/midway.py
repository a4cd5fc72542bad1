"""What is asked about a session while a turn runs in it: its end, to be loaded, another mode, one more prompt."""

from __future__ import annotations

import pytest

from tests.model.calls import some_steps, told
from tests.model.folding import fold_cut, fold_whole
from tests.model.invariants.files import on_disk
from tests.model.invariants.stored import knows_turn
from tests.model.lived import MODES, Lived
from tests.model.process import PATIENCE
from tests.model.steps.life import forget
from tests.model.steps.turns import PLACES, begin_cut, cancel, finish_whole
from tests.model.world import Running, Typed, World
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
        session.closed()


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


async def mode_at_question(world: World, session: Lived) -> None:
    """Another mode while a question is open: it is withdrawn where it needs no answer any more, and else answered."""
    mode = world.chance.choice(MODES)
    cut = begin_cut(world, session, "question")
    running = cut.running
    await cut.reached
    if running.answer.done():
        await finish_whole(world, running)
        return
    call_id = _open_question(running)
    world.did(f"mode at a question: {mode} at {call_id}")
    await world.agent.request("session/set_mode", {"sessionId": session.id, "modeId": mode}, PATIENCE)
    running.switch = call_id, mode
    call = next(call for each, call in running.turn.calls() if each == call_id)
    before, session.mode = session.mode, mode
    if session.verdict(call, world.kept.get(session.cwd, set())) == "asks":
        running.person.answers[call_id] = "allow_once"
        world.agent.answer_late(session.id, "allow_once")
    else:
        del running.person.answers[call_id]
    session.mode = before
    await finish_whole(world, running)
    session.mode = mode


async def types_at_question(world: World, session: Lived) -> None:
    """The person changes a file while they are asked about an edit of it, and says yes: theirs stays."""
    cut = begin_cut(world, session, "question")
    running = cut.running
    await cut.reached
    if running.answer.done():
        await finish_whole(world, running)
        return
    call_id = _open_question(running)
    call = next(call for each, call in running.turn.calls() if each == call_id)
    if call.asked == "write":
        is_saved = not world.process.has_own or call.path not in on_disk(session.cwd) or world.chance.random() < 0.5
        running.typed = Typed(call_id, call.path, f"typed at a question {len(world.acts)}\n", is_saved)
        world.did(f"person types at a question: {call.path}, {'saved' if is_saved else 'not saved'}")
        world.types(session, call.path, running.typed.text, is_saved=is_saved)
    running.person.answers[call_id] = "allow_once"
    world.agent.answer_late(session.id, "allow_once")
    await finish_whole(world, running)


async def behind(world: World, session: Lived) -> None:
    """A prompt while a turn runs: it waits for that turn's end, and is cancelled with it."""
    is_cancelled = world.chance.random() < 0.5
    cut = begin_cut(world, session, "stream")
    await cut.reached
    name = world.named()
    steps = some_steps(name, session.ground.seen, world.chance)
    world.did(f"prompt behind another: {name} in {session.id}: {told(steps)}")
    waiting = world.begin(session, steps, world.person(), name)
    waiting.behind = cut.running
    if is_cancelled:
        await cancel(world, cut)
        await _cancelled(world, waiting)
        return
    world.model.let_go()
    await world.agent.answer(cut.running.answer, cut.running.turn.name, PATIENCE)
    await finish_whole(world, cut.running)
    await finish_whole(world, waiting)


def _open_question(running: Running) -> str:
    """The call whose question has no answer."""
    (call_id,) = (call for call, answer in running.person.answers.items() if not answer)
    return call_id


async def _cancelled(world: World, waiting: Running) -> None:
    """It is kept if its turn had come when it was cancelled."""
    answer = await world.agent.answer(waiting.answer, f"the cancelled {waiting.turn.name}", PATIENCE)
    assert answer["stopReason"] == "cancelled", answer
    session, turn = waiting.session, waiting.turn
    if knows_turn(world, session, turn):
        turn.end = "cancelled"
        world.took(waiting)
        fold_cut(world, waiting)
    else:
        session.drop(turn)
