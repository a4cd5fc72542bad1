"""From the start of the process to each first answer, and from the end of input to its end."""

from __future__ import annotations

import os
import time

from benchmarks.client import AgentFailed
from benchmarks.figures import CONTENDERS, HERMES, RAW, SDK, Quantity, Samples, Section
from benchmarks.stage import TURNS, Stage

_TYPING_SECONDS = 2.0
_INITIALIZE = Quantity("spawn → initialize answered", at_most=100)
_SESSION = Quantity("spawn → session/new answered", at_most=250)
_NEW_SETTINGS = Quantity("spawn → session/new answered, settings changed since")
_TEXT = Quantity("spawn → first text, model played inside", at_most=600)
_TEXT_MODEL = Quantity("spawn → first text, from a model server", at_most=600)
_REQUEST = Quantity("first prompt, 2 s after session/new → request at the model")
_PAUSED_TEXT = Quantity("first prompt, 2 s after session/new → first text", at_most=20)
_UPDATES = 480
_PROMPTS = 5  # of fifty calls each, which are replayed in an update or two a call
_LOADED = Quantity(f"spawn → session/load of {_UPDATES} updates answered")
_LOADED_MORE = Quantity("… more than the SDK floor, which has nothing to load", at_most=150)
_END = Quantity("end of input → process gone", at_most=60)


def measure(stage: Stage) -> Section:
    samples = Samples()
    old_session = _session_to_load(stage)
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
        _load_at_once(stage, old_session, samples)
    for _ in range(stage.repetitions.slow_starts):
        for contender in (HERMES, RAW):
            _first_request_after_pause(stage, contender, samples)
    quantities = (
        _INITIALIZE, _SESSION, _NEW_SETTINGS, _LOADED, _LOADED_MORE, _TEXT, _TEXT_MODEL, _REQUEST, _PAUSED_TEXT, _END,
    )  # fmt: skip
    return samples.section("Start and end", quantities)


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


def _session_to_load(stage: Stage) -> str:
    """The id of a session that is replayed in at least `_UPDATES` updates."""
    with stage.start(HERMES, asks_model=True) as agent:
        session = agent.open()
        for _ in range(_PROMPTS):
            agent.prompt(session, stage.model.plan("read_file", TURNS)[1])
        agent.close()
        return session


def _load_at_once(stage: Stage, session: str, samples: Samples) -> None:
    """An editor that was closed and opened again loads its last session before anything else is loaded."""
    ours = _milliseconds_to_load(stage, HERMES, session)
    floor = _milliseconds_to_load(stage, SDK, session)
    samples.add(_LOADED, HERMES, ours)
    samples.add(_LOADED, SDK, floor)
    samples.add(_LOADED_MORE, HERMES, ours - floor)


def _milliseconds_to_load(stage: Stage, contender: str, session: str) -> float:
    with stage.start(contender, asks_model=True) as agent:
        agent.initialize()
        place = {"cwd": str(stage.place("loopback")), "mcpServers": []}
        loaded = agent.request("session/load", {"sessionId": session, **place})
        if contender == HERMES and len(agent.updates) < _UPDATES:
            raise AgentFailed(f"only {len(agent.updates)} updates came when the session was loaded")
        agent.close()
        return 1000 * (loaded.at - agent.spawned)


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
