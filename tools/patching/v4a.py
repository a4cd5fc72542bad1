"""What a patch in the V4A format says: files to add, to delete, and to update hunk by hunk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from tools.errors import ToolError
from tools.light_dataclass import dataclass

_MAX_QUOTED = 60


class PatchUnreadable(ToolError):
    """A line (1-based) of the patch cannot be read."""

    def __init__(self, at: int, what: str) -> None:
        super().__init__(f"Line {at} of the patch: {what} Nothing was changed.")


def quoted(line: str) -> str:
    """A line for a message, cut where it is long."""
    return repr(line if len(line) <= _MAX_QUOTED else f"{line[:_MAX_QUOTED]}…")


@dataclass(frozen=True, slots=True)
class HunkLine:
    """A line of a hunk: unchanged, taken out or put in. `text` is without the sign."""

    sign: Literal[" ", "-", "+"]
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """A change of some lines.

    Attributes:
        number: counted from 1 in its file.
        at: the line (1-based) of the patch where it begins.
        anchors: lines of the file that come before it, the outermost first.
        lines: what was there and what shall be there.
        is_at_end: it ends with the file (`*** End of File`).
        near: the line (1-based) where the header of a unified diff says that it begins; None in V4A.
        ends_bare: what it puts at the end of the file has no line ending.
    """

    number: int
    at: int
    anchors: tuple[str, ...]
    lines: tuple[HunkLine, ...]
    is_at_end: bool = False
    near: int | None = None
    ends_bare: bool = False

    def mapped(self, change: Callable[[str], str]) -> Hunk:
        """The hunk with each of its lines changed."""
        lines = tuple(HunkLine(line.sign, change(line.text)) for line in self.lines)
        return replace(self, anchors=tuple(map(change, self.anchors)), lines=lines)

    @property
    def old(self) -> list[str]:
        """The lines that the file has."""
        return [line.text for line in self.lines if line.sign != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that it shall have."""
        return [line.text for line in self.lines if line.sign != "-"]

    @property
    def head(self) -> int:
        """How many unchanged lines come before the first change."""
        return next(index for index, line in enumerate(self.lines) if line.sign != " ")

    @property
    def tail(self) -> int:
        """How many unchanged lines come after the last change."""
        return next(index for index, line in enumerate(reversed(self.lines)) if line.sign != " ")


@dataclass(frozen=True, slots=True)
class AddFile:
    """A new file with all its text. `at` is the line of the patch."""

    path: str
    at: int
    text: str


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A file to delete. `at` is the line of the patch."""

    path: str
    at: int


@dataclass(frozen=True, slots=True)
class UpdateFile:
    """A file to change, to move, or both. `at` is the line of the patch."""

    path: str
    at: int
    move_to: str | None
    hunks: tuple[Hunk, ...]


Operation = AddFile | DeleteFile | UpdateFile
