"""A session of 200 prompts with four tool turns each, lived through over the wire, and loaded by another process.

The raw floor does the same and remembers nothing between prompts; what it loads are
the bare rows of the same session.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.sessions.database import unpack
from benchmarks.client import Agent, AgentFailed
from benchmarks.figures import HERMES, MEGABYTES, RATIO, RAW, Quantity, Samples, Section
from benchmarks.stage import Stage

_PROMPTS = 200
_CALLS = 4
_EDGE = 10
_LOADS = 3
_MESSAGES = _PROMPTS * (2 + 2 * _CALLS)
_BUILT = Quantity(f"{_PROMPTS} prompts with {_CALLS} tool turns each, all", at_most=6_000)
_PROMPT = Quantity(f"… one of the first {_EDGE}")
_GROWTH = Quantity(f"… last {_EDGE} ÷ first {_EDGE}", RATIO, at_most=1.3)
_REQUEST = Quantity(f"prompt → request at the model, message 2 to {2 + _EDGE * (2 + 2 * _CALLS):,}", at_most=3)
_LATE_REQUEST = Quantity(f"prompt → request at the model, message {_MESSAGES:,}", at_most=3)
_MEMORY = Quantity("resident after it", MEGABYTES)
_LOAD = Quantity(f"session/load of it, {_MESSAGES:,} messages", at_most=150)
_AFTER = Quantity("first prompt after session/load → request at the model")
_NEW = Quantity("first prompt after session/new → request at the model")
_SLOWER = Quantity("… after session/load ÷ after session/new", RATIO, at_most=1)
_PAUSE = 2.0
_AFTER_PAUSE = Quantity(f"first prompt, {_PAUSE:.0f} s after session/load → request at the model")
_SLOWER_AFTER_PAUSE = Quantity("… after session/load ÷ after session/new, 2 s later", RATIO, at_most=1)


@dataclass(slots=True)
class _Life:
    """A contender's session, and milliseconds of each prompt: until its answer, and until its first request."""

    agent: Agent
    session: str
    answers: list[float] = field(default_factory=list)
    requests: list[float] = field(default_factory=list)


def measure(stage: Stage) -> Section:
    samples = Samples()
    for _ in range(stage.repetitions.long_runs):
        session = _live(stage, samples)
        for _ in range(_LOADS):
            _load(stage, session, samples)
    quantities = (
        _BUILT, _PROMPT, _GROWTH, _REQUEST, _LATE_REQUEST, _MEMORY, _LOAD, _AFTER, _NEW, _SLOWER, _AFTER_PAUSE,
        _SLOWER_AFTER_PAUSE,
    )  # fmt: skip
    return samples.section("A long session", quantities)


def _live(stage: Stage, samples: Samples) -> str:
    """The session's id."""
    with contextlib.ExitStack() as running:
        lives = {}
        for name in (HERMES, RAW):
            agent = running.enter_context(stage.start(name, settings="long"))
            agent.prompt(agent.open(), stage.model.plan("stream", 1)[1])
            lives[name] = _Life(agent, agent.new_session().result["sessionId"])
        # Ten prompts of one, then ten of the other: either would else always come behind the other's work.
        for _ in range(_PROMPTS // _EDGE):
            for life in lives.values():
                for _ in range(_EDGE):
                    _prompt(stage, life)
        for name, life in lives.items():
            first, last = (statistics.median(part) for part in (life.answers[:_EDGE], life.answers[-_EDGE:]))
            samples.add(_BUILT, name, sum(life.answers))
            samples.add(_PROMPT, name, first)
            samples.add(_GROWTH, name, last / first)
            samples.add(_REQUEST, name, statistics.median(life.requests[:_EDGE]))
            samples.add(_LATE_REQUEST, name, statistics.median(life.requests[-_EDGE:]))
            samples.add(_MEMORY, name, life.agent.resident_megabytes())
            life.agent.close()
        return lives[HERMES].session


def _prompt(stage: Stage, life: _Life) -> None:
    run, prompt = stage.model.plan("read_file", _CALLS)
    life.agent.take_updates()
    started = time.monotonic()
    answered = life.agent.prompt(life.session, prompt).at
    arrivals = stage.model.record(run).arrivals
    if len(arrivals) != _CALLS + 1:
        raise AgentFailed(f"{len(arrivals)} requests came for a prompt with {_CALLS} calls")
    life.answers.append(1000 * (answered - started))
    life.requests.append(1000 * (arrivals[0] - started))


def _load(stage: Stage, session: str, samples: Samples) -> None:
    loading, after = _loaded(stage, session)
    new = _opened(stage)
    samples.add(_LOAD, HERMES, loading)
    samples.add(_AFTER, HERMES, after)
    samples.add(_NEW, HERMES, new)
    samples.add(_SLOWER, HERMES, after / new)
    _, after = _loaded(stage, session, _PAUSE)
    samples.add(_AFTER_PAUSE, HERMES, after)
    samples.add(_SLOWER_AFTER_PAUSE, HERMES, after / _opened(stage, _PAUSE))
    started = time.perf_counter()
    _read_and_write(stage.home("long") / "hermes-acp.db", session)
    samples.add(_LOAD, RAW, 1000 * (time.perf_counter() - started))


def _loaded(stage: Stage, session: str, pause: float = 0.0) -> tuple[float, float]:
    """Milliseconds of loading the session in a new process, and from its first prompt to the request."""
    place = {"cwd": str(stage.place("long")), "mcpServers": []}
    with stage.start(HERMES, settings="long") as agent:
        agent.initialize()
        agent.request("session/list", {})  # whoever loads a session has seen it in the list before
        started = time.monotonic()
        loaded = agent.request("session/load", {"sessionId": session, **place})
        time.sleep(pause)
        after = _first_request(stage, agent, session)
        agent.close()
    return 1000 * (loaded.at - started), after


def _opened(stage: Stage, pause: float = 0.0) -> float:
    """Milliseconds from the first prompt in a new session of a new process to the request."""
    with stage.start(HERMES, settings="long") as agent:
        agent.initialize()
        agent.request("session/list", {})
        session = agent.new_session().result["sessionId"]
        time.sleep(pause)
        after = _first_request(stage, agent, session)
        agent.close()
    return after


def _first_request(stage: Stage, agent: Agent, session: str) -> float:
    run, prompt = stage.model.plan("stream", 1)
    started = time.monotonic()
    agent.prompt(session, prompt)
    return 1000 * (stage.model.record(run).arrivals[0] - started)


def _read_and_write(database: Path, session: str) -> None:
    """Every event's row read, understood and written again as a line."""
    bare = sqlite3.connect(database)
    query = "SELECT body FROM events WHERE session_id = ? ORDER BY turn, position"
    with Path(os.devnull).open("w", encoding="utf-8") as out:
        rows = bare.execute(query, (session,)).fetchall()
        out.writelines(json.dumps({"jsonrpc": "2.0", "params": unpack(body)}) + "\n" for (body,) in rows)
    bare.close()
