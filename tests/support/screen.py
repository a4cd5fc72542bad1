"""What a terminal shows after what was written to it: line breaks, the cursor's ways, and erasing."""

from __future__ import annotations

import re

_STEPS = re.compile(r"\x1b\[\??([0-9;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")


def screen_of(written: str) -> str:
    """The lines, without looks, of a window that is as wide and high as it has to be."""
    lines, row, column = [""], 0, 0
    for step in _STEPS.finditer(written):
        number, kind = int(step[1] or 0) if (step[1] or "0").isdigit() else 0, step[2]
        if step[0] == "\r":
            column = 0
        elif step[0] == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif kind == "A":
            row -= number or 1
        elif kind in {"C", "D"}:
            column = max(0, column + (number or 1) * (1 if kind == "C" else -1))
        elif kind in {"J", "K"}:
            lines[row] = lines[row][:column]
            del lines[row + 1 : None if kind == "J" else row + 1]
        elif kind is None:
            before = lines[row][:column].ljust(column)
            lines[row] = before + step[0] + lines[row][column + len(step[0]) :]
            column += len(step[0])
    return "\n".join(lines)
