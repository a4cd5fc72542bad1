"""What the person has allowed for the rest of a session: exactly the action asked about, nothing wider."""

from __future__ import annotations

import threading

from tools.approval.actions import Action, ReadPath, RunCommand, WritePath

GrantKey = tuple[str, str]


class Grants:
    """The «always» answers of one session; safe to use from several threads."""

    def __init__(self) -> None:
        self._keys: set[GrantKey] = set()
        self._lock = threading.Lock()

    def add(self, action: Action) -> None:
        """Allow `action`, and every action with the same scope, from now on."""
        with self._lock:
            self._keys.add(scope(action))

    def covers(self, action: Action) -> bool:
        """True when an earlier answer allowed this."""
        with self._lock:
            return scope(action) in self._keys


def scope(action: Action) -> GrantKey:
    """What «always» means for an action: this file for reading or editing, this exact command in this directory."""
    match action:
        case ReadPath(path=path):
            return "read", str(path)
        case WritePath(path=path, after=None):
            return "delete", str(path)
        case WritePath(path=path):
            return "write", str(path)
        case RunCommand(command=command, cwd=cwd):
            return "run", f"{cwd}\0{command}"
