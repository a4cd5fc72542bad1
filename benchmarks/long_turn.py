"""One turn of 500 tool calls, each in a request of its own: the last ones should take no longer than the first."""

from __future__ import annotations

import contextlib
import statistics

from benchmarks.figures import HERMES, RATIO, RAW, Quantity, Samples, Section
from benchmarks.stage import Stage
from benchmarks.tool_turns import times_between_requests

_CALLS = 500
_EDGE = 50
_EACH = Quantity(f"a turn with one read_file, of {_CALLS}", at_most=4)
_LAST = Quantity(f"… the last {_EDGE} of them", at_most=4)
_FLATNESS = Quantity(f"last {_EDGE} ÷ first {_EDGE} of these", RATIO, at_most=1.3)


def measure(stage: Stage) -> Section:
    samples = Samples()
    with contextlib.ExitStack() as running:
        agents = {name: running.enter_context(stage.start(name, settings="long")) for name in (HERMES, RAW)}
        for agent in agents.values():
            agent.prompt(agent.open(), stage.model.plan("stream", 1)[1])
        for _ in range(stage.repetitions.long_runs):
            for name, agent in agents.items():
                times = times_between_requests(stage, agent, "read_file", _CALLS)
                first, last = statistics.median(times[:_EDGE]), statistics.median(times[-_EDGE:])
                samples.add(_EACH, name, statistics.median(times))
                samples.add(_LAST, name, last)
                samples.add(_FLATNESS, name, last / first)
    return samples.section("A long turn", (_EACH, _LAST, _FLATNESS))
