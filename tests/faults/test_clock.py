"""A clock that jumps by a day: order, waits and leases do not follow it."""

from __future__ import annotations

import pytest

from tests.faults.stage import Stage

_DAY = 86_400


@pytest.mark.long
@pytest.mark.parametrize("days", [1, -1])
async def test_a_clock_that_jumps_changes_no_order_and_ends_nothing(stage: Stage, days: int) -> None:
    stage.clock = stage.scratch / "clock"
    stage.clock.write_text("0")
    agent = await stage.start()
    await stage.open(agent)
    await stage.say(agent, "say First.")
    # In the middle of a turn, too: neither its command nor its store takes the jump for time that went by.
    gate = stage.workspace / "gate"
    turn = agent.begin_prompt(
        stage.session, f"run while ! test -e {gate}; do sleep 0.05; done; echo ended\nsay Second."
    )
    await agent.wait_for_update(stage.session, "tool_call_update", status="in_progress")
    stage.clock.write_text(str(days * _DAY))
    gate.touch()
    assert (await agent.answer(turn))["stopReason"] == "end_turn"
    await stage.say(agent, "say Third.")
    other = await agent.new_session(stage.workspace)
    await agent.prompt(other, "say Other.")
    listed = [each["sessionId"] for each in (await agent.request("session/list", {}))["sessions"]]
    assert set(listed) == {stage.session, other}
    await agent.close(expect=0)

    # The clock is right again, and what was stored has times of another day.
    stage.clock = None
    again = await stage.start()
    await stage.open(again)
    view = stage.check_view(again)
    said = [word for word in "".join(view.texts()).split() if word in {"First.", "Second.", "Third."}]
    assert said == ["First.", "Second.", "Third."]
    await stage.say(again, "say Fourth.")
    stage.check_database()


@pytest.mark.long
async def test_a_killed_process_with_a_clock_that_was_ahead_holds_no_session(stage: Stage) -> None:
    stage.clock = stage.scratch / "clock"
    stage.clock.write_text(str(30 * _DAY))
    agent = await stage.start()
    await stage.open(agent)
    await stage.say(agent, "say First.")
    await agent.kill()
    stage.clock = None
    again = await stage.start()
    await stage.open(again)
    await stage.say(again, "say Second.")
