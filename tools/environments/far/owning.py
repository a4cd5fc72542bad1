"""Whose things on another machine are: names by which what a process that was killed left behind is found later."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import socket
import uuid
from pathlib import Path

PREFIX = "hermes-acp-"
_MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_OWNED = re.compile(rf"{PREFIX}(?P<host>[0-9a-f]{{8}})-(?P<pid>\d+)-(?P<began>\d+)-[0-9a-f]+")


def owned_name() -> str:
    """A new name for something that goes with this process."""
    return f"{own_prefix()}{os.getpid()}-{began(os.getpid())}-{secrets.token_hex(4)}"


def own_prefix() -> str:
    """How the names of what processes of this user's on this machine own begin."""
    return f"{PREFIX}{_host()}-"


def is_left(name: str) -> bool:
    """Whether `name` is of a process of this user's on this machine that is gone."""
    found = _OWNED.fullmatch(name)
    return found is not None and found["host"] == _host() and _is_gone(found["pid"], found["began"])


def _is_gone(pid: str, since: str) -> bool:
    """Whether the process that began then, as names tell it, is no more; another may have its number now."""
    return pid.isdigit() and since.isdigit() and began(int(pid)) != int(since)


def began(pid: int) -> int:
    """What tells a process from a later one of its number; -1 where there is none of it."""
    try:
        facts = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0 if not Path("/proc/self/stat").exists() and _is_alive(pid) else -1
    return int(facts.rpartition(")")[2].split()[19])


def _host() -> str:
    """Whose processes' numbers this process knows: its user's, and those of its own namespace of processes.

    People share accounts of services, and many machines have the same name.
    """
    space = ""
    with contextlib.suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - no path
    facts = f"{socket.gethostname()} {os.getuid()} {space} {_machine()}"
    return hashlib.sha256(facts.encode()).hexdigest()[:8]


def _machine() -> str:
    """What tells this machine from all others, for good."""
    for place in _MACHINE_IDS:
        with contextlib.suppress(OSError):
            if found := place.read_text(encoding="ascii", errors="replace").strip():
                return found
    # On Linux there would be another one with each network that comes or goes.
    return "" if Path("/proc").is_dir() else str(uuid.getnode())


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
