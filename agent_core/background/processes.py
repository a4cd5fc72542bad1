"""What a session's background processes do, as tasks and as news."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import field

from agent_core.background.news import NewsBox
from agent_core.background.tasks import TaskBoard, TaskControl, TaskError, TaskState
from agent_core.background.telling import ended, how_it_ended, matched, was_stopped
from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.shell.session import Processes, ProcessEvent, ProcessInfo


def follow(processes: Processes, news: NewsBox, tasks: TaskBoard, session_id: str) -> Callable[[], None]:
    """Put what the processes do from now on into `news` and `tasks`; returns a function that ends that."""
    return processes.subscribe(_Follower(processes, news, tasks, session_id).hear)


@dataclass(slots=True)
class _Follower:
    processes: Processes
    news: NewsBox
    tasks: TaskBoard
    session_id: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    known: set[str] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)

    def hear(self, event: ProcessEvent) -> None:
        """Take in one event."""
        info = event.info
        self._begin(info)
        if event.match is not None:
            self.tasks.update(info.id, detail=event.match.line)
            self.news.put(matched(info, event.match, self.session_id))
        elif event.kind in {"ended", "completed"}:
            self._end(info, is_wanted=event.kind == "completed")

    def _begin(self, info: ProcessInfo) -> None:
        with self.lock:
            is_new = info.id not in self.known
            self.known.add(info.id)
        if is_new:
            self.tasks.begin("process", info.id, info.command, TaskControl(self._stop), tells=info.notifies)

    def _end(self, info: ProcessInfo, *, is_wanted: bool) -> None:
        by_person = info.id in self.stopped
        state: TaskState = "stopped" if by_person or was_stopped(info) else "failed" if info.exit_code else "done"

        state = "failed" if state == "done" and info.signal else state

        def end() -> None:
            self.tasks.end(info.id, state, how_it_ended(info))

        if by_person:
            # The model would look for it in vain.
            self.news.put(ended(info, state, "", self.session_id, by="the user"), end)
        elif is_wanted:
            self.news.put(ended(info, state, self._output(info.id), self.session_id), end)
        else:
            end()

    def _output(self, name: str) -> str:
        try:
            return self.processes.log(name).output
        except ToolError:  # forgotten already
            return ""

    def _stop(self, name: str) -> None:
        self.stopped.add(name)
        try:
            self.processes.kill(name)
        except ToolError as problem:
            raise TaskError(f"{name} could not be stopped: {problem}") from problem
