"""What is remembered over sessions, as tools get it: every change passes the gate first."""

from __future__ import annotations

from collections.abc import Sequence

from tools.approval.actions import WriteMemory
from tools.approval.gate import Gate
from tools.memory_port import Memory, MemoryChange, MemoryOperation, MemoryTarget


class GatedMemory:
    """A `Memory` that asks before a change is made."""

    def __init__(self, inner: Memory, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    def plan(self, target: MemoryTarget, operations: Sequence[MemoryOperation]) -> MemoryChange:
        """What a batch would do; nothing is asked yet."""
        return self._inner.plan(target, operations)

    def commit(self, change: MemoryChange) -> MemoryChange:
        """Ask with what would change, then do it.

        Raises:
            MemoryRefused, Denied, ToolInterrupted.
        """
        self._gate.authorize(WriteMemory(change.target, change.path, change.before, change.after))
        return self._inner.commit(change)
