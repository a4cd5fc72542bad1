"""What failing model servers cost: a cancel while they fail, and a failure that the turn outlasts.

The floors outlast nothing: they show what a cancel costs on the wire.
"""

from __future__ import annotations

import contextlib
import time

from benchmarks.cancel import cancel, cancel_floor
from benchmarks.client import Agent
from benchmarks.figures import HERMES, RAW, SDK, Quantity, Samples, Section
from benchmarks.stage import Stage

_WAITING = Quantity("cancel while waiting to retry → answer", at_most=20)
_SILENT = Quantity("cancel while the server is silent → answer", at_most=20)
_OUTLASTED = Quantity("a turn that outlasts one 503 without Retry-After")
_SECONDS_TO_WAIT = 200


def measure(stage: Stage) -> Section:
    samples = Samples()
    with contextlib.ExitStack() as running:
        agent = running.enter_context(stage.start(HERMES, asks_model=True))
        floors = {name: running.enter_context(stage.start(name)) for name in (RAW, SDK)}
        session = agent.open()
        sessions = {name: floor.open() for name, floor in floors.items()}
        for round_number in range(1 + stage.repetitions.cancels):
            found = samples if round_number else Samples()
            found.add(_WAITING, HERMES, _in_wait(stage, agent, session))
            found.add(_SILENT, HERMES, _in_silence(stage, agent, session))
            for name, floor in floors.items():
                for quantity in (_WAITING, _SILENT):
                    found.add(quantity, name, cancel_floor(floor, sessions[name]))
        for _ in range(stage.repetitions.cancels):
            samples.add(_OUTLASTED, HERMES, _outlasting(stage, agent, session))
    return samples.section("Faults", (_WAITING, _SILENT, _OUTLASTED))


def _in_wait(stage: Stage, agent: Agent, session: str) -> float:
    agent.take_updates()
    prompt = agent.send_prompt(session, stage.model.plan("limit", _SECONDS_TO_WAIT)[1])
    agent.wait(lambda: any(b"Trying again" in update.line for update in agent.updates), "its notice of a retry")
    time.sleep(0.01)  # the notice goes out just before the wait
    return cancel(agent, session, prompt)


def _in_silence(stage: Stage, agent: Agent, session: str) -> float:
    run, text = stage.model.plan("silent", 0)
    prompt = agent.send_prompt(session, text)
    while not stage.model.record(run).arrivals:
        time.sleep(0.002)
    return cancel(agent, session, prompt)


def _outlasting(stage: Stage, agent: Agent, session: str) -> float:
    """Nearly all of it is the wait before the second attempt, which is at random."""
    text = stage.model.plan("overloaded", 1)[1]
    started = time.monotonic()
    return 1000 * (agent.prompt(session, text).at - started)
