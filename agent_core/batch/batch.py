"""Runs the items of a batch in an executor, so many at a time, and stores each result as it comes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import field

from agent_core.batch.items import Item
from agent_core.batch.outcome import FINAL, Outcome
from agent_core.batch.results import Results
from tools.light_dataclass import dataclass

Run = Callable[[Item], Outcome]

_LOOK_AGAIN = 0.5


@dataclass(slots=True)
class Batch:
    """One batch on its way. `stop` may come from any thread, or a signal handler.

    Attributes:
        run: runs one item; what an executor of processes is given must be picklable.
        make_executor: makes who runs it; once more after an executor broke, as one does whose process was killed.
        workers: so many items run at the same time.
        on_done: is told of each result, once it is stored.
    """

    results: Results
    run: Run
    make_executor: Callable[[], Executor]
    workers: int
    on_done: Callable[[Outcome], None] = lambda _: None
    _stopped: threading.Event = field(default_factory=threading.Event)
    _running: dict[Future[Outcome], Item] = field(default_factory=dict)

    def stop(self) -> None:
        """Begin no more items; those that run come to their end."""
        self._stopped.set()

    def go(self, items: Sequence[Item]) -> int:
        """Run `items`; returns how many were not begun, or have to be run again.

        Raises:
            BatchError: a result could not be stored; the rest was not begun.
        """
        waiting, suspects = deque(items), deque[Item]()
        executor = self.make_executor()
        try:
            while not self._stopped.is_set() or self._running:
                usable = self._submit(executor, waiting, suspects)
                if usable and not self._running:
                    break
                broken = self._gather()
                if broken or not usable:
                    executor.shutdown(wait=False, cancel_futures=True)
                    executor = self.make_executor()
                    self._blame(broken, suspects)
        except BaseException:
            self.stop()
            raise
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
        return len(waiting) + len(suspects)

    def _submit(self, executor: Executor, waiting: deque[Item], suspects: deque[Item]) -> bool:
        """Begin as many as may run; False where the executor takes none any more."""
        while not self._stopped.is_set():
            # Whose process died beside others runs alone: so it is known who killed it.
            queue, most = (suspects, 1) if suspects else (waiting, self.workers)
            if not queue or len(self._running) >= most:
                break
            try:
                future = executor.submit(self.run, queue[0])
            except BrokenExecutor:
                return False
            self._running[future] = queue.popleft()
        return True

    def _gather(self) -> list[Item]:
        """Store what is done; the items whose executor broke, if it did."""
        done, _ = wait(self._running, timeout=_LOOK_AGAIN, return_when=FIRST_COMPLETED)
        if any(isinstance(_problem(future), BrokenExecutor) for future in done):
            done, _ = wait(self._running)  # all of them break together
        broken = []
        for future in done:
            item = self._running.pop(future)
            match _problem(future):
                case None:
                    self._store(future.result())
                case BrokenExecutor():
                    broken.append(item)
                case problem:
                    self._store(_failed(item, f"It could not be run: {type(problem).__name__}: {problem}"))
        return broken

    def _blame(self, broken: list[Item], suspects: deque[Item]) -> None:
        if len(broken) == 1 and not self._stopped.is_set():
            self._store(_failed(broken[0], "The process that ran it died (killed, or out of memory). Try it alone."))
        else:
            suspects.extend(broken)

    def _store(self, outcome: Outcome) -> None:
        if outcome.status in FINAL:
            self.results.add(outcome)
        self.on_done(outcome)


def _problem(future: Future[Outcome]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as problem:
        return problem


def _failed(item: Item, error: str) -> Outcome:
    return Outcome(item.id, item.digest, "failed", error=error, cwd=str(item.cwd or ""), more=item.more)
