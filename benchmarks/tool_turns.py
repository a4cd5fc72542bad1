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
    "read_file": Quantity(f"a turn with one read_file, of {TURNS}"),
    "terminal": Quantity(f"a turn with one command (true), of {TURNS}"),
}
_FLATNESS = {
    "read_file": Quantity(f"last {_EDGE} ÷ first {_EDGE} turns, read_file", RATIO),
    "terminal": Quantity(f"last {_EDGE} ÷ first {_EDGE} turns, command", RATIO),
}
_REACHES_MODEL = Quantity("prompt → request at the model, warm")


def measure(stage: Stage) -> Section:
    samples = Samples()
    with contextlib.ExitStack() as running:
        agents = {name: running.enter_context(stage.start(name, asks_model=True)) for name in (HERMES, RAW)}
        sessions = {name: agent.open() for name, agent in agents.items()}
        for name, agent in agents.items():
            agent.prompt(sessions[name], stage.model.plan("stream", 1)[1])
        for _ in range(stage.repetitions.prompts):
            for name, agent in agents.items():
                samples.add(_REACHES_MODEL, name, _until_request(stage, agent, sessions[name]))
        for _ in range(stage.repetitions.tool_runs):
            for tool, (name, agent) in itertools.product(_PER_TURN, agents.items()):
                _tool_run(stage, agent, tool, (name, samples))
    quantities = (*_PER_TURN.values(), *_FLATNESS.values(), _REACHES_MODEL)
    return samples.section("Turns", quantities)


def _until_request(stage: Stage, agent: Agent, session: str) -> float:
    run, prompt = stage.model.plan("stream", 1)
    started = time.monotonic()
    agent.prompt(session, prompt)
    return 1000 * (stage.model.record(run).arrivals[0] - started)


def _tool_run(stage: Stage, agent: Agent, tool: str, to: tuple[str, Samples]) -> None:
    """A turn is the time from one request at the model to the next."""
    contender, samples = to
    run, prompt = stage.model.plan(tool, TURNS)
    session = agent.new_session().result["sessionId"]
    agent.take_updates()
    agent.prompt(session, prompt)
    completed = sum(b'"status":"completed"' in update.line.replace(b" ", b"") for update in agent.take_updates())
    if completed != TURNS:
        raise AgentFailed(f"{completed} of {TURNS} calls of {tool} were completed")
    turns = [1000 * (later - sooner) for sooner, later in itertools.pairwise(stage.model.record(run).arrivals)]
    samples.add(_PER_TURN[tool], contender, statistics.median(turns))
    flatness = statistics.median(turns[-_EDGE:]) / statistics.median(turns[:_EDGE])
    samples.add(_FLATNESS[tool], contender, flatness)
