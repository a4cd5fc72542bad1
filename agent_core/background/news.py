"""What happened in the background, on its way to the model and to the person."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

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
    """

    source: str
    kind: NewsKind
    title: str
    text: str
    at: float = field(default_factory=time.time)
    id: str = field(default_factory=lambda: secrets.token_hex(8))


class NewsBox:
    """The news of one session that nobody has delivered yet. Put from any thread, taken by the turn's worker.

    Args:
        waiting: what an earlier process has not delivered.
        keep: stores one, so that it outlives this process; it may block, and does not raise.
    """

    def __init__(self, waiting: Sequence[News] = (), keep: Callable[[News], None] = lambda _: None) -> None:
        self._lock = threading.Lock()
        self._waiting = deque(waiting, MOST_WAITING)
        self._keep = keep
        self._listeners: list[Callable[[News], None]] = []

    def put(self, news: News) -> None:
        """Add what happened; it is stored before anybody hears of it."""
        self._keep(news)
        with self._lock:
            self._waiting.append(news)
            listeners = tuple(self._listeners)
        for listener in listeners:
            try:
                listener(news)
            except Exception:
                # Whoever put it must not suffer from who hears of it.
                log.exception("news of %s were not told", news.source)

    def waiting(self) -> tuple[News, ...]:
        """All that nobody has delivered, oldest first; they stay."""
        with self._lock:
            return tuple(self._waiting)

    def delivered(self, news: Sequence[News]) -> None:
        """Forget these: the model has been told of them."""
        gone = {each.id for each in news}
        with self._lock:
            self._waiting = deque((each for each in self._waiting if each.id not in gone), MOST_WAITING)

    def take(self) -> tuple[News, ...]:
        """All that nobody has delivered; each is given once."""
        with self._lock:
            taken = tuple(self._waiting)
            self._waiting.clear()
        return taken

    def on_put(self, listener: Callable[[News], None]) -> Callable[[], None]:
        """Call `listener` after each `put`, on its thread; it must be short. Returns a function that ends that."""
        with self._lock:
            self._listeners.append(listener)

        def forget() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return forget
