"""Which tool calls of one answer may run side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.tool_batches import PlannedCall, plan_batches


def never(path: str | None = None) -> PlannedCall:
    return PlannedCall("never", Path(path) if path else None)


def safe(path: str | None = None) -> PlannedCall:
    return PlannedCall("safe", Path(path) if path else None)


def paths(path: str | None = None) -> PlannedCall:
    return PlannedCall("paths", Path(path) if path else None)


@pytest.mark.parametrize(
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
        ([safe(), paths("/w/a")], [[0], [1]]),
        ([paths("/w/a"), paths("/w/b"), paths("/w/a"), paths("/w/c")], [[0, 1], [2, 3]]),
    ],
    ids=[
        "none",
        "one",
        "safe ones together",
        "never alone",
        "never splits",
        "different files",
        "the same file",
        "read after write",
        "write after read",
        "search above a write",
        "below one another",
        "similar names",
        "an unknown path",
        "an unknown path that is read",
        "conflict with any call of the batch",
    ],
)
def test_batches(calls, batches):
    assert plan_batches(calls) == batches


def test_a_batch_is_not_larger_than_allowed_and_keeps_the_order():
    assert plan_batches([safe()] * 5, largest=2) == [[0, 1], [2, 3], [4]]
