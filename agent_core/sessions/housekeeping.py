"""What the store does by the clock, on a thread of its own: nobody waits for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import field

from agent_core.errors import StoreError
from tools.light_dataclass import dataclass

# What is done once a day, however long a process lives.

DAY = 24 * 3600.0
"""Seconds."""


@dataclass(slots=True)
class Daily:
    """A job for the store's quiet times: it works when it is called first, and when a day has gone since.

    Attributes:
        clock: seconds since the epoch.
    """

    work: Callable[[], None]
    clock: Callable[[], float]
    _due: float = float("-inf")

    def __call__(self) -> bool:
        """Do it where it is due; there is never more to do."""
        now = self.clock()
        if now >= self._due:
            self._due = now + DAY
            self.work()
        return False


# A thread that works when something is due.

_JOIN = 10.0


class Ticker:
    """A daemon thread that ticks while there is something to do, and sleeps otherwise.

    Args:
        tick: does what is due; seconds until the next time, None: not before `wake`. Must not raise.
    """

    def __init__(self, tick: Callable[[], float | None]) -> None:
        self._tick = tick
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._due: float | None = None
        self._closed = False

    def wake(self, within: float) -> None:
        """There is something to do: tick within so many seconds. The first call starts the thread.

        After `close` nothing happens.
        """
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

    def close(self) -> None:
        """End the thread, after the tick that it is in."""
        self.stop()
        if self._thread is not None:
            self._thread.join(_JOIN)

    def _run(self) -> None:
        while self._sleep():
            pause = self._tick()
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


log = logging.getLogger(__name__)


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


@dataclass(slots=True)
class Housekeeper:
    """Does the chores, one `tick` after the other. Used by one thread.

    Attributes:
        save_waiting: writes journals of running turns, and backlogs that are due; whether there may be more in a
            second. Like all here it waits no longer than a turn would.
        has_backlog: whether something could not be stored so far.
        renew_leases: of sessions that are at work; whether there are any. Raises StoreError.
        writes: how often something was written so far.
        idle_jobs: each does a little, and tells whether there is more to do.
        tidy: what is done once after writing, before the idle jobs.
    """

    save_waiting: Callable[[], bool]
    has_backlog: Callable[[], bool]
    renew_leases: Callable[[], bool]
    writes: Callable[[], int]
    clock: Callable[[], float]
    rhythm: Rhythm
    tidy: Callable[[], None]
    idle_jobs: Sequence[Callable[[], bool]] = ()
    _told: set[str] = field(default_factory=set)
    _renew_at: float = 0.0
    _seen_writes: int = -1
    _quiet_from: float = 0.0
    _overdue_from: float = 0.0
    _jobs: list[Callable[[], bool]] = field(default_factory=list)

    def tick(self) -> float | None:
        """Do what is due now. Seconds until the next is; None if nothing will be until something is written.

        Never raises: what fails is logged, once for each kind of failure, and tried again.
        """
        try:
            return self._tick()
        except Exception as problem:  # noqa: BLE001 - nobody else would look after the sessions
            self._tell("housekeeping", problem)
            return self.rhythm.backlog

    def _tick(self) -> float | None:
        due: list[float] = []
        if self.save_waiting():
            due.append(self.rhythm.checkpoint)
        if self.has_backlog():
            due.append(self.rhythm.backlog)
        due += self._heartbeat()
        due += self._rest()
        return min(due, default=None)

    def _heartbeat(self) -> list[float]:
        now = self.clock()
        if now < self._renew_at:
            return [self._renew_at - now]
        try:
            holds = self.renew_leases()
        except StoreError as problem:
            self._tell("renewing leases", problem)
            return [self.rhythm.backlog]
        if not holds:
            return []
        self._renew_at = now + self.rhythm.heartbeat
        return [self.rhythm.heartbeat]

    def _rest(self) -> list[float]:
        now, writes = self.clock(), self.writes()
        if writes != self._seen_writes:
            self._seen_writes, self._quiet_from = writes, now + self.rhythm.quiet
            if not self._jobs:
                self._overdue_from = now + self.rhythm.overdue
            self._jobs = [self._tidy_once, *self.idle_jobs]
        if not self._jobs:
            return []
        if now >= self._quiet_from:
            self._work_while_quiet()
            return [self.rhythm.quiet] if self._jobs else []
        if now >= self._overdue_from:
            self._work_a_moment()
        return [min(self._quiet_from, self._overdue_from) - now]

    def _work_while_quiet(self) -> None:
        """Go through the jobs until they are done, a turn writes, or something else is due."""
        until = self.clock() + self.rhythm.quiet
        while self._jobs and self.writes() == self._seen_writes and self.clock() < until:
            if not self._has_more(self._jobs[0]):
                del self._jobs[0]

    def _work_a_moment(self) -> None:
        """Have each job done a little, beside turns that write."""
        for job in self._jobs:
            until = self.clock() + self.rhythm.moment
            while self._has_more(job) and self.clock() < until:
                pass
        self._overdue_from = self.clock() + self.rhythm.overdue

    def _has_more(self, job: Callable[[], bool]) -> bool:
        """Let a job do a little; whether there is more to do. One that fails does not keep the others from theirs."""
        try:
            return job()
        except Exception as problem:  # noqa: BLE001 - see above
            self._tell("a job that can wait", problem)
            return False

    def _tidy_once(self) -> bool:
        self.tidy()
        return False

    def _tell(self, what: str, problem: Exception) -> None:
        kind = f"{what}: {type(problem).__name__} {problem.kind if isinstance(problem, StoreError) else ''}"
        if kind in self._told:
            return
        self._told.add(kind)
        trace = None if isinstance(problem, StoreError) else problem
        log.warning("%s failed, and is tried again later: %s", what, problem, exc_info=trace)
