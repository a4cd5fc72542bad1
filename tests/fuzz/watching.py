"""How much a process has of what must not grow: memory, descriptors, threads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Usage:
    """`memory` is resident, in KiB; `children` counts processes whose parent it is, `ticks` the
    processor's time."""

    memory: int
    descriptors: int
    threads: int
    children: int
    ticks: int

    def __str__(self) -> str:
        return (
            f"{self.memory / 1024:.0f} MiB, {self.descriptors} descriptors, {self.threads} threads, "
            f"{self.children} children"
        )


def _children(task: Path) -> int:
    try:
        return len(task.read_text().split())
    except OSError:
        return 0  # the thread has ended meanwhile


def usage(pid: int) -> Usage:
    """What the process has now (Linux)."""
    root = Path("/proc") / str(pid)
    status = dict(line.split(":", 1) for line in (root / "status").read_text().splitlines())
    children = sum(map(_children, root.glob("task/*/children")))
    fields = (root / "stat").read_text().rpartition(")")[2].split()
    return Usage(
        memory=int(status["VmRSS"].split()[0]),
        descriptors=len(list((root / "fd").iterdir())),
        threads=int(status["Threads"]),
        children=children,
        ticks=int(fields[11]) + int(fields[12]),
    )
