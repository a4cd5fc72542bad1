"""A client that makes one button of all answers of a kind, and sends the last of them."""

from __future__ import annotations

import json

from tests.support.editor_policies import allow, in_turn, press
from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()


@scenario.only("collapsing")
async def collapsed_always(stage: Stage) -> None:
    """The button "always" covers the same file in this session: another file and another session are asked about."""
    await stage.begin()
    stage.agent.on_permission = in_turn(press("allow_always"), press("reject_once"))
    await stage.prompt("edit sums.py a - b => a + b", "edit sums.py a + b => b + a", "edit README.md small => tiny")
    await stage.open()
    await stage.prompt("edit sums.py b + a => a + b", "say So.")


@scenario.only("collapsing")
async def collapsed_always_for_a_command(stage: Stage) -> None:
    """The same of a risky command: the button covers that command alone."""
    await stage.begin()
    stage.agent.on_permission = in_turn(press("allow_always"), press("reject_always"))
    await stage.prompt("run rm -f a.py", "run rm -f a.py", "run rm -f b.py", "run rm -f b.py", "say So.")


@scenario.only("collapsing")
async def collapsed_plan(stage: Stage) -> None:
    """No button begins with a plan and edits without asking."""
    await stage.begin()
    await stage.choose("session/set_mode", modeId="plan")
    stage.agent.on_permission = in_turn(press("allow_once"), allow)
    plan = json.dumps({"plan": "1. Fix the sum"})
    await stage.prompt(f"call exit_plan_mode {plan}", "edit sums.py a - b => a + b", "say So.")


@scenario.only("collapsing")
async def collapsed_with_more(stage: Stage) -> None:
    """Where there are forms, one behind the button has the wider answers; who does not choose has the narrowest."""
    await stage.greet(elicitation={"form": {}})
    await stage.open()
    stage.agent.on_permission = press("allow_always")
    stage.fill(None)
    await stage.prompt("edit README.md small => tiny", "edit README.md tiny => small")
    stage.fill({"reach": "Always allow edits in workspace/ (this session)"})
    await stage.prompt("edit sums.py a - b => a + b", "edit tests/test_sums.py 4 => 0", "say So.")


@scenario.only("collapsing")
async def collapsed_and_widened(stage: Stage) -> None:
    """A yes from a button is made to reach further by a command."""
    await stage.begin()
    stage.agent.on_permission = press("allow_always")
    await stage.prompt("edit sums.py a - b => a + b")
    await stage.prompt("/permissions")
    await stage.prompt("/permissions widen 1 a")
    await stage.prompt("edit README.md small => tiny", "say So.")


@scenario.only("collapsing")
async def option_names_said(stage: Stage) -> None:
    """A client that says it shows the names of answers gets every one."""
    await stage.greet(_meta={"hermes": {"optionNames": True}})
    await stage.open()
    await stage.prompt("edit sums.py a - b => a + b")
