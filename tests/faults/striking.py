"""In the agent's process: whether a call is where a fault strikes, and the striking."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.fault import HALF, HANG, KILL, PART, SLOW, Fault

OURS = ("acp_adapter.", "agent_core.", "tools.")
_exists, _open, _write = os.path.exists, os.open, os.write
_SLOW_SECONDS = 0.05


@dataclass
class Strike:
    """One fault of the plan, which counts the calls that fit."""

    number: int
    fault: Fault
    struck: Path
    _seen: int = 0
    _told: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def meets(self, when: str, path: str, *, writing: bool = True, content: bytes = b"") -> bool:
        """Whether the fault strikes at this call."""
        fault = self.fault
        if fault.holds.encode() not in content:
            return False
        if fault.when != when or (fault.path and fault.path not in f"{path}|") or (fault.writing and not writing):
            return False
        if fault.during and not _exists(fault.during):
            return False
        if fault.caller and not _called_by(fault.caller):
            return False
        with self._lock:
            self._seen += 1
            return self._seen == fault.nth if fault.once or fault.act in {KILL, HALF} else self._seen >= fault.nth

    def do(self, path: str) -> None:
        """Strike. Raises OSError where the call fails."""
        self.tell()
        act = self.fault.act
        if act == KILL:
            die()
        if act == SLOW:
            time.sleep(_SLOW_SECONDS)
        elif act == HANG:
            while _exists(self.fault.during):
                time.sleep(0.01)
        elif act not in {HALF, PART}:
            raise self.error(path)

    def error(self, path: str) -> OSError:
        """The error that the call fails with."""
        code = self.code
        return OSError(code, os.strerror(code), path) if path else OSError(code, os.strerror(code))

    @property
    def code(self) -> int:
        """The errno; 0 for what is no error."""
        return int(getattr(errno, self.fault.act, 0))

    def tell(self) -> None:
        """Note that it struck."""
        if self._told:
            return
        self._told = True
        file = _open(self.struck, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        _write(file, f"{self.number}\n".encode())
        os.close(file)


def die() -> None:
    """kill -9 of this process, here."""
    os.kill(os.getpid(), signal.SIGKILL)
    threading.Event().wait()


def _called_by(caller: str) -> bool:
    """Whether the nearest function of ours is in that module, behind those of the standard library."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith(OURS):
            return name.startswith(caller)
        frame = frame.f_back
    return False
