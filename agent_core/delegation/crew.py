"""Several sub-agents side by side: so many at once, the others in line, each given up that gives no sign."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

from agent_core.delegation.child import Child
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

_GRACE = 0.2
"""Seconds that those who were interrupted get to end by themselves; the turn is answered soon after."""

_STALE_GRACE = 5.0
"""The same for one that was given up, while others go on."""

_LONGEST_LOOK = 60.0


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a sub-agent is given up, in seconds: without a sign of its model, in a tool, and altogether (0: never)."""

    idle: float = 600.0
    tool: float = 1800.0
    whole: float = 0.0


@dataclass(frozen=True, slots=True)
class Crew:
    """Runs `children` until all are over.

    Attributes:
        at_once: how many work at the same time.
        interrupt: ends all of it; each child's `on_end` notifies it.
        is_asking: whether a tool call of that id waits for the person, which is no silence.
    """

    children: Sequence[Child]
    at_once: int
    interrupt: Interrupt
    thresholds: Thresholds
    is_asking: Callable[[str], bool] = lambda _: False

    def run(self) -> None:
        """Blocks until every child has a report.

        Raises:
            ToolInterrupted: the turn is over; every child was told to end.
        """
        waiting, working = deque(self.children), list[Child]()
        while waiting or working:
            while waiting and len(working) < self.at_once:
                child = waiting.popleft()
                if child.is_over:
                    continue
                working.append(child)
                child.start()
            self.interrupt.wait_for(_one_is_over(working), self._next_look(working))
            if self.interrupt.is_set():
                self._interrupt(working)
                raise ToolInterrupted
            for child in working:
                self._look_after(child)
            working = [child for child in working if not child.is_over]

    def _look_after(self, child: Child) -> None:
        if child.is_over:
            return
        if child.stopped_at is not None:
            if child.watch.seconds - child.stopped_at >= _STALE_GRACE:
                child.abandon()
            return
        limits, silence = self.thresholds, child.watch.silence()
        if limits.whole and child.watch.seconds >= limits.whole:
            child.stop("stale", f"It was ended after {limits.whole:g} seconds, as delegation.timeout says.")
        elif not self._may_be_silent(child) and silence.seconds >= (limits.tool if silence.tool else limits.idle):
            where = f"in {silence.tool}" if silence.tool else "from its model"
            child.stop("stale", f"It was given up: no sign {where} for {silence.seconds:.0f} seconds.")

    def _may_be_silent(self, child: Child) -> bool:
        return child.watch.is_paused or any(map(self.is_asking, child.watch.open_calls()))

    def _next_look(self, working: Sequence[Child]) -> float:
        """Seconds until the first of them could be given up."""
        return max(0.01, min((self._patience_with(child) for child in working), default=_LONGEST_LOOK))

    def _patience_with(self, child: Child) -> float:
        if child.stopped_at is not None:
            return _STALE_GRACE - (child.watch.seconds - child.stopped_at)
        limits, silence = self.thresholds, child.watch.silence()
        left = (limits.tool if silence.tool else limits.idle) - silence.seconds
        if self._may_be_silent(child):
            left = _LONGEST_LOOK
        if limits.whole:
            left = min(left, limits.whole - child.watch.seconds)
        return min(left, _LONGEST_LOOK)

    @staticmethod
    def _interrupt(working: Sequence[Child]) -> None:
        until = time.monotonic() + _GRACE
        for child in working:
            child.stop("interrupted", "It was interrupted.")
        for child in working:
            child.join(max(0.0, until - time.monotonic()))
            if not child.is_over:
                child.abandon()


def _one_is_over(working: Sequence[Child]) -> Callable[[], bool]:
    return lambda: any(child.is_over for child in working)
