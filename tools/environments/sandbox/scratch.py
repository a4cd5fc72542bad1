"""A directory of the sandbox's own, for what programs put down and nobody keeps."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from tools.environments.own_directories import OwnDirectory
from tools.environments.sandbox.port import Level


class Scratch:
    """One for a session, made when it is first needed; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._directory: OwnDirectory | None = None
        self._is_closed = False

    def path(self) -> Path:
        """The directory, for the user alone; resolved.

        Raises:
            OSError: it cannot be made, or the session has ended.
        """
        with self._lock:
            if self._is_closed:
                raise OSError("The session has ended: no command of it begins any more.")
            if self._directory is not None and not self._directory.path.is_dir():
                self._directory.close()
                self._directory = None
            if self._directory is None:
                self._directory = OwnDirectory("hermes-sandbox-")
            return self._directory.path

    def variables(self, level: Level) -> Mapping[str, str]:
        """What tells programs of it.

        Raises:
            OSError: it cannot be made.
        """
        path = str(self.path())
        # The person's own directory for run-time files is full of sockets and sign-ins.
        found = {"XDG_RUNTIME_DIR": path}
        return found | {"TMPDIR": path} if level == "read-only" else found

    def close(self) -> None:
        """Remove it with all that is in it; there is none any more."""
        with self._lock:
            self._is_closed = True
            if self._directory is not None:
                self._directory.close()
            self._directory = None
