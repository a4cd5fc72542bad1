"""What happened in the background, on its way to the model and to the person."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Literal

from agent_core.background.tasks import TaskState
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

NewsKind = Literal["ended", "matched", "told"]
"""`ended`: what was begun in the background is over; `matched`: a watched text was printed; `told`: anything else."""

MOST_WAITING = 200
"""How many news of one session wait at most; of what is older only the number is told."""


@dataclass(frozen=True, slots=True)
class News:
    """Something that a session wants to know without looking.

    Attributes:
        source: what it is about: the id of a task, the name of a hook.
        title: one line, for the person.
        text: for the model, complete in itself; what others have written in it is fenced (`tools.untrusted`).
        at: seconds since the epoch.
        id: names it for ever; made here.
        outcome: how the task ended that it tells the end of, where that is known.
    """

    source: str
    kind: NewsKind
    title: str
    text: str
    at: float = field(default_factory=time.time)
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    outcome: TaskState | None = None


class NewsBox:
    """The news of one session that nobody has delivered yet. Put from any thread, taken by the turn's worker.

    Args:
        waiting: what an earlier process has not delivered.
        keep: stores one, so that it outlives this process; it may block, and does not raise.
        drop: forgets stored ones that no message will tell of, likewise.
    """

    def __init__(
        self,
        waiting: Sequence[News] = (),
        keep: Callable[[News], None] = lambda _: None,
        drop: Callable[[Sequence[News]], None] = lambda _: None,
    ) -> None:
        self._lock = threading.Lock()
        self._waiting = list(waiting)
        self._keep, self._drop = keep, drop
        self._missed = 0
        self._known_ends: set[str] = set()
        self._is_below = False
        self._above: NewsBox | None = None
        self._listeners: list[Callable[[News], None]] = []

    @property
    def missed(self) -> int:
        """How many were too many since the last that were delivered."""
        return self._missed

    def below(self) -> NewsBox:
        """A sub-agent's box. What it has is stored with what this one has, which is told of after a crash."""
        box = NewsBox(keep=self._keep, drop=self._drop)
        box._is_below = True
        return box

    def pass_to(self, above: NewsBox) -> None:
        """Its agent is over: what waits, and what still comes, goes to the one above it."""
        with self._lock:
            self._above, waiting, self._waiting = above, self._waiting, []
        for news in waiting:
            above.put(news)

    def put(self, news: News, first: Callable[[], None] = lambda: None) -> None:
        """Add what happened; it is stored before anybody hears of it.

        Args:
            first: is done in between, and in any case: the end of the task that is told of.
        """
        with self._lock:
            is_known = self._is_known(news)
        if not is_known:
            self._keep(news)
        first()
        if is_known:
            return
        with self._lock:
            above = self._above
            gone, listeners = self._entered(news) if above is None else ([], ())
        if above is not None:
            above.put(news)
        if gone:
            self._drop(gone)
        for listener in listeners:
            try:
                listener(news)
            except Exception:
                # Whoever put it must not suffer from who hears of it.
                log.exception("news of %s were not told", news.source)

    def hold(self, news: News) -> Callable[[], None]:
        """Store what the next process shall tell, should this one die first; returns a function that forgets it."""
        self._keep(news)
        return lambda: self._drop([news])

    def waiting(self) -> tuple[News, ...]:
        """All that nobody has delivered, oldest first; they stay."""
        with self._lock:
            return tuple(self._waiting)

    def delivered(self, news: Sequence[News]) -> None:
        """Forget these: a message that is stored tells the model of them, and has taken them out of the store."""
        gone = {each.id for each in news}
        with self._lock:
            self._waiting = [each for each in self._waiting if each.id not in gone]
            self._missed = 0
        if self._is_below:
            # The message is in the sub-agent's session, and the news are stored with another's.
            self._drop(news)

    def knows_end(self, source: str) -> None:
        """The model has seen for itself how `source` ended: that is no news any more, also if it is still to come."""
        with self._lock:
            self._known_ends.add(source)
            gone = [each for each in self._waiting if self._is_known(each)]
            self._waiting = [each for each in self._waiting if each not in gone]
        if gone:
            self._drop(gone)

    def on_put(self, listener: Callable[[News], None]) -> Callable[[], None]:
        """Call `listener` after each `put`, on its thread; it must be short. Returns a function that ends that."""
        with self._lock:
            self._listeners.append(listener)

        def forget() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return forget

    def _entered(self, news: News) -> tuple[list[News], Sequence[Callable[[News], None]]]:
        """What is forgotten for it, and who is told of it; under the lock."""
        if self._is_known(news):
            return [news], ()
        self._waiting.append(news)
        gone = self._waiting[:-MOST_WAITING]
        del self._waiting[:-MOST_WAITING]
        self._missed += len(gone)
        return gone, tuple(self._listeners)

    def _is_known(self, news: News) -> bool:
        return news.kind == "ended" and news.source in self._known_ends
