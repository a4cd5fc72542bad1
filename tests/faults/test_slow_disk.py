"""A disk that is slow, or hangs: the connection does not wait for it, and all is stored when it answers."""

from __future__ import annotations

import asyncio

import pytest

from tests.faults.fault import HANG, SLOW, Fault
from tests.faults.stage import Stage
from tests.support.waiting import wait_until

_CALLS = ("os.replace", "os.fsync", "os.link", "sqlite.write", "sqlite.fdatasync", "sqlite.fsync", "sqlite.read")


@pytest.mark.long
async def test_a_slow_disk_makes_a_turn_slow_and_nothing_else(stage: Stage) -> None:
    agent = await stage.start(*(Fault(call, SLOW) for call in _CALLS), armed=True)
    await stage.open(agent)
    await stage.say(agent, "write made.txt text\nrun echo ran\nsay First.")
    assert stage.struck()
    await agent.close(expect=0, within=20)
    again = await stage.start()
    await stage.open(again)
    stage.check_view(again)
    stage.check_database()


@pytest.mark.long
async def test_while_the_disk_hangs_a_cancel_is_answered_and_afterwards_all_is_stored(stage: Stage) -> None:
    agent = await stage.start(Fault("sqlite.write", HANG, path="hermes-acp.db"))
    await stage.open(agent)
    await stage.say(agent, "say First.")
    stage.armed.touch()
    turn = agent.begin_prompt(stage.session, "say Second.\nrun echo ran")
    await asyncio.to_thread(wait_until, lambda: bool(stage.struck()))
    activity = await agent.request("_hermes/session/activity", {"sessionId": stage.session})
    assert activity is not None
    agent.cancel(stage.session)
    assert (await agent.answer(turn))["stopReason"] == "cancelled"
    await agent.request("_hermes/session/activity", {"sessionId": stage.session})
    assert stage.armed.exists()
    stage.armed.unlink()
    assert "Third." in await stage.say(agent, "say Third.")
    await agent.close(expect=0)
    again = await stage.start()
    await stage.open(again)
    stage.check_view(again)
    stage.check_database()
