"""Methods beside the SDK's: those of the protocol that it does not route, the community's, and our own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from acp_adapter.desk import steer
from acp_adapter.session_manager import RunBlocking, SessionManager
from agent_core.activity import Doing
from agent_core.background.tasks import TaskInfo
from agent_core.errors import RequestError
from agent_core.factory import AgentFactory

Params = Mapping[str, Any]
Json = dict[str, Any]
Submit = Callable[[str, str], Awaitable[None]]

DELETE, LOGOUT = "session/delete", "logout"
STEERING, REWIND = "session/steering", "hermes/session/rewind"
ACTIVITY, TASKS = "hermes/session/activity", "hermes/session/tasks"


class Extensions:
    """The methods by name, without the underscore that those outside the protocol have on the wire."""

    def __init__(
        self, factory: AgentFactory, sessions: SessionManager, run_blocking: RunBlocking, submit: Submit
    ) -> None:
        """Make it.

        Args:
            submit: begins a turn of a session (by id) with a text, which nobody waits for.
        """
        self._factory = factory
        self._sessions = sessions
        self._run_blocking = run_blocking
        self._submit = submit
        self.methods: Mapping[str, Callable[[Params], Awaitable[Json]]] = {
            DELETE: self._delete,
            LOGOUT: self._logout,
            STEERING: self._steer,
            REWIND: self._rewind,
            ACTIVITY: self._activity,
            TASKS: self._tasks,
        }

    async def _delete(self, params: Params) -> Json:
        """ACP `session/delete`."""
        await self._sessions.delete(_session_id(params))
        return {}

    async def _logout(self, params: Params) -> Json:  # noqa: ARG002 - every method has the same form
        """ACP `logout`: sessions that are open go on, no other one is opened."""
        await self._run_blocking(self._factory.sign_out)
        return {}

    async def _rewind(self, params: Params) -> Json:
        from acp_adapter.rewinding import rewind_session  # noqa: PLC0415 - most people never undo

        session = await self._sessions.reach(_session_id(params))
        try:
            library, notes = self._factory.sessions, self._factory.memory_files
            return await rewind_session(library, session, params, self._run_blocking, notes)
        finally:
            self._sessions.rest(session)

    async def _activity(self, params: Params) -> Json:
        """`_hermes/session/activity`: what the session's agent is doing, and since when (seconds since the epoch).

        Returns:
            activity (idle, waiting_for_model, receiving, running, asking, compressing), detail, since, turnSince.
        """
        session = await self._sessions.reach(_session_id(params))
        try:
            doing = Doing() if session.services is None else session.services.activity.now()
        finally:
            self._sessions.rest(session)
        times = {"since": doing.since, "turnSince": doing.turn_since}
        return {"activity": doing.kind, "detail": doing.detail, **{name: at for name, at in times.items() if at}}

    async def _tasks(self, params: Params) -> Json:
        """`_hermes/session/tasks`: what was begun in the background of the session, oldest first.

        With `action` (stop, pause, resume) and `taskId` that is done before.

        Returns:
            tasks: each with id, kind (process, delegation, hook), title, state (running, paused, done, failed,
            stopped, lost), detail, tells (its end is news), startedAt and endedAt (seconds since the epoch, null for
            none); waiting: how many news no turn has told the model of yet.
        """
        from acp_adapter.commands.tasks import (  # noqa: PLC0415 - few clients ask
            VERBS,
            control_task,
            news_waiting,
            session_tasks,
        )

        session = await self._sessions.reach(_session_id(params))
        action, task_id = params.get("action"), params.get("taskId")
        known = isinstance(action, str) and action in VERBS and isinstance(task_id, str)
        if action is not None and not known:
            raise RequestError(f"action must be one of {', '.join(sorted(VERBS))}, with the taskId of a task.")

        def told() -> Json:
            if action is not None:
                control_task(self._factory, session, str(action), str(task_id))
            tasks = session_tasks(self._factory, session)
            return {"tasks": [task_json(task) for task in tasks], "waiting": news_waiting(self._factory, session)}

        try:
            return await self._run_blocking(told)
        finally:
            self._sessions.rest(session)

    async def _steer(self, params: Params) -> Json:
        """`_session/steering`, in the form that other agents gave it: words for the turn that runs.

        Returns:
            outcome: injected; promptRequired where no turn runs and the client asks to be told so; else
            startedNewTurn.
        """
        session = await self._sessions.reach(_session_id(params))
        text = _text_of(params.get("prompt"))
        if steer(session, text):
            return {"outcome": "injected"}
        if _wants_to_prompt(params):
            return {"outcome": "promptRequired", "reason": "noRunningTurn"}
        await self._submit(session.id, text)
        return {"outcome": "startedNewTurn"}


def task_json(task: TaskInfo) -> Json:
    """A task as `_hermes/session/tasks` tells it."""
    return {
        "id": task.id,
        "kind": task.kind,
        "title": task.title,
        "state": task.state,
        "detail": task.detail,
        "tells": task.tells,
        "startedAt": task.started_at,
        "endedAt": task.ended_at,
    }


def _session_id(params: Params) -> str:
    session_id = params.get("sessionId")
    if not isinstance(session_id, str):
        raise RequestError("sessionId must be the id of a session.")
    return session_id


def _text_of(prompt: object) -> str:
    blocks = prompt if isinstance(prompt, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    if not blocks or len(texts) != len(blocks) or not all(isinstance(text, str) for text in texts):
        raise RequestError("prompt must be a list of text blocks: only words can be given to a running turn.")
    text = "\n\n".join(map(str, texts)).strip()
    if not text:
        raise RequestError("The prompt is empty. Send at least one text block with something in it.")
    return text


def _wants_to_prompt(params: Params) -> bool:
    meta = params.get("_meta")
    steering = meta.get("steering") if isinstance(meta, dict) else None
    return isinstance(steering, dict) and steering.get("idleBehavior") == "promptRequired"
