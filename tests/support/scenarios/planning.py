"""Plan mode: nothing is changed before the person has approved a plan."""

from __future__ import annotations

import json

from tests.support.editor_policies import allow, in_turn, pick
from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()


def _propose(*steps: str) -> str:
    plan = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    return f"call exit_plan_mode {json.dumps({'plan': plan})}"


@scenario
async def plan_approved(stage: Stage) -> None:
    """In plan mode an edit fails unasked; the approved plan changes the mode, and the same edit is asked for."""
    await stage.begin()
    await stage.choose("session/set_mode", modeId="plan")
    stage.agent.on_permission = in_turn(pick("plan_default"), allow)
    edit = "edit sums.py a - b => a + b"
    await stage.prompt("read sums.py", edit, _propose("Add instead of subtract."), edit, "say Done.")


@scenario
async def plan_approved_with_edits(stage: Stage) -> None:
    """A plan that is approved into accept_edits: its edits are not asked for."""
    await stage.begin()
    await stage.choose("session/set_mode", modeId="plan")
    stage.agent.on_permission = in_turn(pick("plan_accept_edits", "plan_default"), allow)
    await stage.prompt(_propose("Add instead of subtract."), "edit sums.py a - b => a + b", "say Done.")


@scenario
async def plan_revised(stage: Stage) -> None:
    """A rejected plan: who has forms can say what to change; the session stays in plan mode until one is approved."""
    await stage.begin()
    await stage.choose("session/set_mode", modeId="plan")
    stage.fill({"reason": "Test it first."})
    stage.agent.on_permission = in_turn(pick("plan_revise", "plan_reject"), pick("plan_accept_edits", "plan_default"))
    await stage.prompt(_propose("Mend it."), _propose("Test it.", "Mend it."), "say I begin.")


@scenario
async def no_plan_to_leave(stage: Stage) -> None:
    """Outside plan mode there is no plan to approve: the call fails and asks nobody."""
    await stage.begin()
    await stage.prompt(_propose("Mend it."), "say So I just do it.")
