"""Which tool calls of one answer may run side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.tool_calls import PlannedCall, plan_batches
from tests.support.each import each
from tools.registry import Parallel


def call(parallel: Parallel, *paths: str, name: str = "tool") -> PlannedCall:
    return PlannedCall(name, parallel, tuple(map(Path, paths)))


def never(*paths: str) -> PlannedCall:
    return call("never", *paths)


def safe(*paths: str) -> PlannedCall:
    return call("safe", *paths)


def paths(*paths: str) -> PlannedCall:
    return call("paths", *paths)


@each(
    ("calls", "batches"),
    [
        ([], []),
        ([safe()], [[0]]),
        ([safe("/w/a"), safe("/w/a"), safe()], [[0, 1, 2]]),
        ([never(), never()], [[0], [1]]),
        ([safe(), never(), safe(), safe()], [[0], [1], [2, 3]]),
        ([paths("/w/a"), paths("/w/b")], [[0, 1]]),
        ([paths("/w/a"), paths("/w/a")], [[0], [1]]),
        ([paths("/w/a"), safe("/w/a")], [[0], [1]]),
        ([safe("/w/a"), paths("/w/a")], [[0], [1]]),
        ([safe("/w"), paths("/w/a")], [[0], [1]]),
        ([paths("/w/d"), paths("/w/d/e/f")], [[0], [1]]),
        ([paths("/w/ab"), paths("/w/a")], [[0, 1]]),
        ([paths("/w/a"), paths()], [[0], [1]]),
        ([safe(), paths("/w/a")], [[0, 1]]),
        ([safe(), paths()], [[0], [1]]),
        ([paths("/w/a", "/w/b"), paths("/w/c", "/w/d")], [[0, 1]]),
        ([paths("/w/a", "/w/b"), paths("/w/c", "/w/b")], [[0], [1]]),
        ([paths("/w/a", "/w/b"), safe("/w/b/c")], [[0], [1]]),
        ([paths("/w/README"), paths("/w/readme")], [[0], [1]]),
        ([paths("/w/caf\u00e9"), paths("/w/cafe\u0301")], [[0], [1]]),
        ([paths("/"), safe("/w/a")], [[0], [1]]),
        ([paths("/w/a"), paths("/w/b"), paths("/w/a"), paths("/w/c")], [[0, 1], [2, 3]]),
    ],
)
def test_batches(calls, batches):
    assert plan_batches(calls) == batches


@pytest.mark.parametrize("tool", ["clarify", "exit_plan_mode"])
def test_a_talk_with_the_person_makes_the_whole_answer_a_sequence(tool):
    calls = [safe("/w/a"), safe("/w/b"), call("never", name=tool), safe("/w/c"), safe("/w/d")]
    assert plan_batches(calls) == [[0], [1], [2], [3], [4]]


def test_any_number_of_calls_may_be_one_batch():
    assert plan_batches([safe("/w")] * 50) == [list(range(50))]
