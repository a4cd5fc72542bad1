"""`/tasks`: what runs in the background of the session, and how what ran there came out. `/stop` ends the turn."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acp_adapter.commands.command import Desk, Told, Typed
from acp_adapter.commands.markdown import code, plain, table
from agent_core.activity import span
from agent_core.background.tasks import TaskBoard, TaskError, TaskInfo
from agent_core.background.telling import KIND_WORDS, last_line
from agent_core.errors import RequestError
from tools.errors import ToolError

if TYPE_CHECKING:
    from acp_adapter.session import SessionState
    from agent_core.factory import AgentFactory

VERBS = frozenset({"stop", "pause", "resume"})
_USAGE = "`/tasks stop ID` ends one; `pause` and `resume` are for what can be paused."
_TITLE_CHARS = 80


def manage_tasks(typed: Typed, desk: Desk) -> Told:
    """Show the tasks, or do something to one of them.

    Raises:
        RequestError: the words are none of the command's, or it cannot be done.
    """
    match typed.words.split():
        case []:
            return Told(_listed(session_tasks(desk.factory, desk.session), desk))
        case [verb, name] if verb in VERBS:
            now = control_task(desk.factory, desk.session, verb, name)
            # A sub-agent ends with its next step.
            state = "it is being stopped" if verb == "stop" and now.is_live else now.state
            return Told(f"{code(now.id)}: {state}.")
    raise RequestError(f"/tasks does not know {typed.words[:80]!r}; nothing was changed. {_USAGE}")


def stop_turn(_typed: Typed, desk: Desk) -> Told:
    """Cancel everything that was prompted before this command."""
    if desk.session.cancel(before=desk.token):
        return Told("Stopped. `/tasks` shows what still runs in the background.", notice=True)
    return Told("Nothing runs that could be stopped. `/tasks` shows what runs in the background.")


def control_task(factory: AgentFactory, session: SessionState, verb: str, name: str) -> TaskInfo:
    """Do one of `VERBS` to a task of the session, and tell how it is then. Blocks.

    Raises:
        RequestError: there is no such task, or that cannot be done to it; nothing was changed.
    """
    live = factory.background.live(session.id)
    board = TaskBoard() if live is None else live.tasks
    {"stop": board.stop, "pause": board.pause, "resume": board.resume}[verb](name)
    found = board.get(name)
    if found is None:
        raise TaskError(f"{name} is forgotten already.")
    return found


def session_tasks(factory: AgentFactory, session: SessionState) -> Sequence[TaskInfo]:
    """The session's tasks, oldest first, those that run with the last line of what they have printed. Blocks.

    Raises:
        StoreError: they cannot be read.
    """
    found = factory.background.tasks(session.id, elsewhere=_runs_elsewhere(factory, session))
    return [_with_last_line(task, session) for task in found]


def news_waiting(factory: AgentFactory, session: SessionState) -> int:
    """How many news of the session no turn has told the model of. Blocks.

    Raises:
        StoreError: they cannot be read.
    """
    return factory.background.waiting(session.id, elsewhere=_runs_elsewhere(factory, session))


def _runs_elsewhere(factory: AgentFactory, session: SessionState) -> bool:
    if factory.background.live(session.id) is not None:
        return False
    library = factory.sessions
    return library.runs_elsewhere(library.archive.get(session.id))


def _with_last_line(task: TaskInfo, session: SessionState) -> TaskInfo:
    processes = session.workspace.processes
    if task.kind != "process" or not task.is_live or processes is None:
        return task
    try:
        return replace(task, detail=last_line(processes.log(task.id).output) or task.detail)
    except ToolError:  # it runs elsewhere
        return task


def _listed(tasks: Sequence[TaskInfo], desk: Desk) -> str:
    if not tasks:
        return "Nothing was begun in the background of this session."
    now = time.time()
    waiting = desk.session.behind.waiting()
    rows = [
        (code(task.id), KIND_WORDS[task.kind], task.state, _age(task, now), code(_title(task)), _detail(task))
        for task in tasks
    ]
    told = table(("task", "what", "state", "when", "doing", "last heard"), rows)
    if waiting:
        told = f"{told}\n\n{len(waiting)} of its news wait for the next turn."
    return f"{told}\n\n{_USAGE}" if any(task.is_live for task in tasks) else told


def _detail(task: TaskInfo) -> str:
    if task.state == "lost":
        known = (
            f": {code(f'hermes-acp sessions show {task.id}')} has what it did" if task.kind == "delegation" else ""
        )
        return f"{plain(task.detail)}; nobody knows how it came out{known}"
    if task.kind == "delegation" and task.is_live and task.detail:
        return f"uses {code(task.detail)}"
    return plain(task.detail)


def _age(task: TaskInfo, now: float) -> str:
    if task.is_live:
        return f"for {span(now - task.started_at)}"
    if task.ended_at is None:
        return ""
    return f"{span(now - task.ended_at)} ago, after {span(task.ended_at - task.started_at)}"


def _title(task: TaskInfo) -> str:
    return task.title if len(task.title) <= _TITLE_CHARS else f"{task.title[: _TITLE_CHARS - 1]}…"
