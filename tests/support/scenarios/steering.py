"""Words for a turn that runs, and prompts for afterwards."""

from __future__ import annotations

from typing import Any

from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()

_HELD = "run echo started; until [ -e go ]; do sleep 0.01; done"
"""A command that ends when the file `go` is there."""


def _words(stage: Stage, text: str, **meta: Any) -> dict[str, Any]:
    return {"sessionId": stage.session, "prompt": [{"type": "text", "text": text}], **meta}


@scenario
async def steering(stage: Stage) -> None:
    """The community's method: words reach the running turn, and are shown again when the session is loaded."""
    await stage.begin()
    turn = stage.begin_prompt(_HELD, "say Done.")
    await stage.until_output()
    await stage.agent.request("_session/steering", _words(stage, "say I look at the tests only."))
    stage.write("go", "")
    await stage.agent.answer(turn)
    await stage.reconnect()
    await stage.load()


@scenario
async def steering_without_a_turn(stage: Stage) -> None:
    """Where no turn runs, a client that says so is told to prompt by itself; words must be words."""
    await stage.begin()
    await stage.prompt("say one")
    meta = {"_meta": {"steering": {"idleBehavior": "promptRequired"}}}
    await stage.agent.request("_session/steering", _words(stage, "say nothing", **meta))
    await stage.refused("_session/steering", _words(stage, " "))


@scenario
async def steering_begins_a_turn(stage: Stage) -> None:
    """Where no turn runs, a turn begins that nobody waits for, unless the client says that it prompts by itself."""
    await stage.begin()
    await stage.prompt("say one")
    await stage.agent.request("_session/steering", _words(stage, "say two"))
    await stage.until_text("two\n")
    await stage.prompt("say three")


@scenario
async def slash_steer(stage: Stage) -> None:
    """/steer is answered at once, while the turn that it is for goes on."""
    await stage.begin()
    turn = stage.begin_prompt(_HELD, "say Done.")
    await stage.until_output()
    await stage.prompt("/steer say I look at the tests only.")
    stage.write("go", "")
    await stage.agent.answer(turn)
    await stage.prompt("/steer say No turn runs, so this is a prompt.")
    await stage.prompt("/steer")


@scenario
async def slash_steer_with_notices(stage: Stage) -> None:
    """A client that takes notices is told so that the words were passed on."""
    await stage.greet_with_notices()
    await stage.open()
    turn = stage.begin_prompt(_HELD, "say Done.")
    await stage.until_output()
    await stage.prompt("/steer say I look at the tests only.")
    stage.write("go", "")
    await stage.agent.answer(turn)


@scenario
async def slash_queue(stage: Stage) -> None:
    """/queue sends its prompt when the running one is over."""
    await stage.begin()
    first = stage.begin_prompt(_HELD, "say one")
    await stage.until_output()
    second = stage.begin_prompt("/queue say two")
    stage.write("go", "")
    await stage.agent.answer(first)
    await stage.agent.answer(second)
