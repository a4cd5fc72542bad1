"""Says why a text was not found, and shows what comes closest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from tools.patching.slips import without_numbers
from tools.text.diffs import clipped
from tools.text.elisions import elided_line
from tools.text.matching import Region, closest_piece, closest_regions, line_number

_MAX_REGION_LINES = 15
_MAX_DIFFERENCES = 6
_MAX_LINE_CHARS = 300
_MIN_TELLING_CHARS = 10
_AS_CLOSE = 0.1

MAX_LINES_TOLD = 10
IN_NOTEBOOK = (
    "Send lines of one cell, as read_file shows them and without its headings. Or change cells with a program "
    "(execute_code, terminal): book = json.load(f), book['cells'][0]['source'] = text, json.dump(book, f, indent=1)."
)


def not_found(text: str, old: str, new: str, name: str) -> str:
    """The message for an `old` that a file does not have: a known reason, or the closest regions."""
    message = f"old_string is not in {name}. Nothing was changed."
    suffix = PurePath(name).suffix
    if without_numbers(old.split("\n")) is not None:
        return f"{message} Leave out the line numbers that read_file puts before `|`, in new_string too."
    # In a text that is not in the file, dots are no body of Python.
    if suffix != ".pyi" and (line := elided_line(old, "")):
        return f"{message} Its line `{line}` stands for others: write out all lines, or replace smaller pieces."
    if suffix.lower() == ".ipynb":
        return f"{message} {IN_NOTEBOOK}"
    done = line_number(text, text.index(new)) if len(new.strip()) > _MIN_TELLING_CHARS and new in text else 0
    if done:
        message += f" But new_string is there already, at line {done}: perhaps the change was made before."
    regions = closest_regions(text, old)
    regions = [region for region in regions if region.score >= regions[0].score - _AS_CLOSE]
    if done and (not regions or any(region.first <= done < region.first + len(region.lines) for region in regions)):
        return message
    if regions:
        shown = "\n\n".join(map(described, regions))
        return f"{message} The closest:\n\n{shown}\n\nSend old_string again exactly as the file has it."
    if (piece := closest_piece(text, old)) is not None:
        return (
            f"{message} The closest is in line {piece.line}, columns {piece.first}–{piece.last}:\n\n{piece.text}\n\n"
            "Send old_string again exactly as the file has it; a part of a line is enough."
        )
    return f"{message} Nothing in it resembles that: read the file again, or look with search_files."


def described(region: Region) -> str:
    """The lines of a region with their numbers, and how they differ from what was sent."""
    lines = [
        f"{number}|{clipped(line, _MAX_LINE_CHARS)}"
        for number, line in enumerate(region.lines[:_MAX_REGION_LINES], region.first)
    ]
    if hidden := len(region.lines) - len(lines):
        lines.append(f"[… {hidden} more lines]")
    told = [f"- {difference}" for difference in region.differences[:_MAX_DIFFERENCES]]
    if hidden := len(region.differences) - len(told):
        told.append(f"- and {hidden} more differences")
    if not told:
        told.append("- only line breaks before or after these lines differ: leave them out")
    return "\n".join([*lines, *told])


def described_lines(numbers: Sequence[int]) -> str:
    """«lines 3, 8 …» for line numbers (1-based), a bounded number of them."""
    more = " …" if len(numbers) > MAX_LINES_TOLD else ""
    return f"line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers[:MAX_LINES_TOLD]))}{more}"
