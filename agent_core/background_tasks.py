"""What a session has begun in the background: what runs, what is over, and how it ended."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Literal

from agent_core.errors import RequestError
from tools.light_dataclass import dataclass

TaskKind = Literal["process", "delegation", "hook"]
TaskState = Literal["running", "paused", "done", "failed", "stopped", "lost"]
"""`lost`: it ran when the agent's process died, and nobody knows how it came out."""

LIVE: frozenset[TaskState] = frozenset({"running", "paused"})
_KEPT_FINISHED = 50
_DONE = {"stop": "stopped", "pause": "paused", "resume": "resumed"}
VERBS = frozenset(_DONE)
"""What may be done to a task, as `TaskControl` has it."""


class TaskError(RequestError):
    """A task cannot do what it was asked; the text says why, for the person."""


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One task as it is now.

    Attributes:
        id: unique in the session.
        title: one line for the person: a command, a goal.
        started_at, ended_at: seconds since the epoch; `ended_at` is None while it lives.
        detail: one line: how it ended («exit code 1»), what it does just now; '' for nothing.
        tells: its end is news.
    """

    id: str
    kind: TaskKind
    title: str
    state: TaskState
    started_at: float
    ended_at: float | None = None
    detail: str = ""
    tells: bool = True

    @property
    def is_live(self) -> bool:
        """Whether it runs, or could go on."""
        return self.state in LIVE


NewsKind = Literal["ended", "matched", "told"]
"""`ended`: what was begun in the background is over; `matched`: a watched text was printed; `told`: anything else."""


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


@dataclass(frozen=True, slots=True)
class TaskControl:
    """What may be done to a task, by its id, from any thread; None: this cannot be done to it. They may block, and
    raise `TaskError`.
    """

    stop: Callable[[str], None] | None = None
    pause: Callable[[str], None] | None = None
    resume: Callable[[str], None] | None = None


class TaskBoard:
    """The tasks of one session. Safe to use from several threads.

    Args:
        known: those of earlier processes; what lived then is lost.
        keep: stores one as it is; it may block, and does not raise.
    """

    def __init__(self, known: Sequence[TaskInfo] = (), keep: Callable[[TaskInfo], None] = lambda _: None) -> None:
        # Held while something changes and is stored, so that what is stored last is what is so.
        self._changing = threading.Lock()
        self._lock = threading.Lock()
        self._tasks = {each.id: each for each in known}
        self._controls: dict[str, TaskControl] = {}
        self._keep = keep

    def begin(
        self, kind: TaskKind, task_id: str, title: str, control: TaskControl | None = None, *, tells: bool = True
    ) -> TaskInfo:
        """A task has begun.

        Args:
            control: how it is stopped, paused and resumed; None where it cannot be.
            tells: its end will be news.
        """
        info = TaskInfo(task_id, kind, " ".join(title.split()), "running", time.time(), tells=tells)
        with self._changing:
            with self._lock:
                self._tasks.pop(task_id, None)
                self._tasks[task_id] = info
                if control is not None:
                    self._controls[task_id] = control
                self._tidy()
            self._keep(info)
        return info

    def update(self, task_id: str, *, detail: str | None = None, state: TaskState | None = None) -> None:
        """A task that lives does something else now, or is paused or running again. One that is over stays so."""
        with self._changing:
            before = self.get(task_id)
            if before is None or not before.is_live:
                return
            now = replace(before, detail=before.detail if detail is None else detail, state=state or before.state)
            self._put(now)
            if now.state != before.state:
                self._keep(now)

    def end(self, task_id: str, state: TaskState, detail: str = "") -> None:
        """A task is over; what it is told of after that counts no more.

        Args:
            state: how it ended: done, failed, stopped or lost.
        """
        with self._changing:
            before = self.get(task_id)
            if before is None or not before.is_live:
                return
            now = replace(before, state=state, ended_at=time.time(), detail=detail)
            self._put(now)
            self._keep(now)

    def list(self) -> tuple[TaskInfo, ...]:
        """All that live, and those that ended lately; oldest first."""
        with self._lock:
            return tuple(self._tasks.values())

    def get(self, task_id: str) -> TaskInfo | None:
        """The task of that id, if there is one."""
        with self._lock:
            return self._tasks.get(task_id)

    def is_busy(self) -> bool:
        """Whether any lives."""
        return any(each.is_live for each in self.list())

    def control(self, task_id: str, verb: str) -> None:
        """Do one of `VERBS` to a task: end it, let it rest, or let one go on that rests. Blocks.

        Raises:
            TaskError: there is none of that id that lives, or that cannot be done to it.
        """
        with self._lock:
            info, control = self._tasks.get(task_id), self._controls.get(task_id)
            live = ", ".join(each.id for each in self._tasks.values() if each.is_live) or "none"
        if info is None:
            raise TaskError(f"There is no task {task_id!r} in this session. Those that run: {live}.")
        if not info.is_live:
            raise TaskError(f"{task_id} is over already ({info.state}). Those that run: {live}.")
        action = None if control is None else getattr(control, verb)
        if action is None:
            raise TaskError(f"{task_id} cannot be {_DONE[verb]}.")
        action(task_id)

    def _put(self, info: TaskInfo) -> None:
        with self._lock:
            self._tasks[info.id] = info
            if not info.is_live:
                self._controls.pop(info.id, None)

    def _tidy(self) -> None:
        over = [name for name, each in self._tasks.items() if not each.is_live]
        for name in over[: max(0, len(over) - _KEPT_FINISHED)]:
            del self._tasks[name]
