"""From the start of the process to each first answer, and from the end of input to its end."""

from __future__ import annotations

import os
import time

from benchmarks.figures import CONTENDERS, HERMES, RAW, Quantity, Samples, Section
from benchmarks.stage import Stage

_TYPING_SECONDS = 2.0
_INITIALIZE = Quantity("spawn → initialize answered", at_most=100)
_SESSION = Quantity("spawn → session/new answered", at_most=250)
_NEW_SETTINGS = Quantity("spawn → session/new answered, settings changed since")
_TEXT = Quantity("spawn → first text, model played inside", at_most=600)
_TEXT_MODEL = Quantity("spawn → first text, from a model server", at_most=600)
_REQUEST = Quantity("first prompt, 2 s after session/new → request at the model")
_PAUSED_TEXT = Quantity("first prompt, 2 s after session/new → first text", at_most=20)
_END = Quantity("end of input → process gone", at_most=60)


def measure(stage: Stage) -> Section:
    samples = Samples()
    for contender in CONTENDERS:
        _start(stage, contender, Samples())  # the system's file cache is warm, and every .pyc is there
    _first_request_after_pause(stage, HERMES, Samples())  # and the home has been worked in, as at all starts but one
    _start(stage, HERMES, Samples(), pause=_TYPING_SECONDS)
    for _ in range(stage.repetitions.starts):
        for contender in CONTENDERS:
            _start(stage, contender, samples)
        for contender in (HERMES, RAW):
            _first_text_from_model(stage, contender, samples)
        _session_with_new_settings(stage, samples)
    for _ in range(stage.repetitions.slow_starts):
        for contender in (HERMES, RAW):
            _first_request_after_pause(stage, contender, samples)
    return samples.section(
        "Start and end", (_INITIALIZE, _SESSION, _NEW_SETTINGS, _TEXT, _TEXT_MODEL, _REQUEST, _PAUSED_TEXT, _END)
    )


def _start(stage: Stage, contender: str, samples: Samples, pause: float = 0.0) -> None:
    with stage.start(contender) as agent:
        initialized = agent.initialize()
        session = agent.new_session()
        prompt = agent.send_prompt(session.result["sessionId"], "say Hello.")
        text = agent.first_text()
        agent.answer(prompt)
        time.sleep(pause)
        end = agent.close()
    samples.add(_INITIALIZE, contender, 1000 * (initialized.at - agent.spawned))
    samples.add(_SESSION, contender, 1000 * (session.at - agent.spawned))
    samples.add(_TEXT, contender, 1000 * (text.at - agent.spawned))
    samples.add(_END, contender, 1000 * end)


def _session_with_new_settings(stage: Stage, samples: Samples) -> None:
    """What a new session shows is not known from last time."""
    os.utime(stage.home() / "config.yaml")
    with stage.start(HERMES) as agent:
        agent.initialize()
        session = agent.new_session()
        time.sleep(_TYPING_SECONDS)  # the next start knows it again
        agent.close()
    samples.add(_NEW_SETTINGS, HERMES, 1000 * (session.at - agent.spawned))


def _first_text_from_model(stage: Stage, contender: str, samples: Samples) -> None:
    with stage.start(contender, asks_model=True) as agent:
        agent.initialize()
        session = agent.new_session().result["sessionId"]
        prompt = agent.send_prompt(session, stage.model.plan("stream", 1)[1])
        text = agent.first_text()
        agent.answer(prompt)
        agent.close()
    samples.add(_TEXT_MODEL, contender, 1000 * (text.at - agent.spawned))


def _first_request_after_pause(stage: Stage, contender: str, samples: Samples) -> None:
    """What the user waits for who has typed a while: whatever can be loaded before, should be."""
    run, prompt = stage.model.plan("stream", 1)
    with stage.start(contender, asks_model=True) as agent:
        agent.initialize()
        session = agent.new_session().result["sessionId"]
        time.sleep(_TYPING_SECONDS)
        started = time.monotonic()
        request = agent.send_prompt(session, prompt)
        text = agent.first_text()
        agent.answer(request)
        agent.close()
    samples.add(_PAUSED_TEXT, contender, 1000 * (text.at - started))
    samples.add(_REQUEST, contender, 1000 * (stage.model.record(run).arrivals[0] - started))
