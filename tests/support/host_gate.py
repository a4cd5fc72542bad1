"""A gate in front of hosts that answers as the test says, and remembers what it was asked."""

from __future__ import annotations

import threading

from tools.ports import Interrupt


class ScriptedGate:
    """Says yes to the hosts in `allowed` ("*": to all). With `holds` it waits for `release`, or its interrupt."""

    def __init__(self, *allowed: str, holds: bool = False) -> None:
        self._allowed = allowed
        self._is_released = not holds
        self._interrupts: list[Interrupt] = []
        self._lock = threading.Lock()
        self.asked: list[tuple[str, int, str]] = []
        self.withdrawn = threading.Event()
        self.was_asked = threading.Event()
        self.were_reached = 0

    def may_connect(self, host: str, port: int, interrupt: Interrupt, inside: str = "") -> bool:
        with self._lock:
            self.asked.append((host, port, inside))
            self._interrupts.append(interrupt)
        self.was_asked.set()
        if not interrupt.wait_for(lambda: self._is_released, 20):
            self.withdrawn.set()
            return False
        return "*" in self._allowed or host in self._allowed

    def reached(self) -> None:
        self.were_reached += 1

    def release(self) -> None:
        self._is_released = True
        with self._lock:
            for interrupt in self._interrupts:
                interrupt.notify()
