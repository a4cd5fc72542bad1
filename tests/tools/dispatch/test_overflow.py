"""A result that is too long: the model gets a part, and a file with all of it that it can page through."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.tool_context import body_of, call, make_context
from tools.context import ToolContext
from tools.dispatch import bounded
from tools.result import ShownText, ToolResult
from tools.toolsets import load_builtin_tools

LINES = "".join(f"line {number}\n" for number in range(1, 2001))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "outputs" / "call-1.txt"


@pytest.fixture
def ctx(tmp_path: Path, file: Path) -> ToolContext:
    return replace(make_context(tmp_path), output_file=file)


def test_the_file_has_all_of_it_and_the_text_says_how_to_go_on(ctx: ToolContext, file: Path) -> None:
    result = bounded(ToolResult(LINES), 1000, ctx)

    assert file.read_text() == LINES
    assert len(result.text) < 1000 + 200
    assert f"All 2001 lines are in {file}: go on with read_file from line " in result.text
    assert result.facts["saved"] == {"path": str(file), "size": len(LINES)}


def test_the_line_to_go_on_from_is_the_first_that_is_not_whole(ctx: ToolContext, file: Path) -> None:
    load_builtin_tools()
    text = bounded(ToolResult(LINES), 1000, ctx).text

    head, _, rest = text.partition("\n[… ")
    line = int(rest.partition("from line ")[2].partition(" ")[0])
    page = body_of(call(ctx, "read_file", path=str(file), offset=line, limit=1))
    assert page.partition("|")[2].startswith(head.splitlines()[-1])


def test_json_becomes_lines(ctx: ToolContext, file: Path) -> None:
    value: dict[str, Any] = {
        "output": "one\ntwo\n" + "x" * 500,
        "count": 2,
        "none": None,
        "empty": [],
        "hits": [{"path": "a.py", "lines": [1, 2]}, "plain"],
    }

    bounded(ToolResult(json.dumps(value)), 100, ctx)

    assert file.read_text() == (
        f"output:\n  one\n  two\n  {'x' * 500}\ncount: 2\nnone: null\nempty: []\n"
        "hits:\n  -\n    path: a.py\n    lines:\n      - 1\n      - 2\n  - plain"
    )


@pytest.mark.parametrize("text", ["{broken" + "x" * 500, "[" * 20_000])
def test_what_only_looks_like_json_stays_text(ctx: ToolContext, file: Path, text: str) -> None:
    bounded(ToolResult(text), 100, ctx)

    assert file.read_text().replace("\n", "") == text


def test_no_line_is_longer_than_read_file_shows(ctx: ToolContext, file: Path) -> None:
    longest = ctx.settings.read.max_line_chars
    text = "a" * (2 * longest) + "\n" + "b" * (longest + 1) + "\nend"

    bounded(ToolResult(text), 100, ctx)

    assert [len(line) for line in file.read_text().split("\n")] == [longest, longest, longest, 1, 3]
    assert file.read_text().replace("\n", "") == text.replace("\n", "")


def test_what_the_person_is_shown_has_a_file_of_its_own(ctx: ToolContext, file: Path) -> None:
    shown = "for the person\n" * 5000

    result = bounded(ToolResult(LINES, (ShownText(shown),)), 1000, ctx)

    assert file.read_text() == shown
    assert result.facts["saved"]["path"] == str(file)
    assert file.with_name("call-1.result.txt").read_text() == LINES
    assert str(file.with_name("call-1.result.txt")) in result.text


def test_a_tool_that_has_saved_it_itself_is_believed(ctx: ToolContext, file: Path) -> None:
    result = bounded(ToolResult(LINES, facts={"saved": {"path": "/srv/log.txt", "size": 9}}), 1000, ctx)

    assert "All of it is in /srv/log.txt …]" in result.text
    assert not file.exists()


def test_where_nothing_can_be_saved_the_text_says_less(ctx: ToolContext, file: Path) -> None:
    file.parent.write_text("a file where the directory should be")

    result = bounded(ToolResult(LINES), 1000, ctx)

    assert "The result was too long" in result.text
    assert "saved" not in result.facts
