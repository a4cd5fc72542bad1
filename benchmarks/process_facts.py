"""What the system tells of a process. Where there is no `/proc`, only its memory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

HAS_PROC = Path("/proc/self/schedstat").exists()
_VOLUNTARY = "voluntary_ctxt_switches:"


def resident_megabytes(pid: int) -> float:
    """Memory of the process itself, as the system counts it."""
    if HAS_PROC:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(shown.stdout) / 1024


def cpu_milliseconds(pid: int) -> float:
    """What the process has used of the processor so far, threads that have ended too; in steps of 10 ms."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def threads_milliseconds(pid: int) -> float:
    """What the threads that live now have used of the processor so far, to the nanosecond."""
    return sum(int(text.split()[0]) for text in _of_threads(pid, "schedstat")) / 1e6


def wake_ups(pid: int) -> int:
    """How often the threads that live now have gone to sleep of their own will so far."""
    lines = (line for text in _of_threads(pid, "status") for line in text.splitlines())
    return sum(int(line.split()[1]) for line in lines if line.startswith(_VOLUNTARY))


def _of_threads(pid: int, name: str) -> Iterator[str]:
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            yield (thread / name).read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
