"""Many sessions whose models write as models do, 50 deltas a second each: how late is what the editor gets?

The model server notes when it sent each delta, the client when its bytes came out of the agent; both by the machine's
monotonic clock. The deltas of the sessions are spread over the interval, as those of 32 people would be.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Iterator, Sequence

from benchmarks.client import Agent, AgentFailed, Update
from benchmarks.figures import HERMES, OF_A_CORE, RAW, Quantity, Samples, Section
from benchmarks.process_facts import HAS_PROC
from benchmarks.stage import Stage

_SESSIONS = 32
_PER_SECOND = 50
_WIDTH = 8
_MEDIAN = Quantity(f"delta → stdout, {_SESSIONS} sessions of {_PER_SECOND} a second, p50", at_most=1)
_LATE = Quantity(f"delta → stdout, {_SESSIONS} sessions of {_PER_SECOND} a second, p99", at_most=5)
_CPU = Quantity("… the processor's time meanwhile", OF_A_CORE, at_most=35)


def measure(stage: Stage) -> Section:
    samples = Samples()
    with contextlib.ExitStack() as running:
        agents = {name: running.enter_context(stage.start(name, asks_model=True)) for name in (HERMES, RAW)}
        sessions = {name: _open(stage, agent) for name, agent in agents.items()}
        for _ in range(stage.repetitions.long_runs):
            for name, agent in agents.items():
                _round(stage, agent, sessions[name], (name, samples))
    return samples.section("Paced streams", (_MEDIAN, _LATE, _CPU))


def _open(stage: Stage, agent: Agent) -> list[str]:
    agent.prompt(agent.open(), stage.model.plan("stream", 1)[1])
    requests = [agent.send_new_session() for _ in range(_SESSIONS)]
    return [agent.answer(request).result["sessionId"] for request in requests]


def _round(stage: Stage, agent: Agent, sessions: Sequence[str], to: tuple[str, Samples]) -> None:
    contender, samples = to
    agent.take_updates()
    deltas = int(stage.repetitions.seconds * _PER_SECOND)
    plans = {session: stage.model.plan("paced", deltas) for session in sessions}
    started, used = time.monotonic(), agent.cpu_milliseconds() if HAS_PROC else 0.0
    requests = [agent.send_prompt(session, prompt) for session, (_, prompt) in plans.items()]
    for request in requests:
        agent.answer(request)
    milliseconds = 1000 * (time.monotonic() - started)
    if HAS_PROC:
        samples.add(_CPU, contender, 100 * (agent.cpu_milliseconds() - used) / milliseconds)
    sent = {session: stage.model.record(run).sent for session, (run, _) in plans.items()}
    late = [1000 * (at - sent[session][number]) for session, number, at in _arrived(agent.take_updates())]
    if len(late) != deltas * _SESSIONS:
        raise AgentFailed(f"{len(late)} deltas came of {deltas * _SESSIONS}")
    samples.add(_MEDIAN, contender, statistics.median(late))
    samples.add(_LATE, contender, statistics.quantiles(late, n=100)[98])


def _arrived(updates: Sequence[Update]) -> Iterator[tuple[str, int, float]]:
    """Each delta: its session, its number, and when it came. One update may hold several."""
    for update in updates:
        params = update.params()
        if params["update"]["sessionUpdate"] == "agent_message_chunk":
            text = params["update"]["content"]["text"]
            for place in range(0, len(text), _WIDTH):
                yield params["sessionId"], int(text[place : place + _WIDTH]), update.at
