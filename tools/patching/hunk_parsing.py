"""Reads the hunks of one file out of a patch."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.patching.unwrapping import NumberedLine
from tools.patching.v4a import Hunk, HunkLine, PatchUnreadable, quoted

_END_OF_FILE = re.compile(r"\*\*\*\s*End\s+of\s+File\s*", re.IGNORECASE)
_UNIFIED = re.compile(r"@@\s*-(\d+)(?:,\d+)?\s+\+\d+(?:,\d+)?\s*@@(.*)")
_NO_NEWLINE = "\\ No newline"


def parse_hunks(lines: Sequence[NumberedLine]) -> list[Hunk]:
    """The hunks that change something, in order.

    Raises:
        ToolError: a line cannot be read; its number in the patch and why.
    """
    reader = _Reader()
    for index, (number, line) in enumerate(lines):
        following = lines[index + 1][1] if index + 1 < len(lines) else ""
        reader.read(number, line, following)
    reader.close()
    return reader.hunks


class _Reader:
    """Collects the lines of a hunk until the next begins."""

    def __init__(self) -> None:
        self.hunks: list[Hunk] = []
        self._count = 0
        self._skips = False
        self._reset()

    def _reset(self) -> None:
        self._at = 0
        self._anchors: list[str] = []
        self._near: int | None = None
        self._has_header = False
        self._lines: list[tuple[HunkLine, bool]] = []  # with whether it is an empty line without its sign
        self._is_at_end = False
        self._ends_bare = False

    def read(self, number: int, line: str, following: str) -> None:
        """Take the next line; `following` is the one after it."""
        if self._skips:
            self._skips = False
        elif line.startswith("@@"):
            self._header(number, line)
        elif _END_OF_FILE.fullmatch(line):
            self._is_at_end = True
            self.close()
        elif line.startswith(_NO_NEWLINE):
            self._ends_bare = bool(self._lines) and self._lines[-1][0].sign != "-"
        elif self._begins_unified(line, following):
            self._skips = line.startswith("--- ")
        elif not line.strip():
            # Editors and models drop the sign of an empty line.
            self._add(number, HunkLine(" ", line[1:]), is_unsigned=not line)
        else:
            self._add(number, _signed(number, line), is_unsigned=False)

    def close(self) -> None:
        """The hunk is complete."""
        lines = list(self._lines)
        # Empty lines around a hunk are there for the eye, unless they come after its header.
        while lines and lines[-1][1]:
            lines.pop()
        while lines and lines[0][1] and not self._has_header:
            lines.pop(0)
        if self._anchors and not lines:
            raise PatchUnreadable(self._at, f"a hunk without lines follows @@ {self._anchors[-1]}.")
        if lines:
            self._count += 1
        if any(line.sign != " " for line, _ in lines):
            hunk_lines = tuple(line for line, _ in lines)
            ends_bare = self._ends_bare and hunk_lines[-1].sign == "+"
            self.hunks.append(
                Hunk(self._count, self._at, tuple(self._anchors), hunk_lines, self._is_at_end, self._near, ends_bare)
            )
        self._reset()

    def _header(self, number: int, line: str) -> None:
        if self._lines:
            self.close()
        self._at = self._at or number
        self._has_header = True
        anchor = line[2:]
        if unified := _UNIFIED.fullmatch(line):
            self._near, anchor = int(unified[1]), unified[2]
        anchor = anchor.rstrip().removesuffix("@@").rstrip().removeprefix(" ")
        if anchor.strip():
            self._anchors.append(anchor)

    def _add(self, number: int, line: HunkLine, *, is_unsigned: bool) -> None:
        self._at = self._at or number
        self._lines.append((line, is_unsigned))

    def _begins_unified(self, line: str, following: str) -> bool:
        """Whether this is a header of a unified diff, which says nothing that is not known."""
        if self.hunks or self._lines or self._has_header:
            return False
        is_pair = line.startswith("--- ") and following.startswith("+++ ")
        return is_pair or line.startswith(("diff --git ", "index "))


def _signed(number: int, line: str) -> HunkLine:
    match line[0]:
        case " " | "-" | "+" as sign:
            return HunkLine(sign, line[1:])
    what = "is no header that there is" if line.startswith("***") else "has neither a space, - nor + before it"
    raise PatchUnreadable(
        number,
        f"{quoted(line)} {what}. In a hunk, unchanged lines begin with a space, lines to take out with -, new ones "
        "with +. Headers are *** Update File:, *** Add File:, *** Delete File: and *** Move to:.",
    )
