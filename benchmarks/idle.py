"""What a process does that nobody asks anything: nothing, one hopes. Watched after two prompts."""

from __future__ import annotations

import contextlib
import time

from benchmarks.client import Agent
from benchmarks.figures import CONTENDERS, OF_A_CORE, Quantity, Samples, Section
from benchmarks.process_facts import HAS_PROC
from benchmarks.stage import Stage

# Threads that nobody needs end after ten.
_SETTLING_SECONDS = 12.0
_WINDOWS = 2
_CPU = Quantity("idle: the processor's time", OF_A_CORE, at_most=0.05)
_WAKE_UPS = Quantity("idle: wake-ups in a second, of all threads", "", at_most=0)


def measure(stage: Stage) -> Section:
    samples = Samples()
    if HAS_PROC:
        with contextlib.ExitStack() as running:
            agents = {name: running.enter_context(stage.start(name)) for name in CONTENDERS}
            for agent in agents.values():
                session = agent.open()
                agent.prompt(session, "say Hello.")
                agent.prompt(session, "say Hello.")
            time.sleep(_SETTLING_SECONDS)
            for _ in range(_WINDOWS):
                _watch(agents, stage.repetitions.seconds, samples)
    return samples.section("Idle", (_CPU, _WAKE_UPS))


def _watch(agents: dict[str, Agent], seconds: float, samples: Samples) -> None:
    before = {name: (agent.threads_milliseconds(), agent.wake_ups()) for name, agent in agents.items()}
    time.sleep(seconds)
    for name, agent in agents.items():
        cpu, wakes = before[name]
        samples.add(_CPU, name, (agent.threads_milliseconds() - cpu) / (10 * seconds))
        samples.add(_WAKE_UPS, name, (agent.wake_ups() - wakes) / seconds)
