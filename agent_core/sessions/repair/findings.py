"""What an examination of the database has found."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Literal

from agent_core.errors import StoreFault
from agent_core.sessions.records import Holder
from agent_core.sessions.repair.blob_facts import BlobFacts
from tools.light_dataclass import dataclass

Remedy = Literal["", "in place", "rebuild"]
"""What `repair` would do: nothing; mend it where it is; set the file aside and save what can be read of it."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, in one sentence, and what `repair` would do about it.

    Attributes:
        is_notice: nothing is wrong, but it is good to know.
    """

    subject: Literal[
        "file", "pages", "rows", "index", "search", "references", "schema", "log", "permissions", "blobs"
    ]
    text: str
    remedy: Remedy = ""
    is_notice: bool = False


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found.

    Attributes:
        fault: why the file cannot be used at all, as in StoreError.kind; '' if it can.
        version: the schema's; 0 where it is not known.
        size, wal_size: in bytes.
        sessions, messages: how many; None where they cannot be counted.
        holders: living processes that prompt sessions.
        abandoned: sessions whose holder died; the next process takes them over.
        beside: files of earlier repairs and updates next to the database.
    """

    path: Path
    exists: bool
    fault: StoreFault | Literal[""] = ""
    problems: tuple[Problem, ...] = ()
    version: int = 0
    journal_mode: str = ""
    size: int = 0
    wal_size: int = 0
    sessions: int | None = None
    messages: int | None = None
    holders: tuple[Holder, ...] = ()
    abandoned: int = 0
    blobs: BlobFacts = field(default_factory=BlobFacts)
    beside: tuple[Path, ...] = ()

    @property
    def remedy(self) -> Remedy:
        """The strongest remedy among the problems."""
        remedies = {problem.remedy for problem in self.problems}
        return "rebuild" if "rebuild" in remedies else "in place" if "in place" in remedies else ""
