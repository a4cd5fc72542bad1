"""What a process of ours and all that it has started hold, as the kernel tells it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes import has_ended


@dataclass(frozen=True, slots=True)
class Held:
    """What a process holds."""

    threads: int
    sockets: int
    descriptors: int


def held_by(pid: int) -> Held:
    process = Path(f"/proc/{pid}")
    threads = sum(1 for _ in (process / "task").iterdir())
    links = list(_links(process / "fd"))
    return Held(threads, sum(1 for link in links if link.startswith("socket:")), len(links))


def running_with(variable: str, value: str) -> dict[int, str]:
    """The command lines of all processes that were started with this variable, and of their descendants."""
    marked = f"\0{variable}={value}\0".encode()
    parents: dict[int, int] = {}
    found: set[int] = set()
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        pid = int(process.name)
        try:
            parents[pid] = int((process / "stat").read_bytes().rpartition(b") ")[2].split()[1])
            if marked in b"\0" + (process / "environ").read_bytes() + b"\0":
                found.add(pid)
        except OSError:  # it is gone, or somebody else's
            continue
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return {pid: _command_of(pid) for pid in sorted(found) if not has_ended(pid)}


def _links(directory: Path) -> Iterator[str]:
    for entry in directory.iterdir():
        try:
            yield str(entry.readlink())
        except OSError:  # closed meanwhile
            continue


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""
