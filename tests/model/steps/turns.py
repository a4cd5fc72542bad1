"""Turns: whole ones, and those that are cut off at some moment."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

from tests.model.calls import Remove, Sleep, some_steps, told
from tests.model.folding import fold_cut, fold_whole
from tests.model.invariants.sent import check_sent
from tests.model.lived import Lived
from tests.model.process import PATIENCE
from tests.model.world import Running, World

Place = Literal["frames", "question", "stream", "command"]
PLACES: tuple[Place, ...] = ("frames", "question", "stream", "command")


@dataclass(slots=True)
class Cut:
    """Where a turn is cut off.

    Attributes:
        reached: done once the turn is there, or over.
        withdraws: the editor answers the open questions of a turn that it cancels, as it must.
    """

    place: Place
    running: Running
    reached: asyncio.Task[None]
    withdraws: bool


async def whole(world: World, session: Lived) -> None:
    """A turn that comes to its end."""
    name = world.named()
    steps = some_steps(name, session.ground.seen, world.chance)
    world.did(f"turn: {name} of {session.id}, {session.mode}, {session.edits}: {told(steps)}")
    running = world.begin(session, steps, world.person(), name)
    await finish_whole(world, running)


async def command(world: World, session: Lived) -> None:
    """A turn that runs a command and no more."""
    name = world.named()
    world.did(f"turn: {name} of {session.id}, {session.mode}: a command")
    await finish_whole(world, world.begin(session, ((Remove("nothing.txt"),),), world.person(), name))


async def finish_whole(world: World, running: Running) -> None:
    """Wait for the end of a turn that nobody cuts off."""
    answer = await world.agent.answer(running.answer, running.turn.name, PATIENCE)
    assert answer["stopReason"] == "end_turn", answer
    world.took(running)
    fold_whole(world, running)
    check_sent(world, running.session, running.turn)


def begin_cut(world: World, session: Lived, place: Place) -> Cut:
    """Begin a turn that is to be cut off there."""
    name, chance = world.named(), world.chance
    steps = some_steps(name, session.ground.seen, chance)
    person = world.person(is_careful=True)
    gate = None
    match place:
        case "question":
            person.silent_from = chance.randrange(2)
        case "command":
            at = chance.randint(0, len(steps))
            steps = (*steps[:at], (Sleep(),), *steps[at:])
        case "stream":
            gate = world.model.hold(name, chance.randint(0, len(steps)), chance.randrange(4))
    world.did(f"cut at {place}: {name} of {session.id}, {session.mode}, {session.edits}: {told(steps)}")
    running = world.begin(session, steps, person, name)
    frames = len(world.agent.frames) + chance.randrange(1, 60)

    async def reach() -> None:
        match place:
            case "frames":
                await world.agent.until(
                    lambda: len(world.agent.frames) >= frames or running.answer.done(),
                    PATIENCE,
                    f"a moment of {name}",
                )
            case "question":
                await _either(person.is_asked.wait(), running)
            case "command":
                call = next(call_id for call_id, call in running.turn.calls() if isinstance(call, Sleep))
                known = {"toolCallId": call, "status": "in_progress"}
                await world.agent.until(
                    lambda: _has(world, running, known) or running.answer.done(), PATIENCE, f"the start of {call}"
                )
            case "stream":
                assert gate is not None
                assert await asyncio.to_thread(gate.reached.wait, PATIENCE), f"{name} never came to its gate"

    return Cut(place, running, asyncio.ensure_future(reach()), chance.random() < 0.7)


async def cancel(world: World, cut: Cut) -> None:
    """Cancel a turn; the editor withdraws its questions, or not, or answers them when all is over."""
    running = cut.running
    await cut.reached
    world.agent.answers_on_cancel = cut.withdraws
    is_over = running.answer.done()
    world.agent.cancel(running.session.id)
    answer = await world.agent.answer(running.answer, f"the cancelled {running.turn.name}", PATIENCE)
    if cut.place != "frames" and not is_over:
        assert answer["stopReason"] == "cancelled", answer
    world.model.let_go()
    world.took(running)
    if answer["stopReason"] == "end_turn":
        fold_whole(world, running)
    else:
        assert answer["stopReason"] == "cancelled", answer
        running.turn.end = "cancelled"
        fold_cut(world, running)
    if not cut.withdraws:
        world.agent.answer_late(running.session.id, "allow_once")
    check_sent(world, running.session, running.turn)


async def _either(first: object, running: Running) -> None:
    waiting = asyncio.ensure_future(first)  # type: ignore[call-overload]
    await asyncio.wait((waiting, running.answer), timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


def _has(world: World, running: Running, known: dict[str, str]) -> bool:
    updates = (frame.update for frame in world.agent.frames[running.since :])
    return any(known.items() <= update.items() for update in updates)
