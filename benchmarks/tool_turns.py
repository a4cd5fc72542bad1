"""Turns with tools: what passes between two model requests, at the beginning of a long turn and at its end."""

from __future__ import annotations

import contextlib
import itertools
import statistics
import time

from benchmarks.client import Agent, AgentFailed
from benchmarks.figures import HERMES, RATIO, RAW, Quantity, Samples, Section
from benchmarks.stage import TURNS, Stage

_EDGE = 10
_PER_TURN = {
    "read_file": Quantity(f"a turn with one read_file, of {TURNS}", at_most=4),
    "terminal": Quantity(f"a turn with one command (true), of {TURNS}", at_most=15),
}
_FREE = Quantity("… without a sandbox", at_most=8)
_FLATNESS = {
    "read_file": Quantity(f"last {_EDGE} ÷ first {_EDGE} turns, read_file", RATIO, at_most=1.3),
    "terminal": Quantity(f"last {_EDGE} ÷ first {_EDGE} turns, command", RATIO, at_most=1.3),
}
_REACHES_MODEL = Quantity("prompt → request at the model, warm", at_most=3)


def measure(stage: Stage) -> Section:
    samples = Samples()
    with contextlib.ExitStack() as running:
        agents = {name: running.enter_context(stage.start(name, asks_model=True)) for name in (HERMES, RAW)}
        free = running.enter_context(stage.start(HERMES, settings="free"))
        free.prompt(free.open(), stage.model.plan("stream", 1)[1])
        sessions = {name: agent.open() for name, agent in agents.items()}
        for name, agent in agents.items():
            agent.prompt(sessions[name], stage.model.plan("stream", 1)[1])
        for _ in range(stage.repetitions.prompts):
            for name, agent in agents.items():
                samples.add(_REACHES_MODEL, name, _until_request(stage, agent, sessions[name]))
        for _ in range(stage.repetitions.tool_runs):
            for tool, (name, agent) in itertools.product(_PER_TURN, agents.items()):
                _tool_run(stage, agent, tool, (name, samples))
            samples.add(_FREE, HERMES, statistics.median(times_between_requests(stage, free, "terminal", TURNS)))
            samples.add(_FREE, RAW, statistics.median(times_between_requests(stage, agents[RAW], "terminal", TURNS)))
    quantities = (*_PER_TURN.values(), _FREE, *_FLATNESS.values(), _REACHES_MODEL)
    return samples.section("Turns", quantities)


def _until_request(stage: Stage, agent: Agent, session: str) -> float:
    run, prompt = stage.model.plan("stream", 1)
    started = time.monotonic()
    agent.prompt(session, prompt)
    return 1000 * (stage.model.record(run).arrivals[0] - started)


def _tool_run(stage: Stage, agent: Agent, tool: str, to: tuple[str, Samples]) -> None:
    contender, samples = to
    turns = times_between_requests(stage, agent, tool, TURNS)
    samples.add(_PER_TURN[tool], contender, statistics.median(turns))
    flatness = statistics.median(turns[-_EDGE:]) / statistics.median(turns[:_EDGE])
    samples.add(_FLATNESS[tool], contender, flatness)


def times_between_requests(stage: Stage, agent: Agent, tool: str, count: int) -> list[float]:
    """Milliseconds from each request at the model to the next, in a prompt of `count` calls in a new session."""
    run, prompt = stage.model.plan(tool, count)
    session = agent.new_session().result["sessionId"]
    agent.take_updates()
    agent.prompt(session, prompt)
    completed = sum(b'"status":"completed"' in update.line.replace(b" ", b"") for update in agent.take_updates())
    if completed != count:
        raise AgentFailed(f"{completed} of {count} calls of {tool} were completed")
    return [1000 * (later - sooner) for sooner, later in itertools.pairwise(stage.model.record(run).arrivals)]
