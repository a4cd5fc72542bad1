"""One prompt: from content to a stop reason, with the agent's work on a worker thread."""

from __future__ import annotations

import asyncio
import logging
import secrets
from concurrent.futures import Executor
from dataclasses import dataclass

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.commands import Typed
from acp_adapter.events import EventBridge
from acp_adapter.naming import name_after_answer, name_after_prompt, wants_better
from acp_adapter.session import SessionState, Ticket
from agent_core.agent import AIAgent
from agent_core.errors import TurnInterrupted, UnknownSession
from agent_core.events import UserSaid
from agent_core.factory import AgentFactory
from agent_core.interrupt import CancelToken
from agent_core.messages import Content
from agent_core.prompt_parts import SaidPart
from agent_core.turn_result import ConversationResult, StopReason

log = logging.getLogger(__name__)

_CANCEL_GRACE = 0.3
"""Seconds that a cancelled turn's worker gets to end by itself before the turn is answered without it."""

_OUTPUT_PAUSE = 0.5
"""Seconds between two pictures of a command's output for a client that cannot be sent only what is new."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a person sent: as the model gets it, as it is shown again, and the command that it is, if it is one."""

    content: Content
    said: tuple[SaidPart, ...]
    command: Typed | None = None


@dataclass(frozen=True, slots=True)
class TurnRunner:
    """Runs prompts, one at a time in each session."""

    factory: AgentFactory
    executor: Executor
    client: ClientCapabilities

    async def run(self, session: SessionState, prompt: Prompt, ticket: Ticket) -> StopReason:
        """Run a prompt when those before it are answered; everything it shows is written before this returns.

        Raises:
            HermesError: the turn failed; the text is for the user.
        """
        session.tickets.append(ticket)
        try:
            async with session.turn:
                if ticket.token.is_set():
                    return "cancelled"
                stop = await self._run_now(session, prompt, ticket.token)
                # A cancel that came while the last updates went out is answered as one too.
                return "cancelled" if ticket.token.is_set() else stop
        finally:
            session.tickets.remove(ticket)

    async def _run_now(self, session: SessionState, prompt: Prompt, token: CancelToken) -> StopReason:
        loop = asyncio.get_running_loop()
        if prompt.command is not None:
            from acp_adapter.rewinding import Rewinding  # noqa: PLC0415 - most people never undo

            rewinding = Rewinding(self.factory.sessions, session)
            await loop.run_in_executor(self.executor, rewinding.run_command, prompt.command, token)
            await session.outbox.drain()
            return "end_turn"
        session.turns_begun += 1
        # Ids of messages are made from it: no other turn, of whichever process, may have the same.
        turn_id = secrets.token_hex(8)
        pause = 0.0 if self.client.terminal_output else _OUTPUT_PAUSE
        journal = self.factory.sessions.store.journal(session.id, turn_id)
        bridge = EventBridge(
            session.outbox, journal, token, cwd=str(session.seed.cwd), turn_id=turn_id, output_pause=pause
        )
        journal.record(UserSaid(f"{turn_id}-prompt", prompt.said))
        work = loop.run_in_executor(self.executor, self._work, session, prompt, token, bridge)
        try:
            return await _outcome(session, bridge, work, token)
        finally:
            bridge.close()
            await session.outbox.drain()

    def _work(
        self, session: SessionState, prompt: Prompt, token: CancelToken, bridge: EventBridge
    ) -> ConversationResult:
        try:
            agent = session.agent or self._make_agent(session, token, bridge)
        except BaseException:
            # The turn never begins: nobody else would let go of its journal, and of the attachments in it.
            self.factory.sessions.store.end_turn(session.id, bridge.turn_id)
            raise
        name_after_prompt(self.factory.sessions.archive, session, prompt.said)
        result = agent.run_conversation(
            prompt.content, turn_id=bridge.turn_id, token=token, callbacks=bridge.callbacks()
        )
        if wants_better(self.factory, session):
            self.executor.submit(name_after_answer, self.factory, session, prompt.said, result["final_response"])
        return result

    def _make_agent(self, session: SessionState, token: CancelToken, bridge: EventBridge) -> AIAgent:
        _note_unused_servers(session, bridge)
        roots = tuple(str(root) for root in session.seed.extra_roots)
        try:
            self.factory.sessions.take(session.id, str(session.seed.cwd), roots)
        except UnknownSession:
            # One that was open for long without a prompt may have been tidied away; it begins anew.
            if not session.is_new:
                raise
        services = session.services or self.factory.services(session.id)
        agent = self.factory.agent(session.id, session.workspace, services, on_note=bridge.on_note)
        if token.is_set():
            # The turn may have been given up meanwhile; it must not take the next one's place.
            raise TurnInterrupted
        session.agent, session.services, session.is_new = agent, services, False
        return agent


def _note_unused_servers(session: SessionState, bridge: EventBridge) -> None:
    if session.turns_begun == 1 and session.seed.unused_servers:
        names = ", ".join(session.seed.unused_servers)
        bridge.on_note(f"This version does not connect to MCP servers; not used: {names}.")


async def _outcome(
    session: SessionState, bridge: EventBridge, work: asyncio.Future[ConversationResult], token: CancelToken
) -> StopReason:
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
        # First, so that the end of its cards is still taken down.
        bridge.close()
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
