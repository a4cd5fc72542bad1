"""A long answer in small pieces, as fast as the model sends it; the text is compared each time."""

from __future__ import annotations

import contextlib
import time

from benchmarks.client import Agent, check_text
from benchmarks.figures import CONTENDERS, HERMES, RAW, Quantity, Samples, Section
from benchmarks.stage import Stage

_DELTAS = 20_000
_ASKED = Quantity(f"{_DELTAS:,} deltas of 8 bytes from a model server", at_most=333)
_PLAYED = Quantity(f"{_DELTAS:,} deltas of 8 bytes, model played inside", at_most=333)


def measure(stage: Stage) -> Section:
    samples = Samples()
    with contextlib.ExitStack() as running:
        asking = {name: running.enter_context(stage.start(name, asks_model=True)) for name in (HERMES, RAW)}
        playing = {name: running.enter_context(stage.start(name)) for name in CONTENDERS}
        for agent in asking.values():
            agent.prompt(agent.open(), stage.model.plan("stream", 1)[1])
        for agent in playing.values():
            agent.prompt(agent.open(), "stream 1")
        for _ in range(stage.repetitions.streams):
            for name, agent in asking.items():
                samples.add(_ASKED, name, _stream(agent, stage.model.plan("stream", _DELTAS)[1]))
            for name, agent in playing.items():
                samples.add(_PLAYED, name, _stream(agent, f"stream {_DELTAS}"))
    return samples.section("Streaming", (_ASKED, _PLAYED))


def _stream(agent: Agent, prompt: str) -> float:
    """Milliseconds from the prompt to its answer."""
    session = agent.new_session().result["sessionId"]
    agent.take_updates()
    started = time.monotonic()
    answer = agent.prompt(session, prompt)
    check_text(agent.take_updates(), session, _DELTAS)
    return 1000 * (answer.at - started)
