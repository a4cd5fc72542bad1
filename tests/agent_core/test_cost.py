"""A long turn costs little more than its new words: the rest of each request comes from the server's cache."""

from __future__ import annotations

import json

import pytest

from tests.support.long_turn import FILES, WIRES, bodies_of_a_turn
from tests.support.prefix_cache import cost_of_run
from tests.support.replayed_tasks import TASKS, cost_of, replayed

LEAST_SHARE = 0.95


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_of_a_turn_with_fifty_calls_caches_serve_nearly_all_that_is_possible(wire, tmp_path, home):
    bodies = bodies_of_a_turn(tmp_path, wire.settings, agent={"ephemeral_system_prompt": "Be brief."})
    assert len(bodies) == 42
    last = json.dumps(bodies[-1])
    assert all(f"call_{number}_2_0" in last and f"src/part{number}.py: updated" in last for number in range(FILES))
    cost = cost_of_run(bodies, by_marks=wire.by_marks)
    assert cost.possible > 0.9 * cost.sent
    assert cost.share >= LEAST_SHARE, cost


def test_in_a_replayed_task_no_request_adds_much_to_the_one_before_it(tmp_path, home):
    task = next(task for task in TASKS if task.name == "middle")
    bodies = replayed(task, tmp_path)
    results = [message["content"] for message in bodies[-1]["messages"] if message["role"] == "tool"]
    assert len(results) == sum(map(len, task.steps))
    assert [result for result in results if result.startswith(("Error:", "{"))] == []
    cost = cost_of(task, bodies)
    assert cost.requests == len(task.steps) + 1
    assert cost.growth < 620  # tokens; with results as JSON and diffs of all edits it was 759
