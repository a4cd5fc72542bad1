"""All that a session has on another machine: its commands, its background processes and its files."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tools.environments.far.cancelling import cancellable
from tools.environments.far.commands import FarEnvironment
from tools.environments.far.file_calls import FileCalls, ProgramCalls
from tools.environments.far.files import FarFileSystem
from tools.environments.far.link import Link
from tools.environments.far.machine import Machine, Streams
from tools.environments.far.probe import FarFacts
from tools.environments.far.search import FarSearch
from tools.environments.far.shell_calls import ShellCalls
from tools.environments.guardian import Guardian
from tools.ports import Interrupt
from tools.settings import ToolSettings

FilesBy = Literal["auto", "python", "sh"]
_OLDEST_PYTHON = (3, 7)


class FarSide:
    """Safe to use from several threads. Nothing is connected before something is asked for.

    Args:
        files_by: what reads and writes files there: its python3 where it is new enough, or its shell.
        private: directories whose files searches do not show.
    """

    def __init__(
        self,
        machine: Machine,
        guardian: Guardian,
        settings: ToolSettings | None = None,
        *,
        files_by: FilesBy = "auto",
        private: tuple[Path, ...] = (),
    ) -> None:
        limits = settings or ToolSettings()
        self.link = Link(machine, guardian)
        self.environment = FarEnvironment(self.link, limits.terminal)
        self._limits = limits
        self._files_by = files_by
        self._private = private
        self._lock = threading.Lock()
        self._calls: FileCalls | None = None

    def facts(self) -> FarFacts:
        """What the machine is.

        Raises:
            CommandError: it cannot be reached.
        """
        return self.environment.facts()

    def files(self, interrupt: Interrupt | None = None) -> FarFileSystem:
        """The files, for work that `interrupt` ends.

        Raises:
            CommandError: it cannot be reached; `Cancelled` where the work was ended before.
        """
        calls = self._file_calls() if interrupt is None else self._reached(interrupt)
        search = FarSearch(self.link, calls, self.facts, self._limits.search, self._private)
        reach = None if interrupt is None else lambda: self._reached(interrupt)
        return FarFileSystem(calls, self.link.machine.name, search, interrupt, reach)

    @contextmanager
    def begin(self, script: str, streams: Streams) -> Iterator[subprocess.Popen[bytes]]:
        """A script there, with a connection, that ends with the block at the latest.

        Raises:
            CommandError: it cannot be reached.
        """
        self.link.footing()
        with self.link.running(script, streams) as process:
            yield process

    def close(self) -> None:
        """End what runs there, and the connection."""
        with self._lock:
            calls, self._calls = self._calls, None
        if calls is not None:
            calls.close()
        self.link.close()

    def _reached(self, interrupt: Interrupt) -> FileCalls:
        """The calls, with a connection; a cancel does not wait for one."""
        if (found := self._calls) is not None and self.link.is_up:
            return found

        def connected() -> FileCalls:
            self.link.footing()
            return self._file_calls()

        return cancellable(connected, interrupt, self.link.machine.name)

    def _file_calls(self) -> FileCalls:
        if (found := self._calls) is not None:
            return found
        python = self.facts().python
        by_program = self._files_by == "python" or (
            self._files_by == "auto" and python is not None and python >= _OLDEST_PYTHON
        )
        with self._lock:
            if self._calls is None:
                self._calls = ProgramCalls(self.link) if by_program else ShellCalls(self.link)
            return self._calls
