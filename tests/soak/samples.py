"""What a process and its home hold at a moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.process_facts import cpu_milliseconds, resident_megabytes
from tests.support.remains import held_by

_MEGABYTE = 1 << 20
_DATABASE = "hermes-acp.db"


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment.

    Attributes:
        at: seconds since the soak began.
        resident, database, log, home: megabytes; `log` is what is not yet in the database's file.
        cpu: seconds that the agent has used so far.
        children: processes that the agent has started itself, its guardian too.
        files: in the home; `temporary` those in the directory for temporary files.
        acts: what the people have done so far.
    """

    at: float
    resident: float
    threads: int
    descriptors: int
    sockets: int
    children: int
    cpu: float
    database: float
    log: float
    home: float
    files: int
    temporary: int
    acts: int

    @classmethod
    def of(cls, pid: int, home: Path, temporary: Path, at: float, acts: int) -> Sample:
        """Of a running process and its home."""
        held = held_by(pid)
        sizes = dict(_sizes(home))
        return cls(
            at=round(at, 1),
            resident=round(resident_megabytes(pid), 2),
            threads=held.threads,
            descriptors=held.descriptors,
            sockets=held.sockets,
            children=_children(pid),
            cpu=cpu_milliseconds(pid) / 1000,
            database=round(sizes.get(_DATABASE, 0) / _MEGABYTE, 2),
            log=round(sizes.get(f"{_DATABASE}-wal", 0) / _MEGABYTE, 2),
            home=round(sum(sizes.values()) / _MEGABYTE, 2),
            files=len(sizes),
            temporary=sum(1 for _ in _sizes(temporary)),
            acts=acts,
        )

    def told(self) -> str:
        """In a line."""
        return " ".join(f"{name} {value}" for name, value in asdict(self).items())


def _sizes(directory: Path) -> Iterator[tuple[str, int]]:
    """Each file's path from there, and its bytes."""
    for place, _, names in os.walk(directory):
        for name in names:
            path = Path(place, name)
            with suppress(OSError):  # it is gone meanwhile
                yield str(path.relative_to(directory)), path.lstat().st_size


def _children(pid: int) -> int:
    found = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # it has ended meanwhile
            found += len((thread / "children").read_text(encoding="ascii").split())
    return found
