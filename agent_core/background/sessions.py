"""The news and tasks of the sessions of one process, each kept as long as its session is live."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from agent_core.background.news import News, NewsBox
from agent_core.background.processes import follow
from agent_core.background.tasks import TaskBoard, TaskInfo
from agent_core.background.telling import cut_off, lost
from agent_core.errors import StoreError
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tools.shell.session import Processes

log = logging.getLogger(__name__)


class Kept(Protocol):
    """Where they outlive the process. What stores does not raise; what reads raises `StoreError`."""

    def keep_news(self, session_id: str, news: News) -> None:
        """Store one."""
        ...

    def drop_news(self, session_id: str, news: Sequence[News]) -> None:
        """Forget some."""
        ...

    def keep_task(self, session_id: str, task: TaskInfo) -> None:
        """Store a task as it is now."""
        ...

    def news(self, session_id: str) -> Sequence[News]:
        """What was not delivered."""
        ...

    def tasks(self, session_id: str) -> Sequence[TaskInfo]:
        """The tasks as they were stored."""
        ...


@dataclass(slots=True)
class SessionBackground:
    """What goes on behind the turns of one session. `followed` are the processes that it hears of."""

    news: NewsBox
    tasks: TaskBoard
    followed: Processes | None = None
    forget: Callable[[], None] = lambda: None


class Backgrounds:
    """One `SessionBackground` for each live session. Safe to use from several threads; blocking."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._sessions: dict[str, SessionBackground] = {}

    def of(self, session_id: str) -> SessionBackground:
        """That of a session that this process has taken: what its store says runs, and does not here, is lost."""
        with self._lock:
            found = self._sessions.get(session_id)
            if found is None:
                found = self._sessions[session_id] = self._made(session_id)
            return found

    def follow(self, session_id: str, processes: Processes | None) -> None:
        """Hear of a session's processes from now on, and of no others of it."""
        found = self.of(session_id)
        with self._lock:
            if processes is None or found.followed is processes:
                return
            found.forget()
            found.followed = processes
            found.forget = follow(processes, found.news, found.tasks, session_id)

    def live(self, session_id: str) -> SessionBackground | None:
        """That of a session, if it is there: nothing is read, nothing is lost."""
        with self._lock:
            return self._sessions.get(session_id)

    def tasks(self, session_id: str, *, elsewhere: bool) -> Sequence[TaskInfo]:
        """The tasks of any session, live or stored.

        Args:
            elsewhere: another living process has the session, so that what is stored as running runs.

        Raises:
            StoreError: they cannot be read.
        """
        found = self.live(session_id)
        if found is not None:
            return found.tasks.list()
        stored = self._kept.tasks(session_id)
        return stored if elsewhere else _as_found(stored, self._kept.news(session_id))

    def waiting(self, session_id: str, *, elsewhere: bool) -> int:
        """How many news of any session, live or stored, no message has told of.

        Args:
            elsewhere: as in `tasks`.

        Raises:
            StoreError: they cannot be read.
        """
        found = self.live(session_id)
        if found is not None:
            return len(found.news.waiting())
        stored = self._kept.news(session_id)
        ended = {each.source for each in stored if each.kind == "ended"}
        lost_ones = () if elsewhere else [task for task in self._kept.tasks(session_id) if _loss_is_news(task)]
        return len(stored) + sum(task.id not in ended for task in lost_ones)

    def end(self, session_id: str, why: str) -> None:
        """A session is unloaded or closed: what of it still runs is over.

        Args:
            why: what ended it, for the person and the model: «the session was closed».
        """
        with self._lock:
            found = self._sessions.pop(session_id, None)
        if found is None:
            return
        found.forget()
        for task in found.tasks.list():
            if task.is_live:
                found.tasks.end(task.id, "stopped", why)
                if _loss_is_news(task):
                    # Nobody here is to hear of it: the next process tells the model.
                    self._kept.keep_news(session_id, cut_off(task, why))

    def end_all(self, why: str) -> None:
        """The process ends."""
        with self._lock:
            names = list(self._sessions)
        for name in names:
            self.end(name, why)

    def _made(self, session_id: str) -> SessionBackground:
        kept = self._kept
        try:
            tasks, news = list(kept.tasks(session_id)), list(kept.news(session_id))
        except StoreError:
            log.warning("what went on behind session %s cannot be read", session_id, exc_info=True)
            tasks, news = [], []
        for task, now in zip(tasks, found := _as_found(tasks, news), strict=True):
            if task.is_live:
                # First what will be told: a crash in between tells of it all the same, and once.
                if _loss_is_news(task) and all((each.source, each.kind) != (task.id, "ended") for each in news):
                    news.append(lost(task))
                    kept.keep_news(session_id, news[-1])
                kept.keep_task(session_id, now)
        return SessionBackground(
            NewsBox(
                news,
                keep=lambda each: kept.keep_news(session_id, each),
                drop=lambda gone: kept.drop_news(session_id, gone),
            ),
            TaskBoard(found, keep=lambda task: kept.keep_task(session_id, task)),
        )


def _loss_is_news(task: TaskInfo) -> bool:
    """Whether nothing else tells of a task that was cut off: of a sub-agent that was waited for, its call does."""
    return task.is_live and (task.tells or task.kind != "delegation")


def _as_found(tasks: Sequence[TaskInfo], news: Sequence[News]) -> list[TaskInfo]:
    """Tasks of a process that is no more: what ran is lost, unless it had ended and only its news was stored yet."""
    ends = {each.source: each for each in news if each.kind == "ended" and each.outcome is not None}
    return [_as_over(task, ends.get(task.id)) if task.is_live else task for task in tasks]


def _as_over(task: TaskInfo, end: News | None) -> TaskInfo:
    if end is None or end.outcome is None or end.at < task.started_at:
        return replace(task, state="lost", detail="the agent's process died")
    return replace(task, state=end.outcome, ended_at=end.at, detail=end.title)
