"""Asks whether a command that runs in the sandbox may reach a host, on the card of the call that runs it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from tools.approval.actions import ConnectHost
from tools.approval.asked_time import Stopwatch
from tools.approval.gate import Gate
from tools.errors import Denied, ToolInterrupted
from tools.ports import Interrupt


class RunningCommand:
    """A command, and how long it has waited for the person."""

    def __init__(self, gate: Gate, command: str) -> None:
        self.gate = gate
        self.command = command
        self._watch = Stopwatch()

    def asking(self) -> AbstractContextManager[None]:
        """While it lasts, the person is asked."""
        return self._watch.running()

    def waited(self) -> float:
        """Seconds."""
        return self._watch.seconds()


class GatedHosts:
    """Implements `HostGate` for the commands of one session; safe to use from several threads.

    The sandbox does not say which command a connection belongs to. So the command is shown that was started last;
    what runs in the background asks on the card of the call that has started it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[RunningCommand] = []
        self._last: RunningCommand | None = None

    @contextmanager
    def asking_for(self, gate: Gate, command: str) -> Iterator[RunningCommand]:
        """While it lasts, questions come on the card of `gate`'s call; `waited` tells their seconds."""
        mine = RunningCommand(gate, command)
        with self._lock:
            self._running.append(mine)
            self._last = mine
        try:
            yield mine
        finally:
            with self._lock:
                self._running = [other for other in self._running if other is not mine]

    def forget(self) -> None:
        """Nothing runs any more that was started so far: the calls that have started it are not held any longer."""
        with self._lock:
            if not self._running:
                self._last = None

    def may_connect(self, host: str, port: int, interrupt: Interrupt, inside: str = "") -> bool:
        """As in `HostGate`."""
        asked = self._asking()
        if asked is None:
            return False
        try:
            with asked.asking():
                asked.gate.within(interrupt).authorize(ConnectHost(host, port, inside, asked.command))
        except (Denied, ToolInterrupted):
            return False
        return True

    def reached(self) -> None:
        """As in `HostGate`."""
        if (running := self._asking()) is not None:
            running.gate.approvals.note_others()

    def _asking(self) -> RunningCommand | None:
        """On whose behalf a question comes."""
        with self._lock:
            return self._running[-1] if self._running else self._last
