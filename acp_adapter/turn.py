"""One prompt: from content to a stop reason, with the agent's work on a worker thread."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Executor
from dataclasses import dataclass

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.events import EventBridge
from acp_adapter.session import SessionState, Ticket
from agent_core.errors import TurnInterrupted
from agent_core.factory import AgentFactory
from agent_core.interrupt import CancelToken
from agent_core.messages import Content
from agent_core.turn_result import ConversationResult, StopReason

log = logging.getLogger(__name__)

_CANCEL_GRACE = 0.3
"""Seconds that a cancelled turn's worker gets to end by itself before the turn is answered without it."""

_OUTPUT_PAUSE = 0.5
"""Seconds between two pictures of a command's output for a client that cannot be sent only what is new."""


@dataclass(frozen=True, slots=True)
class TurnRunner:
    """Runs prompts, one at a time in each session."""

    factory: AgentFactory
    executor: Executor
    client: ClientCapabilities

    async def run(self, session: SessionState, content: Content, ticket: Ticket) -> StopReason:
        """Run a prompt when those before it are answered; everything it shows is written before this returns.

        Raises:
            HermesError: the turn failed; the text is for the user.
        """
        session.tickets.append(ticket)
        try:
            async with session.turn:
                if ticket.token.is_set():
                    return "cancelled"
                stop = await self._run_now(session, content, ticket.token)
                # A cancel that came while the last updates went out is answered as one too.
                return "cancelled" if ticket.token.is_set() else stop
        finally:
            session.tickets.remove(ticket)

    async def _run_now(self, session: SessionState, content: Content, token: CancelToken) -> StopReason:
        session.turns_begun += 1
        pause = 0.0 if self.client.terminal_output else _OUTPUT_PAUSE
        bridge = EventBridge(session.outbox, token, str(session.seed.cwd), f"turn-{session.turns_begun}", pause)
        work = asyncio.get_running_loop().run_in_executor(self.executor, self._work, session, content, token, bridge)
        try:
            return await _outcome(session, work, token)
        finally:
            bridge.close()
            await session.outbox.drain()

    def _work(
        self, session: SessionState, content: Content, token: CancelToken, bridge: EventBridge
    ) -> ConversationResult:
        agent = session.agent
        if agent is None:
            _note_unused_servers(session, bridge)
            agent = self.factory.agent(session.id, session.workspace, session.services)
            if token.is_set():
                # The turn may have been given up meanwhile; it must not take the next one's place.
                raise TurnInterrupted
            session.agent = agent
        return agent.run_conversation(content, token=token, callbacks=bridge.callbacks())


def _note_unused_servers(session: SessionState, bridge: EventBridge) -> None:
    if session.turns_begun == 1 and session.seed.unused_servers:
        names = ", ".join(session.seed.unused_servers)
        bridge.on_note(f"This version does not connect to MCP servers; not used: {names}.")


async def _outcome(session: SessionState, work: asyncio.Future[ConversationResult], token: CancelToken) -> StopReason:
    """The worker's result; after a cancel, at most a short wait for it, then the turn goes on without the worker."""
    loop = asyncio.get_running_loop()
    cancelled: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        loop.call_soon_threadsafe(_settle, cancelled)

    forget = token.on_cancel(wake)
    try:
        await asyncio.wait((work, cancelled), return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            await asyncio.wait({work}, timeout=_CANCEL_GRACE)
    finally:
        forget()
        _settle(cancelled)
    if not work.done():
        _detach(session, work)
        return "cancelled"
    if token.is_set() and work.exception() is not None:
        log.info("a cancelled turn ended with an error", exc_info=work.exception())
        return "cancelled"
    return work.result()["stop_reason"]


def _detach(session: SessionState, work: asyncio.Future[ConversationResult]) -> None:
    log.warning("session %s: a tool ignores the cancel; the turn goes on without it", session.id)
    # Whatever the worker still raises has nobody left to hear it.
    work.add_done_callback(lambda done: done.cancelled() or done.exception())
    agent, session.agent = session.agent, None
    if agent is not None:
        agent.abandon()


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
