"""What is remembered over sessions, as the tool `memory` reaches it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from tools.errors import ToolError
from tools.light_dataclass import dataclass

MemoryTarget = Literal["memory", "user"]
"""The agent's own notes, and what it knows of the user."""

MemoryAction = Literal["add", "replace", "remove"]


class MemoryRefused(ToolError):
    """What was to be remembered, or forgotten, cannot be as asked; nothing was changed."""


@dataclass(frozen=True, slots=True)
class MemoryOperation:
    """One step of a batch.

    Attributes:
        content: the new entry; '' to remove.
        old_text: a part of the one entry that is meant, or all of it; '' to add.
    """

    action: MemoryAction
    content: str = ""
    old_text: str = ""


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A batch, and what it makes of the file.

    Attributes:
        before, after: the file's text; '' for a missing one.
        entries: how many there are afterwards; `used` and `limit` are characters of all of them together.
        notes: what the model and the person should know of it beside.
    """

    target: MemoryTarget
    path: Path
    operations: tuple[MemoryOperation, ...]
    before: str
    after: str
    entries: int
    used: int
    limit: int
    notes: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """«1,420 of 2,200 characters»."""
        return f"{self.used:,} of {self.limit:,} characters"


class Memory(Protocol):
    """Two small files of entries that last over sessions."""

    def plan(self, target: MemoryTarget, operations: Sequence[MemoryOperation]) -> MemoryChange:
        """What a batch would make of the file as it is now; nothing is changed.

        Raises:
            MemoryRefused: it cannot be done; the text says why, and what to do.
        """
        ...

    def commit(self, change: MemoryChange) -> MemoryChange:
        """Do what was planned, whole or not at all. What others have written meanwhile stays.

        Returns:
            what was done to the file as it was by then.

        Raises:
            MemoryRefused: it cannot be done any more; nothing was changed.
        """
        ...
