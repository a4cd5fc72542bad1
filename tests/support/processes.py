"""What the process table says."""

from __future__ import annotations

import subprocess
from pathlib import Path


def has_ended(pid: int) -> bool:
    """True when no process has the id, or only the entry of one that ended is left (a zombie)."""
    if not Path("/proc/self").exists():
        shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return not shown.stdout.strip() or shown.stdout.startswith("Z")
    try:
        facts = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return facts.rpartition(")")[2].split()[0] == "Z"


def ignores(pid: int, number: int) -> bool:
    """Whether a process ignores a signal; True where that cannot be seen."""
    if not Path("/proc/self").exists():
        return True
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    (mask,) = (line.split()[1] for line in lines if line.startswith("SigIgn:"))
    return bool(int(mask, 16) >> (number - 1) & 1)


def open_descriptors() -> int:
    """How many file descriptors this process has open."""
    return len(list(Path("/dev/fd").iterdir()))
