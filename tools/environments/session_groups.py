"""The process groups that one session's commands have started and that may still be alive."""

from __future__ import annotations

import secrets
import subprocess
import threading

from tools.environments.guardian import Guardian
from tools.environments.marked import VARIABLE, kill_marked
from tools.environments.process_groups import group_is_alive, signal_group
from tools.os_compat import SIGKILL


class SessionGroups:
    """Keeps groups registered with the guardian for as long as a process of them lives; safe from several threads."""

    def __init__(self, guardian: Guardian) -> None:
        self._guardian = guardian
        self._mark = f"{guardian.mark}.{secrets.token_hex(4)}"
        self._is_used = False
        self._lock = threading.Lock()
        # Groups that are alive, or were when last seen, by their number: the process id of their shell.
        self._groups: dict[int, subprocess.Popen[bytes]] = {}
        # Those whose shell is being watched: only their own watch may reap it.
        self._watched: set[int] = set()

    @property
    def mark(self) -> str:
        """Of what is started for this session; begins the marks of what is to be found by itself."""
        return self._mark

    @property
    def variables(self) -> dict[str, str]:
        """What a command has to have in its environment, so that what leaves its group is found again."""
        return {VARIABLE: self._mark}

    def prepare(self) -> None:
        """Call it before a command starts."""
        self._is_used = True
        self.forget_dead()
        self._guardian.ready()

    def add(self, process: subprocess.Popen[bytes]) -> None:
        """Register the group that `process` leads, and whose end somebody watches until `watched`."""
        self._guardian.add(process.pid)
        with self._lock:
            self._groups[process.pid] = process
            self._watched.add(process.pid)

    def watched(self, process: subprocess.Popen[bytes]) -> None:
        """Nobody watches the process any more; what it has left in the background may live on."""
        with self._lock:
            self._watched.discard(process.pid)
        self._forget_if_dead(process)

    def any_alive(self) -> bool:
        """Whether a process of any group is alive."""
        self.forget_dead()
        with self._lock:
            return bool(self._groups)

    def forget_dead(self) -> None:
        """Drop the groups of which nobody is left."""
        with self._lock:
            known = list(self._groups.values())
        for process in known:
            self._forget_if_dead(process)

    def kill_all(self) -> None:
        """Kill every process of every group, watched ones too, and what has left its group."""
        with self._lock:
            for group in self._groups:
                signal_group(group, SIGKILL)
            left = [process for group, process in self._groups.items() if group not in self._watched]
            for process in left:
                # Nothing survives that signal: no need to see the group go.
                del self._groups[process.pid]
        for process in left:
            self._guardian.discard(process.pid)
        if self._is_used:
            kill_marked(self._mark)

    def _forget_if_dead(self, process: subprocess.Popen[bytes]) -> None:
        group = process.pid
        with self._lock:
            if group in self._watched or process.poll() is None or group_is_alive(group):
                return
            self._groups.pop(group, None)
        self._guardian.discard(group)
