"""Cost: the input tokens of a turn with 50 tool calls, and how much of them a server's cache can serve; and those of
three replayed tasks.

The floor is the least that is possible: each request the one before with something behind it, and all of that served.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.figures import BYTES, COUNT, HERMES, PERCENT, RAW, Quantity, Samples, Section
from benchmarks.stage import Stage
from tests.support.long_turn import WIRES, Wire, bodies_of_a_turn
from tests.support.prefix_cache import cost_of_run
from tests.support.replayed_tasks import TASKS, ReplayedTask, cost_of, replayed

_SYSTEM = Quantity("sent with each request: system prompt, with the rules file", BYTES)
_TOOLS = Quantity("… the tools' definitions", BYTES)


def measure(_: Stage) -> Section:
    samples, quantities = Samples(), [_SYSTEM, _TOOLS]
    for wire in WIRES:
        with tempfile.TemporaryDirectory(prefix="hermes-bench-cost-") as directory:
            quantities += _turn(samples, wire, Path(directory).resolve())
    for task in TASKS:
        with tempfile.TemporaryDirectory(prefix="hermes-bench-task-") as directory:
            quantities += _task(samples, task, Path(directory).resolve())
    return samples.section("Cost", quantities)


def _turn(samples: Samples, wire: Wire, directory: Path) -> list[Quantity]:
    bodies = bodies_of_a_turn(directory, wire.settings)
    cost = cost_of_run(bodies, by_marks=wire.by_marks)
    sent = Quantity(f"50 calls, {wire.name}: input tokens", COUNT)
    fresh = Quantity(f"… {wire.name}: of them from no cache", COUNT)
    share = Quantity(f"… {wire.name}: not cached, of what could be", PERCENT)
    samples.add(sent, HERMES, cost.sent)
    samples.add(fresh, HERMES, cost.sent - cost.served)
    samples.add(fresh, RAW, cost.sent - cost.possible)
    samples.add(share, HERMES, 100 * (1 - cost.share))
    if wire is WIRES[0]:
        system, tools = bodies[0]["messages"][0]["content"], bodies[0]["tools"]
        samples.add(_SYSTEM, HERMES, len(system.encode()))
        samples.add(_TOOLS, HERMES, len(json.dumps(tools, ensure_ascii=False, separators=(",", ":")).encode()))
    return [sent, fresh, share]


def _task(samples: Samples, task: ReplayedTask, directory: Path) -> list[Quantity]:
    cost = cost_of(task, replayed(task, directory))
    sent = Quantity(f"{task.name} task, {cost.calls} calls in {cost.requests} requests: input tokens", COUNT)
    growth = Quantity(f"… {task.name} task: tokens that each request adds", COUNT)
    samples.add(sent, HERMES, cost.sent)
    samples.add(growth, HERMES, cost.growth)
    return [sent, growth]
