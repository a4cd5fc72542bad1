"""Which compressions a session can be shown with, whoever made them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agent_core.compaction.engine import Compaction, is_possible
from tests.support.each import each

MADE = Compaction(
    2, 6, "RECORD", kept=(2, 5), results={"a": "line"}, arguments={"b": "{}"}, cuts={7: 100}, images_before=9
)


@each("length", [6, 7, 100])
def test_one_that_covers_no_more_than_there_is_can_be_shown(length: int) -> None:
    assert is_possible(MADE, length)


@each(
    "changed",
    [
        {"head": -1},
        {"head": 7, "kept": ()},
        {"up_to": 11},
        {"up_to": 2.5, "kept": ()},
        {"summary": None},
        {"prose": 1},
        {"topic": None},
        {"made_by": None},
        {"kept": (1,)},
        {"kept": (6,)},
        {"kept": (5, 2)},
        {"kept": (2, 2)},
        {"kept": ("2",)},
        {"results": {"a": 1}},
        {"results": {1: "a"}},
        {"results": None},
        {"arguments": [("a", "{}")]},
        {"cuts": {"7": 100}},
        {"cuts": {7: "100"}},
        {"images_before": "9"},
        {"sealed_before": None},
        {"tokens_before": 1.5},
        {"tokens_after": None},
    ],
)
def test_one_that_is_out_of_order_cannot(changed: dict[str, Any]) -> None:
    assert not is_possible(replace(MADE, **changed), 10)


def test_nothing_has_to_be_replaced() -> None:
    assert is_possible(Compaction(0, 0, ""), 0)
    assert is_possible(Compaction(10, 10, ""), 10)
