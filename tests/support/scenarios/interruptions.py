"""Cancelling, queueing, and closing while something runs."""

from __future__ import annotations

from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()


@scenario
async def cancel_an_answer(stage: Stage) -> None:
    """A cancelled answer ends as cancelled, with what was said."""
    await stage.begin()
    turn = stage.begin_prompt("say so", "sleep 60", "say far")
    await stage.until_text("so\n")
    stage.agent.cancel(stage.session)
    await stage.agent.answer(turn)
    await stage.prompt("say next")


@scenario
async def cancel_a_command(stage: Stage) -> None:
    """A cancelled command is failed, with what it printed so far."""
    await stage.begin()
    turn = stage.begin_prompt("run echo started; sleep 60", "say never")
    await stage.until_output()
    stage.agent.cancel(stage.session)
    await stage.agent.answer(turn)


@scenario
async def cancel_nothing(stage: Stage) -> None:
    """A cancel while nothing runs changes nothing; for a session that is not there neither."""
    await stage.begin()
    stage.agent.cancel(stage.session)
    stage.agent.cancel("ses_of_nobody")
    await stage.prompt("say here")


@scenario
async def cancel_request(stage: Stage) -> None:
    """$/cancel_request ends the one prompt that it names, as cancelled."""
    await stage.begin()
    turn = stage.begin_prompt("say so", "sleep 60")
    await stage.until_text("so\n")
    running = [frame.id for frame in stage.agent.frames if frame.ours and frame.method == "session/prompt"]
    stage.agent.notify("$/cancel_request", {"requestId": running[-1]})
    await stage.agent.answer(turn)


@scenario
async def queued_prompts(stage: Stage) -> None:
    """A prompt that comes while another runs waits for it; each is answered at its own end."""
    await stage.begin()
    first = stage.begin_prompt("say one", "sleep 0.2", "say two")
    await stage.until_text("one\n")
    second = stage.begin_prompt("say three")
    await stage.agent.answer(first)
    await stage.agent.answer(second)


@scenario
async def cancel_the_queue(stage: Stage) -> None:
    """A cancel ends the running prompt and those that wait behind it; one sent afterwards runs."""
    await stage.begin()
    first = stage.begin_prompt("say one", "sleep 60")
    await stage.until_text("one\n")
    second = stage.begin_prompt("say two")
    stage.agent.cancel(stage.session)
    await stage.agent.answer(first)
    await stage.agent.answer(second)
    await stage.prompt("say three")


@scenario
async def close_while_running(stage: Stage) -> None:
    """Closing a session cancels its turn first; afterwards it is not there."""
    await stage.begin()
    turn = stage.begin_prompt("say one", "sleep 60")
    await stage.until_text("one\n")
    await stage.ask("session/close")
    await stage.agent.answer(turn)
    await stage.refused("session/prompt", {"sessionId": stage.session, "prompt": [{"type": "text", "text": "say x"}]})
