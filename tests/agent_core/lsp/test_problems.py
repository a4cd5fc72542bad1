"""What of a server's diagnostics becomes a problem."""

from __future__ import annotations

from typing import Any

import pytest

from agent_core.lsp.server import problems_of
from tests.support.each import each
from tools.ports import Problem


def _item(line: Any = 0, character: Any = 0, **more: Any) -> dict[str, Any]:
    return {"range": {"start": {"line": line, "character": character}}, "message": "wrong", **more}


def test_one_without_severity_is_an_error() -> None:
    assert problems_of([_item(1, 2)], "ab\ncd", "fake") == (Problem(2, 3, "error", "wrong", "fake"),)


def test_its_source_is_named() -> None:
    (problem,) = problems_of([_item(source="lint")], "x", "fake")
    assert problem.source == "lint"


def test_a_message_may_be_marked_up() -> None:
    (problem,) = problems_of([_item(message={"kind": "markdown", "value": "so `wrong`"})], "x", "fake")
    assert problem.message == "so `wrong`"


@pytest.mark.parametrize("severity", [2, 3, 4, "1"])
def test_less_than_errors_are_left_out(severity: object) -> None:
    assert problems_of([_item(severity=severity)], "x", "fake") == ()


@each("items", [None, "x", {}, [None], [{}], [_item(-1)], [_item("0")], [_item(message=" ")]])
def test_what_is_malformed_is_left_out(items: object) -> None:
    assert problems_of(items, "x", "fake") == ()


def test_a_place_behind_the_end_is_kept() -> None:
    assert problems_of([_item(9, 9)], "x", "fake") == (Problem(10, 1, "error", "wrong", "fake"),)
    assert problems_of([_item(0, 9)], "x", "fake") == (Problem(1, 2, "error", "wrong", "fake"),)


def test_a_flood_is_cut() -> None:
    assert len(problems_of([_item()] * 5000, "x", "fake")) == 500
