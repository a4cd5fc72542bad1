"""This machine as if it were another one, with a shell of the test's choice."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from tools.environments.remote.connection import Streams


class LocalMachine:
    """Implements `Machine`. `greeting` is what the shell prints before anything else, as some people's do."""

    def __init__(self, shell: Sequence[str] = ("sh",), greeting: str = "") -> None:
        self.shell = tuple(shell)
        self.greeting = greeting

    @property
    def name(self) -> str:
        return "the near machine"

    def connect(self, script: str, streams: Streams) -> subprocess.Popen[bytes]:
        return self._popen(self._greeted(script), streams)

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:

        return self._popen(self._greeted(script), streams)

    def why(self, complaint: str) -> str:
        return f"It could not be reached: {complaint}"

    def never_started(self, complaint: str, /) -> bool:
        return False

    def close(self) -> None:
        return

    def _greeted(self, script: str) -> str:
        return f"printf '%s\\n' '{self.greeting}'\n{script}" if self.greeting else script

    def _popen(self, script: str, streams: Streams) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*self.shell, "-c", script],
            stdin=streams.stdin,
            stdout=streams.stdout,
            stderr=streams.stderr,
            start_new_session=True,
        )
