"""Random steps, each followed by a look at everything.

Our own driver and no hypothesis state machine: a step drives a real process, and where in a turn a kill or a cancel
meets it depends on that process too. Shrinking would run each sequence hundreds of times, at seconds each, and call
most of what it finds flaky. A run is named by its seed, and its steps can be cut short.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.model.invariants.files import check_files
from tests.model.invariants.remains import check_half_written, check_remains
from tests.model.invariants.stored import check_stored
from tests.model.lived import Lived
from tests.model.steps import choices, ends, life, midway, rewinds, turns
from tests.model.world import MOST_SESSIONS, World

_MOST_STORED = 6


@dataclass(frozen=True, slots=True)
class Step:
    """What may be done next, and how likely that is."""

    weight: int
    act: Callable[[], Awaitable[None]]


async def run(world: World, steps: int) -> None:
    """So many steps, from the agent's start to its end."""
    await world.start()
    await life.new(world)
    await check(world)
    for _ in range(steps):
        possible = _possible(world)
        (step,) = world.chance.choices(possible, [each.weight for each in possible])
        await step.act()
        await check(world)
    await last(world)
    await check_half_written(world)
    await world.process.end()
    if left := world.process.temporary():
        # On a busy machine the time to end was over first.
        for session in world.open_sessions():
            session.closed()
        await world.start()
        await last(world)
        await world.process.end()
        left = sorted({*left} & {*world.process.temporary()})
    assert not left, f"temporary files are left: {left}"


async def last(world: World) -> None:
    """A session with a command: what killed processes have left of temporary files goes with it."""
    await life.new(world)
    *_, session = world.sessions.values()
    await choices.choose_mode(world, session, "dont_ask")
    await turns.command(world, session)
    await check(world)


async def check(world: World) -> None:
    """All that must hold between steps."""
    await check_remains(world)
    check_files(world)
    world.reload_files()
    check_stored(world)


def _possible(world: World) -> list[Step]:
    chance, opened = world.chance, world.open_sessions()
    stored = list(world.sessions.values())
    found = [
        Step(2, lambda: ends.crash(world)),
        Step(1, lambda: ends.restart(world)),
        Step(1, lambda: life.listed(world)),
    ]
    if len(opened) < MOST_SESSIONS and len(stored) < _MOST_STORED:
        found.append(Step(3, lambda: life.new(world)))
    if stored:
        some = chance.choice(stored)
        found += [Step(4, lambda: life.load(world, some)), Step(2, lambda: life.resume(world, some))]
        found += [Step(1, lambda: life.delete(world, some))]
        if len(stored) < _MOST_STORED:
            found.append(Step(2, lambda: life.fork(world, some)))
    if opened:
        found += _in_session(world, chance.choice(opened))
        if world.process.has_own:
            found += _in_editor(world, chance.choice(opened))
    if len(opened) > 1:
        first, second = chance.sample(opened, 2)
        found.append(Step(4, lambda: _beside(world, first, second)))
    return found


def _in_session(world: World, session: Lived) -> list[Step]:
    return [
        Step(16, lambda: turns.whole(world, session)),
        Step(10, lambda: _cancelled(world, session)),
        Step(5, lambda: choices.mode(world, session)),
        Step(2, lambda: choices.edits(world, session)),
        Step(2, lambda: choices.model(world, session)),
        Step(3, lambda: midway.mode_at_question(world, session)),
        Step(3, lambda: midway.types_at_question(world, session)),
        Step(3, lambda: midway.behind(world, session)),
        Step(5, lambda: rewinds.undo(world, session)),
        Step(3, lambda: rewinds.redo(world, session)),
        Step(2, lambda: rewinds.foreign(world, session)),
        Step(2, lambda: life.close(world, session)),
        Step(2, lambda: midway.end_in_turn(world, session)),
        Step(2, lambda: midway.load_in_turn(world, session)),
    ]


def _in_editor(world: World, session: Lived) -> list[Step]:
    return [
        Step(3, lambda: choices.terminals(world, session)),
        Step(5, lambda: rewinds.types(world, session)),
        Step(2, lambda: rewinds.saves(world, session)),
    ]


async def _cancelled(world: World, session: Lived) -> None:
    await turns.cancel(world, turns.begin_cut(world, session, world.chance.choice(turns.PLACES)))


async def _beside(world: World, first: Lived, second: Lived) -> None:
    """Two sessions at work, of which one is cancelled."""
    cut = turns.begin_cut(world, first, world.chance.choice(turns.PLACES))
    await asyncio.gather(turns.whole(world, second), turns.cancel(world, cut))
