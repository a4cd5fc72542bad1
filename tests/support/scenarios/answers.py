"""What a model says: text, thoughts, usage, and the ways in which it stops."""

from __future__ import annotations

from tests.support.model_server import Reply, Status, Usage
from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()


@scenario
async def plain_answer(stage: Stage) -> None:
    """An answer is text of one message; the session gets a title from the first prompt."""
    await stage.begin()
    await stage.prompt("say Hello there.")


@scenario
async def thoughts(stage: Stage) -> None:
    """Reasoning has chunks of its own kind, before the answer."""
    await stage.begin()
    await stage.prompt("think It is a greeting.", "say Hello.")


@scenario
async def two_turns(stage: Stage) -> None:
    """Each turn's messages have ids of their own."""
    await stage.begin()
    await stage.prompt("say one")
    await stage.prompt("say two")


@scenario
async def text_around_a_tool(stage: Stage) -> None:
    """Text before and after a tool call belongs to two messages."""
    await stage.begin()
    await stage.prompt("say First I look.", "read sums.py", "say It subtracts.")


@scenario
async def usage(stage: Stage) -> None:
    """With a model whose counts and window are known, each request tells how full the window is."""
    stage.model(
        Reply(reasoning="Short.", text="Hello.", usage=Usage(prompt=1200, completion=30)),
        model={"context_length": 100_000},
    )
    await stage.begin()
    await stage.prompt("Greet me.")


@scenario
async def length_limit(stage: Stage) -> None:
    """An answer that its length limit cuts off ends as max_tokens."""
    stage.model(default=Reply(text="It goes on and", finish_reason="length"))
    await stage.begin()
    await stage.prompt("Tell me everything.")


@scenario
async def refusal(stage: Stage) -> None:
    """A model that refuses ends the turn as refusal."""
    stage.model(default=Reply(text="", finish_reason="content_filter"))
    await stage.begin()
    await stage.prompt("Do what you must not.")


@scenario
async def turn_limit(stage: Stage) -> None:
    """A turn that comes to the most requests it may make ends as max_turn_requests."""
    stage.settings(agent={"max_turns": 2})
    await stage.begin()
    await stage.prompt("read sums.py", "read README.md", "say never")


@scenario
async def key_refused(stage: Stage) -> None:
    """A key that the model's server refuses is an error that says what to do, never an empty end."""
    stage.model(default=Status(401, "Incorrect API key provided"))
    await stage.begin()
    await stage.refused("session/prompt", {"sessionId": stage.session, "prompt": [{"type": "text", "text": "Hi."}]})


@scenario
async def model_fails(stage: Stage) -> None:
    """A failure after some text: what was said stays, the error tells the rest, and the session goes on."""
    await stage.begin()
    script = [{"type": "text", "text": "say So far so good.\nfail 400"}]
    await stage.refused("session/prompt", {"sessionId": stage.session, "prompt": script})
    await stage.prompt("say and on")


@scenario
async def empty_prompt(stage: Stage) -> None:
    """A prompt with nothing in it is refused."""
    await stage.begin()
    await stage.refused("session/prompt", {"sessionId": stage.session, "prompt": []})
