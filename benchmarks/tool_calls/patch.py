"""`patch` through dispatch, gate and policy, beside what the same work costs without them."""

from __future__ import annotations

import difflib
from pathlib import Path

import tools.patch  # noqa: F401 - registers the tool
from benchmarks.in_turns import Pair, in_turns
from tests.support.tool_context import call, make_context

REPETITIONS = 60


def replace_in_ten_thousand_lines(folder: Path) -> Pair:
    """Seconds of one exact replacement in a file of 10,000 lines, and of: read, replace, write beside it, rename."""
    path = _file(folder, 10_000)
    ctx = make_context(folder)
    names = ["value_5000 =", "other_5000 ="]

    def tool() -> None:
        result = call(ctx, "patch", path=path.name, old_string=names[0], new_string=names[1])
        assert not result.failed, result.text
        names.reverse()

    def floor() -> None:
        _replaced(path, names[0], "other")

    return in_turns(tool, floor, REPETITIONS)


def patch_ten_thousand_lines(folder: Path) -> Pair:
    """Seconds of one V4A patch with an anchor and a changed line in 10,000, and of the same floor."""
    path = _file(folder, 10_000)
    ctx = make_context(folder)
    names = ["value_5001", "other_5001"]

    def tool() -> None:
        line = " = compute(item_54, 10)"
        text = (
            f"*** Begin Patch\n*** Update File: {path.name}\n@@     value_5000 = compute(item_53, 9)\n"
            f"-    {names[0]}{line}\n+    {names[1]}{line}\n*** End Patch"
        )
        result = call(ctx, "patch", mode="patch", patch=text)
        assert not result.failed, result.text
        names.reverse()

    def floor() -> None:
        _replaced(path, f"{names[0]} ", "other ")

    return in_turns(tool, floor, REPETITIONS)


def miss_in_thirty_thousand_lines(folder: Path) -> Pair:
    """Seconds of one miss in 30,000 lines, ten of which nearly fit, and of: read, compare the ten by difflib."""
    path = _file(folder, 30_000)
    ctx = make_context(folder)
    lines = path.read_text().split("\n")[20_000:20_010]
    old = "\n".join(line.replace("compute", "conpute") for line in lines)

    def tool() -> None:
        result = call(ctx, "patch", path=path.name, old_string=old, new_string="x")
        assert "20001|" in result.text

    def floor() -> None:
        text = path.read_text()
        assert old not in text
        difflib.SequenceMatcher(None, "\n".join(lines), old).ratio()

    return in_turns(tool, floor, REPETITIONS)


def _file(folder: Path, lines: int) -> Path:
    path = folder / f"lines_{lines}.txt"
    path.write_text("".join(f"    value_{n} = compute(item_{n % 97}, {n % 31})\n" for n in range(lines)))
    return path


def _replaced(path: Path, old: str, new: str) -> None:
    beside = path.with_suffix(".beside")
    beside.write_text(path.read_text().replace(old, new))
    beside.replace(path.with_suffix(".floor"))
