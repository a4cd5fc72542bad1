"""What becomes of news of the background while no turn of their session runs.

ACP has no turn without a prompt: an editor shows that the agent works, and lets the person cancel it, while a prompt
waits for its answer. So a turn of its own is begun only for a client that says that it shows those
(`clientCapabilities._meta.hermes.backgroundTurns`), or where the person wants it (`background.turns`). Otherwise the
person is told by a notice, and the model with the next prompt.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal

from acp_adapter.client_io.elicitation import EditorQuestions
from acp_adapter.jsonrpc import wire_error
from agent_core.background_tasks import News
from agent_core.cancel import CancelToken
from agent_core.errors import HermesError, SettingsError
from agent_core.events import Noticed, OwnTurn
from agent_core.notifications import titles
from agent_core.settings.sections import BackgroundPart
from tools.agent_ports import Field, PersonQuestion
from tools.errors import ToolInterrupted

if TYPE_CHECKING:
    from acp_adapter.session import SessionManager, SessionState
    from acp_adapter.workers import Workers
    from agent_core.factory import AgentFactory

log = logging.getLogger(__name__)

_GO_ON = "go_on"

RunOwn = Callable[["SessionState"], Awaitable[str]]
"""Runs a turn about the news that wait, and tells why it stopped."""


class Attendant:
    """Sees to news of idle sessions. Used on the event loop only.

    Args:
        run_own: runs a turn of a session's own.
    """

    def __init__(self, factory: AgentFactory, sessions: SessionManager, workers: Workers, run_own: RunOwn) -> None:
        self._factory = factory
        self._sessions = sessions
        self._workers = workers
        self._run_own = run_own
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def attend(self, session: SessionState) -> None:
        """Hear of the session's news from now on."""

        def hear() -> None:
            self._loop.call_soon_threadsafe(self._look, session)

        session.behind.hear = hear

    def turn_begins(self, session: SessionState) -> None:
        """A prompt has come: it tells the model of the news, and nothing else need be asked."""
        if session.behind.question is not None:
            session.behind.question.cancel()

    def turn_over(self, session: SessionState, stop: str, *, own: bool, is_turn: bool) -> None:
        """A prompt is answered, or a turn of its own is over.

        Args:
            stop: why, «error» for a failure.
            is_turn: a command is none, also one beside a turn, which says nothing of how that comes out.
        """
        behind = session.behind
        if is_turn:
            behind.rests = stop != "end_turn"
            behind.in_a_row = behind.in_a_row + 1 if own else 0
            behind.shown.intersection_update(news.id for news in behind.waiting())
        self._look(session)

    def _look(self, session: SessionState) -> None:
        behind = session.behind
        if session.tickets or behind.looking or not behind.waiting():
            return  # a turn that runs is told by itself
        behind.looking = True
        task = asyncio.ensure_future(self._act(session))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _act(self, session: SessionState) -> None:
        behind = session.behind
        try:
            way = await self._way(session)
        finally:
            behind.looking = False
        if session.tickets or not behind.waiting() or not self._sessions.is_live(session):
            return
        if way == "turn":
            await self._own_turn(session)
            return
        new = [news for news in behind.waiting() if news.id not in behind.shown]
        if not new:
            return
        behind.shown.update(news.id for news in new)
        if way == "ask" and behind.question is None and await self._agreed(session, new):
            await self._own_turn(session)
        elif self._sessions.client.notices and not session.tickets:
            # Others are told when the next turn begins: to them this would be an answer without a prompt.
            text = f"{titles(new)}. The model is told with your next prompt."
            session.outbox.put(Noticed(f"{secrets.token_hex(8)}-notice-1", text))

    async def _way(self, session: SessionState) -> Literal["turn", "ask", "tell"]:
        settings, client, behind = await self._settings(), self._sessions.client, session.behind
        if behind.rests or behind.in_a_row >= settings.max_turns or not session.turns_begun:
            return "tell"
        if settings.turns == "always" or (settings.turns == "auto" and client.background_turns):
            return "turn"
        return "ask" if settings.turns == "ask" and client.form_questions else "tell"

    async def _settings(self) -> BackgroundPart:
        try:
            return (await self._workers.run(self._factory.settings)).background
        except SettingsError:  # it is told with the next prompt
            return BackgroundPart(turns="never")

    async def _agreed(self, session: SessionState, news: list[News]) -> bool:
        """Whether the person wants the agent to go on; a prompt meanwhile answers that by itself."""
        token = session.behind.question = CancelToken()
        question = PersonQuestion(f"{titles(news)}. Go on with that now?", (Field(_GO_ON, "Go on", "boolean"),))

        def ask() -> bool:
            client, timeout = self._sessions.client, session.question_timeout
            answer = EditorQuestions(session.calls, client, timeout=timeout).ask(question, token)
            return answer.outcome == "answered" and answer.values.get(_GO_ON) is True

        try:
            agreed = await self._workers.run(ask)
        except (ToolInterrupted, HermesError):
            return False
        finally:
            session.behind.question = None
        return agreed and not session.tickets and bool(session.behind.waiting()) and self._sessions.is_live(session)

    async def _own_turn(self, session: SessionState) -> None:
        session.outbox.put(OwnTurn("running"))
        stop = "error"
        try:
            stop = await self._run_own(session)
        except Exception as problem:  # nobody else would hear of it
            if not isinstance(problem, HermesError):
                log.exception("a turn of its own failed")
            session.outbox.put(Noticed(f"{secrets.token_hex(8)}-status-1", wire_error(problem)["message"], "error"))
        finally:
            session.outbox.put(OwnTurn("over", stop))
