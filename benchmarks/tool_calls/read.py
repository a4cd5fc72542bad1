"""`read_file` and `write_file` through dispatch, gate and policy, beside what the same work costs without them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import tools.read_file
import tools.write_file  # noqa: F401 - registers the tools
from benchmarks.in_turns import Pair, in_turns
from tests.support.tool_context import call, make_context
from tools.files.seen import FilesSeen

LINES = 1000
REPETITIONS = 200


def read_a_thousand_lines(folder: Path) -> Pair:
    """Seconds of one `read_file` of 1,000 lines (66 kB), and of: open, read, split, number, join, as JSON."""
    path = _file(folder)
    ctx = make_context(folder)

    def tool() -> None:
        result = call(ctx, "read_file", path=path.name, limit=LINES)
        assert not result.failed

    def floor() -> None:
        with path.open() as stream:
            lines = stream.read().split("\n")
        json.dumps({"content": "\n".join([f"{n}|{line}" for n, line in enumerate(lines, 1)])}, ensure_ascii=False)

    return in_turns(tool, floor, REPETITIONS)


def read_a_page_of_many_lines(folder: Path) -> Pair:
    """Seconds of one `read_file` of 100 lines in the middle of 100,000, and of: open, read, split, join of them."""
    path = _file(folder, 100_000)
    ctx = make_context(folder)

    def tool() -> None:
        assert not call(ctx, "read_file", path=path.name, offset=50_000, limit=100).failed

    def floor() -> None:
        with path.open() as stream:
            lines = stream.read().split("\n")
        "\n".join(lines[50_000:50_100])

    return in_turns(tool, floor, REPETITIONS // 10)


def write_a_thousand_lines(folder: Path) -> Pair:
    """Seconds of one `write_file` over a known file of 1,000 lines, and of: write beside it, rename."""
    path = _file(folder)
    texts = [path.read_text(), path.read_text().replace("value", "other")]
    ctx = replace(make_context(folder), seen=FilesSeen())
    call(ctx, "read_file", path=path.name, limit=LINES)

    def tool() -> None:
        texts.reverse()
        assert not call(ctx, "write_file", path=path.name, content=texts[0]).failed

    def floor() -> None:
        beside = folder / "beside"
        beside.write_text(texts[0])
        beside.replace(folder / "floor.py")

    return in_turns(tool, floor, REPETITIONS)


def _file(folder: Path, lines: int = LINES) -> Path:
    path = folder / f"lines_{lines}.py"
    path.write_text(
        "".join(f"    value_{n} = compute(value_{n - 1}, {n})  # a line of usual length\n" for n in range(lines))
    )
    return path
