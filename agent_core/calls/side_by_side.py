"""Lets calls that come one by one, from several threads, run beside each other as far as their tools bear it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from agent_core.calls.batches import PlannedCall, are_compatible
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import Interrupt


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    call: PlannedCall
    interrupt: Interrupt


class SideBySide:
    """The calls that run or wait, in the order in which they came. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[_Entry] = []

    @contextmanager
    def entered(self, call: PlannedCall, interrupt: Interrupt) -> Iterator[None]:
        """Wait until the call may run beside those before it; then it does until the block's end.

        Raises:
            ToolInterrupted: its turn was over first.
        """
        mine = _Entry(call, interrupt)
        with self._lock:
            self._entries.append(mine)
        try:
            if not interrupt.wait_for(lambda: self._may_run(mine)):
                raise ToolInterrupted
            yield
        finally:
            with self._lock:
                self._entries.remove(mine)
                others = tuple(self._entries)
            for other in others:
                other.interrupt.notify()

    def _may_run(self, mine: _Entry) -> bool:
        with self._lock:
            before = self._entries[: self._entries.index(mine)]
        return all(are_compatible(other.call, mine.call) for other in before)
