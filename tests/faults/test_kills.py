"""kill -9 at each named point: what was acknowledged is there again, nothing is half, and the session goes on."""

from __future__ import annotations

import asyncio
import os
import random

import pytest

from tests.faults.fault import HALF
from tests.faults.points import POINTS, Point
from tests.faults.scenes import SCENES
from tests.faults.stage import Stage, told
from tests.support.chaos_remains import eventually
from tests.support.editor import PLAIN, AgentGone

SEED = os.environ.get("FAULTS_SEED") or str(random.randrange(1_000_000))
_A_FEW = 5


@pytest.mark.slow
@pytest.mark.parametrize("name", POINTS)
async def test_whatever_was_acknowledged_outlasts_a_kill(stage: Stage, name: str) -> None:
    await _kill_at(stage, POINTS[name])


@pytest.mark.long
@pytest.mark.parametrize("number", range(_A_FEW))
async def test_a_kill_at_one_of_the_points_loses_nothing(stage: Stage, number: int) -> None:
    name = random.Random(SEED).sample(list(POINTS), _A_FEW)[number]
    with told(f"FAULTS_SEED={SEED}, {name}"):
        await _kill_at(stage, POINTS[name])


async def _kill_at(stage: Stage, point: Point) -> None:
    scene = SCENES[point.scene]
    await asyncio.to_thread(scene.prepare, stage)
    stage.arguments = ("--offline", *scene.arguments(stage))
    # The last line may be cut in the middle, as whatever a killed process was writing.
    agent = await stage.start(point.fault, armed=scene.at_start, check=point.fault.act != HALF)
    if not scene.at_start:
        await stage.open(agent)
        await scene.before(stage, agent)
        stage.armed.touch()
    try:
        await scene.act(stage, agent)
        await agent.exit_code(20)
    except AgentGone:
        pass
    assert (await agent.exit_code(), stage.struck()) == (-9, [0]), agent.stderr
    await stage.check_gone()

    again = await stage.start()
    stage.arguments = ("--offline",)
    await again.initialize(PLAIN)
    await scene.greeted(stage, again)
    if stage.session and stage.answered:
        await again.load_session(stage.session, stage.workspace)
        scene.shown(stage, stage.check_view(again))
    else:
        stage.session = await again.new_session(stage.workspace)
    await scene.holds(stage, again)
    assert "Still here." in await stage.say(again, "say Still here.")
    await scene.settled(stage, again)
    # What a killed process has left half done is cleared away once nothing is written for a second.
    await eventually(lambda: not stage.leftovers(), stage.leftovers)
    await again.close(expect=0)
    stage.check_database()
    await stage.check_gone()
