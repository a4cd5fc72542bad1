"""Sub-agents: what one costs beside its work, in process, with the embedded model and everything stored.

The floor is a turn of the same session with one call that does nothing but answer.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from agent_core.agent import AIAgent
from agent_core.config import ConfigSource, Overrides
from agent_core.factory import AgentFactory
from agent_core.home import Home
from agent_core.sessions.records import NewSession
from agent_core.settings.options import SessionChoices
from benchmarks.figures import HERMES, RAW, Quantity, Samples, Section
from benchmarks.stage import Stage

_SIDE_BY_SIDE = 3
_ONE = Quantity("a turn that delegates one goal")
_SEVERAL = Quantity(f"… {_SIDE_BY_SIDE} goals, side by side")
_EACH = Quantity("… more than the turn with a plain call, for each sub-agent")
_PLAIN = "todo a\nsay done"


def measure(stage: Stage) -> Section:
    samples = Samples()
    with tempfile.TemporaryDirectory(prefix="hermes-bench-delegation-") as directory:
        factory = AgentFactory(ConfigSource(Home(Path(directory)), Overrides(model="offline", provider="offline")))
        try:
            factory.warm()
            agent = _agent(factory, stage.workspace)
            for prompt in (_PLAIN, _delegating(1), _delegating(_SIDE_BY_SIDE)):
                agent.chat(prompt)
            for _ in range(stage.repetitions.prompts):
                plain = _timed(agent, _PLAIN)
                one, several = _timed(agent, _delegating(1)), _timed(agent, _delegating(_SIDE_BY_SIDE))
                samples.add(_ONE, RAW, plain)
                samples.add(_SEVERAL, RAW, plain)
                samples.add(_ONE, HERMES, one)
                samples.add(_SEVERAL, HERMES, several)
                samples.add(_EACH, HERMES, (several - plain) / _SIDE_BY_SIDE)
        finally:
            factory.close()
    return samples.section("Sub-agents", (_ONE, _SEVERAL, _EACH))


def _agent(factory: AgentFactory, cwd: Path) -> AIAgent:
    workspace = factory.workspace(cwd, (), SessionChoices(mode="dont_ask"), "bench")
    factory.sessions.store.create_new(NewSession("bench", str(cwd)))
    return factory.agent("bench", workspace, factory.services("bench", workspace))


def _delegating(goals: int) -> str:
    tasks = {"tasks": [{"goal": f"say {number}"} for number in range(goals)]}
    return f"call delegate_task {json.dumps(tasks)}\nsay done"


def _timed(agent: AIAgent, prompt: str) -> float:
    begun = time.perf_counter()
    agent.chat(prompt)
    return (time.perf_counter() - begun) * 1000
