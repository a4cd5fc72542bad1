"""What the store does by the clock, on a thread of its own: nobody waits for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from agent_core.errors import StoreError
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

_JOIN = 10.0

Job = Callable[[], object]
"""Does a little of what can wait; true where there is more to do."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """When what is due. All times are seconds, on a monotonic clock.

    Attributes:
        checkpoint: how often the journals of running turns are written.
        retry: how often what could not be stored is tried again while its turn goes on.
        backlog: the same while nothing else happens.
        heartbeat: how often leases are renewed.
        quiet: how long nothing must have been written before jobs begin that can wait.
        overdue: how long they wait at most: with many sessions at work it is never quiet.
        moment: how long they may take then.
        patience: how long a turn waits for a busy database.
        bearable: how long others may keep it busy before the person is told.
        at_end: how long the end of the process waits for what could not be stored.
    """

    checkpoint: float = 1.0
    retry: float = 1.0
    backlog: float = 3.0
    heartbeat: float = 10.0
    quiet: float = 1.0
    overdue: float = 10.0
    moment: float = 0.1
    patience: float = 0.25
    bearable: float = 3.0
    at_end: float = 5.0


class Housekeeper:
    """A daemon thread that ticks while there is something to do, and sleeps otherwise.

    Args:
        chores: each does what is due; seconds until it is due again, None: not before something is written.
        writes: how often something was written so far, so that quiet times can be seen.
        idle_jobs: what is done in quiet times after something was written.
        background: have the thread; without it somebody calls `tick`.
    """

    def __init__(
        self,
        chores: Sequence[Callable[[], float | None]],
        writes: Callable[[], int],
        clock: Callable[[], float],
        rhythm: Rhythm,
        idle_jobs: Sequence[Job] = (),
        *,
        background: bool = True,
    ) -> None:
        self._chores = (*chores, self._rest)
        self._writes = writes
        self._clock = clock
        self._rhythm = rhythm
        self._idle_jobs = idle_jobs
        self._jobs: list[Job] = []
        self._seen_writes = -1
        self._quiet_from = self._overdue_from = 0.0
        self._logged: set[str] = set()
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._due: float | None = None
        self._closed = not background

    def wake(self, within: float) -> None:
        """There is something to do: tick within so many seconds. The first call starts the thread."""
        with self._condition:
            if self._closed:
                return
            self._set_due(within)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="session-housekeeping", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Begin no other tick."""
        with self._condition:
            self._closed = True
            self._condition.notify()

    def join(self) -> None:
        """Wait for the tick that the thread is in."""
        if self._thread is not None:
            self._thread.join(_JOIN)

    def tick(self) -> float | None:
        """Do what is due now; seconds until something is again, None: not before something is written.

        Never raises: what fails is logged, once for each kind of failure, and tried again.
        """
        due: list[float] = []
        for chore in self._chores:
            try:
                pause = chore()
            except Exception as problem:  # noqa: BLE001 - nobody else would look after the sessions
                self._log(problem)
                pause = self._rhythm.backlog
            if pause is not None:
                due.append(pause)
        return min(due, default=None)

    def _run(self) -> None:
        while self._sleep():
            pause = self.tick()
            if pause is not None:
                with self._condition:
                    self._set_due(pause)

    def _sleep(self) -> bool:
        """Wait until a tick is due; False once it is closed."""
        with self._condition:
            while not self._closed:
                left = None if self._due is None else self._due - time.monotonic()
                if left is not None and left <= 0:
                    self._due = None
                    return True
                self._condition.wait(left)
        return False

    def _set_due(self, within: float) -> None:
        due = time.monotonic() + within
        if self._due is None or due < self._due:
            self._due = due
            self._condition.notify()

    def _rest(self) -> float | None:
        """Go through the idle jobs while nobody writes; a moment of each where that never happens."""
        now, writes, rhythm = self._clock(), self._writes(), self._rhythm
        if writes != self._seen_writes:
            if not self._jobs:
                self._overdue_from = now + rhythm.overdue
            self._seen_writes, self._quiet_from, self._jobs = writes, now + rhythm.quiet, list(self._idle_jobs)
        if not self._jobs:
            return None
        if now >= self._quiet_from:
            while self._jobs and self._writes() == writes and self._clock() < now + rhythm.quiet:
                if not self._has_more(self._jobs[0]):
                    del self._jobs[0]
            return rhythm.quiet if self._jobs else None
        if now >= self._overdue_from:
            for job in self._jobs:
                until = self._clock() + rhythm.moment
                while self._has_more(job) and self._clock() < until:
                    pass
            self._overdue_from = self._clock() + rhythm.overdue
        return min(self._quiet_from, self._overdue_from) - now

    def _has_more(self, job: Job) -> bool:
        """Let a job do a little. One that fails does not keep the others from theirs."""
        try:
            return bool(job())
        except Exception as problem:  # noqa: BLE001 - see above
            self._log(problem)
            return False

    def _log(self, problem: Exception) -> None:
        kind = f"{type(problem).__name__} {problem.kind if isinstance(problem, StoreError) else ''}"
        if kind not in self._logged:
            self._logged.add(kind)
            trace = None if isinstance(problem, StoreError) else problem
            log.warning("housekeeping failed, and is tried again later: %s", problem, exc_info=trace)
