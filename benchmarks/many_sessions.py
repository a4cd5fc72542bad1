"""One process with many sessions: how fast they open, and whether all move when all stream."""

from __future__ import annotations

import contextlib
import statistics
import time

from benchmarks.client import Agent, check_text
from benchmarks.figures import CONTENDERS, HERMES, MEGABYTES, RATIO, RAW, Quantity, Samples, Section
from benchmarks.stage import Stage

_SESSIONS = 32
_DELTAS = 500
_OPEN = Quantity(f"{_SESSIONS} × session/new, sent at once", at_most=150)
_STREAM = Quantity(f"{_SESSIONS} sessions × {_DELTAS} deltas at once", at_most=500)
_FAIRNESS = Quantity("slowest session ÷ median of these", RATIO, at_most=1.3)
_MEMORY = Quantity(f"resident after these {_SESSIONS} sessions", MEGABYTES, at_most=90)


def measure(stage: Stage) -> Section:
    samples = Samples()
    with contextlib.ExitStack() as running:
        agents = {
            name: running.enter_context(stage.start(name, asks_model=name != CONTENDERS[-1])) for name in CONTENDERS
        }
        for agent in agents.values():
            agent.prompt(agent.open(), stage.model.plan("stream", 1)[1])
        for round_number in range(stage.repetitions.crowds):
            for name, agent in agents.items():
                sessions = _open_all(agent, (name, samples))
                if name in (HERMES, RAW):
                    _stream_all(stage, agent, sessions, (name, samples))
                    if round_number == 0:
                        samples.add(_MEMORY, name, agent.resident_megabytes())
    return samples.section("Many sessions", (_OPEN, _STREAM, _FAIRNESS, _MEMORY))


def _open_all(agent: Agent, to: tuple[str, Samples]) -> list[str]:
    contender, samples = to
    started = time.monotonic()
    answers = [agent.answer(request) for request in [agent.send_new_session() for _ in range(_SESSIONS)]]
    samples.add(_OPEN, contender, 1000 * (max(answer.at for answer in answers) - started))
    return [answer.result["sessionId"] for answer in answers]


def _stream_all(stage: Stage, agent: Agent, sessions: list[str], to: tuple[str, Samples]) -> None:
    contender, samples = to
    agent.take_updates()
    prompts = [stage.model.plan("stream", _DELTAS)[1] for _ in sessions]
    started = time.monotonic()
    requests = [agent.send_prompt(session, prompt) for session, prompt in zip(sessions, prompts, strict=True)]
    times = [1000 * (agent.answer(request).at - started) for request in requests]
    updates = agent.take_updates()
    for session in sessions:
        check_text(updates, session, _DELTAS)
    samples.add(_STREAM, contender, max(times))
    samples.add(_FAIRNESS, contender, max(times) / statistics.median(times))
