"""Says why a text was not found, and shows what comes closest."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.text.matching import Region, closest_regions, line_number

_GUTTER = re.compile(r"\s*\d+\|")
MAX_LINES_TOLD = 10
_MAX_REGION_LINES = 15
_MAX_DIFFERENCES = 6
_MAX_LINE_CHARS = 300
_MIN_TELLING_CHARS = 10


def not_found(text: str, old: str, new: str, name: str) -> str:
    """The message for an `old` that a file does not have: a known reason, or the closest regions."""
    message = f"old_string is not in {name}. Nothing was changed."
    written = [line for line in old.splitlines() if line.strip()]
    if written and all(map(_GUTTER.match, written)):
        return f"{message} It seems to hold the line numbers that read_file puts before `|`: leave them out."
    if len(new.strip()) > _MIN_TELLING_CHARS and new in text:
        line = line_number(text, text.index(new))
        message += f" But new_string is there already, at line {line}: perhaps the change was made before."
    regions = closest_regions(text, old)
    if not regions:
        return f"{message} Nothing in the file resembles it: read the file again."
    shown = "\n\n".join(described(region) for region in regions)
    return f"{message} The closest:\n\n{shown}\n\nSend old_string again exactly as the file has it."


def described(region: Region) -> str:
    """The lines of a region with their numbers, and how they differ from what was sent."""
    lines = [
        f"{number}|{line[:_MAX_LINE_CHARS]}"
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
