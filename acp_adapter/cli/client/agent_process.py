"""An agent's process: its three pipes, the lines it writes, and its end."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from acp_adapter.cli.client.errors import AgentDied, AgentNotStarted
from tools.environments.guardian import APART, signal_group
from tools.os_compat import SIGKILL

SERVER = (sys.executable, "-P", "-m", "acp_adapter")
"""The command that starts the server of this program."""

_STDERR_LINES = 20
# Ours may try for some seconds to store what another program kept it from storing.
_SECONDS_TO_EXIT = 10.0
_SECONDS_TO_TERMINATE = 2.0


class AgentProcess:
    """A running agent.

    It gets a process group of its own, so that a Ctrl-C at the terminal reaches only the client, which then cancels
    the turn in the protocol's way.
    """

    def __init__(
        self,
        command: Sequence[str],
        on_line: Callable[[bytes | None], None],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start `command`.

        Args:
            command: the program and its arguments.
            on_line: called on a thread of its own with each line of output, then at least once with None.
            cwd: where the process starts; None for the current directory.
            env: its environment; None for a copy of ours.

        Raises:
            AgentNotStarted: there is no such program, or it cannot be run.
        """
        self._command = command
        self._on_line = on_line
        self._stderr_tail: deque[str] = deque(maxlen=_STDERR_LINES)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=env,
                **APART,
            )
        except OSError as error:
            raise AgentNotStarted(
                f"The agent could not be started: {error.strerror or error}: {command[0]}. Check the command."
            ) from error
        self._readers = [
            self._thread(self._read_output, self._process.stdout),
            self._thread(self._read_errors, self._process.stderr),
        ]
        self._watcher = self._thread(self._watch)

    def write(self, line: bytes) -> None:
        """Write a line to the agent.

        Raises:
            AgentDied: the agent no longer reads.
        """
        assert self._process.stdin is not None  # noqa: S101 - it was asked for as a pipe
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise self.death() from error

    def death(self) -> AgentDied:
        """How the agent ended, told with the last lines that it wrote to stderr."""
        try:
            ending = _ending(self._process.wait(_SECONDS_TO_TERMINATE))
            self._readers[1].join(_SECONDS_TO_TERMINATE)
        except subprocess.TimeoutExpired:
            ending = "closed its output but still runs"
        lines = [f"The agent {ending} before it answered: {' '.join(self._command)}"]
        if self._stderr_tail:
            lines += ["The last it wrote to stderr:", *(f"  {line}" for line in self._stderr_tail)]
        else:
            lines.append("It wrote nothing to stderr. Run the command by hand to see what it does.")
        return AgentDied("\n".join(lines))

    def last_words(self) -> str:
        """What the agent, which has ended, wrote to stderr at last if it ended with an exit code for that."""
        return "\n".join(self._stderr_tail) if (self._process.returncode or 0) > 0 else ""

    def close(self, *, patient: bool = True) -> None:
        """End the agent: close its input and wait; then, or at once unless `patient`, terminate and kill it."""
        try:
            self._close_input()
            if not (patient and self._exits_within(_SECONDS_TO_EXIT)):
                self._signal(signal.SIGTERM)
                self._exits_within(_SECONDS_TO_TERMINATE)
        finally:
            if self._process.poll() is None:
                self._signal(SIGKILL)
            self._process.wait()
            self._close_output()

    def _close_input(self) -> None:
        if self._process.stdin is not None:
            with suppress(OSError):  # what it did not read is lost with it
                self._process.stdin.close()

    def _close_output(self) -> None:
        for thread, pipe in zip(self._readers, (self._process.stdout, self._process.stderr), strict=True):
            thread.join(_SECONDS_TO_TERMINATE)
            # A child of the agent may hold the pipe open; then the daemon thread keeps it.
            if pipe is not None and not thread.is_alive():
                pipe.close()
        self._watcher.join(_SECONDS_TO_TERMINATE)

    def _exits_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _signal(self, number: signal.Signals) -> None:
        signal_group(self._process.pid, number)

    def _read_output(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            self._on_line(line)
        self._on_line(None)

    def _read_errors(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            self._stderr_tail.append(line.decode("utf-8", "replace").rstrip())

    def _watch(self) -> None:
        self._process.wait()
        self._readers[0].join(_SECONDS_TO_TERMINATE)
        self._on_line(None)

    @staticmethod
    def _thread(target: Callable[..., None], *args: object) -> threading.Thread:
        thread = threading.Thread(target=target, args=args, daemon=True)
        thread.start()
        return thread


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
