"""The turns of all sessions: prompts, submitted texts and news. A cancel finds each of them from its beginning."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from acp_adapter.behind import Attendant
from acp_adapter.choosing import Chooser
from acp_adapter.content import to_draft, with_text
from acp_adapter.errors import logged_error
from acp_adapter.jsonrpc import RequestId
from acp_adapter.session import SessionState, Ticket
from acp_adapter.session_manager import RunBlocking, SessionManager
from acp_adapter.turn import Answered, Prompt, TurnRunner
from agent_core.errors import RequestError, UnknownSession
from agent_core.events import Noticed
from agent_core.factory import AgentFactory
from agent_core.interrupt import CancelToken
from agent_core.prompt_parts import SaidPart, SaidText

log = logging.getLogger(__name__)

MOST_UNASKED = 256
"""Turns that no request waits for, in all sessions: each of the others is bounded by its request."""


class Prompting:
    """Begins and cancels turns; lives on the loop.

    Args:
        executor: threads for turns, and for what else waits for a person; `run_blocking` runs a function on them.
        is_cancelled: whether a request was cancelled before anybody had taken it up.
        unasked_over: told of a session in which a turn that no request waits for is over, its last words written.
    """

    def __init__(
        self,
        factory: AgentFactory,
        executor: Executor,
        run_blocking: RunBlocking,
        sessions: SessionManager,
        chooser: Chooser,
        *,
        is_cancelled: Callable[[RequestId | None], bool],
        unasked_over: Callable[[str], None],
    ) -> None:
        self._factory = factory
        self._executor = executor
        self._sessions = sessions
        self._chooser = chooser
        self._is_cancelled = is_cancelled
        self._unasked_over = unasked_over
        self._attendant = Attendant(factory, sessions, run_blocking, self._run_own)
        sessions.on_live = self._attendant.attend
        self._unasked: set[asyncio.Task[None]] = set()
        # Prompts for sessions that are only just loaded or deleted.
        self._coming: list[tuple[str, CancelToken]] = []
        self._cancelling: set[str] = set()

    async def answer(self, session_id: str, said: Sequence[SaidPart], ticket: Ticket) -> Answered:
        """Run a prompt's turn, or its command, behind what was prompted before it.

        Raises:
            UnknownSession: there is no such session.
            HermesError: it failed; the text is for the user.
        """
        session = await self._reach(session_id, ticket.token)
        if self._is_cancelled(ticket.request_id):
            ticket.token.cancel()
        draft = to_draft(said)
        prompt = Prompt(draft.named(), tuple(said), draft, lambda text: to_draft(with_text(said, text)))
        return await self._run(session, prompt, ticket)

    async def submit(self, session_id: str, text: str) -> None:
        """Begin a turn that no request waits for.

        Raises:
            UnknownSession: there is no such session.
            RequestError: there are too many of them.
        """
        prompt, ticket = Prompt(text, (SaidText(text),)), Ticket(None, CancelToken())
        session = await self._reach(session_id, ticket.token)
        if len(self._unasked) >= MOST_UNASKED:
            raise RequestError(f"{MOST_UNASKED} turns that were begun so are not over. Cancel some, or wait.")
        # Now, not when the task begins: a cancel or a close that comes right behind must find it.
        session.tickets.append(ticket)
        task = asyncio.ensure_future(self._run_unasked(session, prompt, ticket))
        self._unasked.add(task)
        task.add_done_callback(self._unasked.discard)

    async def cancel(self, session_id: str) -> None:
        """End everything that was prompted so far in this session as cancelled.

        A prompt behind a load waits for that (`reach`), and so must a cancel behind both.
        """
        for coming_to, token in self._coming:
            if coming_to == session_id:
                token.cancel()
        if session_id in self._cancelling:
            return  # one that waits there sees all that is in front of this one
        self._cancelling.add(session_id)
        try:
            session = await self._sessions.reach(session_id)
        except UnknownSession:
            log.info("a cancel for a session that is not there was ignored")
        else:
            session.cancel()
        finally:
            self._cancelling.remove(session_id)

    def cancel_request(self, request_id: RequestId) -> None:
        """Cancel the prompt that came as this request, if there is one."""
        for session in self._sessions.all():
            for ticket in session.tickets:
                if ticket.request_id == request_id:
                    ticket.token.cancel()

    async def _reach(self, session_id: str, token: CancelToken) -> SessionState:
        """The session for a prompt, which a cancel finds meanwhile."""
        coming = session_id, token
        self._coming.append(coming)
        try:
            return await self._sessions.reach(session_id)
        finally:
            self._coming.remove(coming)

    async def _run(self, session: SessionState, prompt: Prompt, ticket: Ticket) -> Answered:
        runner = TurnRunner(self._factory, self._executor, self._sessions.client, self._chooser)
        self._attendant.turn_begins(session)
        stop, is_turn = "error", True
        try:
            answered = await runner.run(session, prompt, ticket)
            stop, is_turn = answered.stop, answered.is_turn
            return answered
        finally:
            self._sessions.rest(session)
            self._chooser.answered()
            self._attendant.turn_over(session, stop, own=prompt.content is None, is_turn=is_turn)

    async def _run_own(self, session: SessionState) -> str:
        """Run a turn about the news of the background; why it stopped."""
        return (await self._run(session, Prompt(None, ()), Ticket(None, CancelToken()))).stop

    async def _run_unasked(self, session: SessionState, prompt: Prompt, ticket: Ticket) -> None:
        try:
            await self._run(session, prompt, ticket)
        except Exception as problem:  # noqa: BLE001 - nobody else would hear of it
            told = logged_error(problem, "a turn that no request waits for")["message"]
            session.outbox.put(Noticed(f"{secrets.token_hex(8)}-status-1", told, "error"))
            await session.outbox.drain()
        finally:
            self._unasked_over(session.id)
