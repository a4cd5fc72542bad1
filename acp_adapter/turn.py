"""One prompt: from content to a stop reason, with the agent's work on a worker thread."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, Literal

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.cards.first_titles import for_a_moment
from acp_adapter.choosing import Chooser
from acp_adapter.commands import AsPrompt, Outcome, is_at_once, is_slashed, perform, store_late
from acp_adapter.desk import SessionDesk
from acp_adapter.events import EventBridge
from acp_adapter.links.draft import Draft
from acp_adapter.session import SessionState, Ticket
from acp_adapter.turn_work import TurnWork
from agent_core.agent import AIAgent
from agent_core.events import SessionEvent, UserSaid
from agent_core.factory import AgentFactory
from agent_core.interrupt import CancelToken
from agent_core.messages import Content
from agent_core.prompt_parts import SaidPart
from agent_core.turn.result import ConversationResult, StopReason, TurnUsage
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

_CANCEL_GRACE = 0.3
"""Seconds that a cancelled turn's worker gets to end by itself before the turn is answered without it."""

_LINE_GRACE = 2.0
"""Seconds that a prompt waits for those that are cancelled with it; then it is answered, and not kept."""

_OUTPUT_PAUSE = 0.5
"""Seconds between two pictures of a command's output for a client that cannot be sent only what is new."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a person sent: as the model gets it, and as it is shown again.

    `draft` is the prompt whose links are still to be read; `content` has them named only. `retold` is the prompt with
    another text; None where it is no command, whatever it says. Without `content` nobody has said anything: the turn
    is about the news of the background that wait.
    """

    content: Content | None
    said: tuple[SaidPart, ...]
    draft: Draft | None = None
    retold: Callable[[str], Draft] | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """How a prompt came out, and what it used, where models said so. A command, and what was cancelled while it
    waited, is no turn.
    """

    stop: StopReason
    usage: TurnUsage | None = None
    is_turn: bool = True

    def result(self) -> dict[str, Any]:
        """The answer to `session/prompt` (its `usage` is of the turn: ACP, end-turn token usage)."""
        if self.usage is None or not self.usage["input_tokens"]:
            return {"stopReason": self.stop}
        used = self.usage
        tokens = {
            "inputTokens": used["input_tokens"],
            "outputTokens": used["output_tokens"],
            "totalTokens": used["input_tokens"] + used["output_tokens"],
        }
        # Of these, 0 is what a provider does not say.
        parts = {"cachedReadTokens": used["cached_tokens"], "thoughtTokens": used["reasoning_tokens"]}
        tokens |= {name: count for name, count in parts.items() if count}
        return {"stopReason": self.stop, "usage": tokens}


@dataclass(frozen=True, slots=True)
class TurnRunner:
    """Runs prompts, one at a time in each session."""

    factory: AgentFactory
    executor: Executor
    client: ClientCapabilities
    chooser: Chooser

    async def run(self, session: SessionState, prompt: Prompt, ticket: Ticket) -> Answered:
        """Run a prompt when those before it are answered; everything it shows is written before this returns.

        Raises:
            HermesError: the turn failed; the text is for the user.
        """
        is_waiting = session.turn.locked() or any(other is not ticket for other in session.tickets)
        if ticket not in session.tickets:
            session.tickets.append(ticket)
        # Its place in the line, whatever is done before its turn.
        turn = asyncio.ensure_future(session.turn.acquire())
        try:
            if is_waiting and is_at_once(prompt.said):
                session.cards.prompted()
                told, prompt = await self._command(session, prompt, ticket.token)
                if told:
                    await self._store_beside(session, turn, ticket.token)
                    return _COMMAND
            if not await _came(turn, ticket, session):
                if not turn.done() or turn.cancelled():
                    return replace(_CANCELLED, is_turn=False)
                # Its turn came with the cancel, or after it.
                await self._keep(session, prompt, ticket.token)
                return _CANCELLED
            answered = await self._run_now(session, prompt, ticket.token)
            # A cancel that came while the last updates went out is answered as one too.
            return replace(answered, stop="cancelled") if ticket.token.is_set() else answered
        finally:
            storing, session.storing = session.storing, None
            if storing is None:
                _leave(session.turn, turn)
            else:
                storing.add_done_callback(lambda _: _leave(session.turn, turn))
            session.tickets.remove(ticket)

    async def _run_now(self, session: SessionState, prompt: Prompt, token: CancelToken) -> Answered:
        loop = asyncio.get_running_loop()
        bridge = await self._open(session, token)
        if prompt.content is not None:
            session.cards.prompted()
            bridge.record(UserSaid(f"{bridge.turn_id}-prompt", prompt.said))
        told, prompt = await self._command(session, prompt, token, bridge)
        if told:
            bridge.close()
            return _COMMAND
        session.turns_begun += 1
        forget = token.on_cancel(session.outbox.hurry)

        def follow(mode: str) -> None:
            following = asyncio.run_coroutine_threadsafe(self.chooser.follow(session, mode), loop)
            following.add_done_callback(lambda _: token.notify())
            # The editor learns of the mode before it sees what is done in it.
            token.wait_for(following.done)

        turn = TurnWork(self.factory, self.executor, session, bridge, token, self.client, follow)
        work = loop.run_in_executor(self.executor, turn.run, prompt.content, prompt.said, prompt.draft)
        try:
            return await self._outcome(session, bridge, work, token)
        finally:
            try:
                bridge.close()
                if token.is_set() and not bridge.has_begun():
                    await self._keep_unbegun(session, turn, prompt)
                await session.outbox.drain()
            finally:  # or the next turns would be cut short
                forget()
                session.outbox.calm()

    async def _outcome(
        self,
        session: SessionState,
        bridge: EventBridge,
        work: asyncio.Future[ConversationResult],
        token: CancelToken,
    ) -> Answered:
        """The worker's result; after a cancel, at most a short wait for it, then the turn goes on without it."""
        await _over_or_cancelled(work, token)
        if not work.done():
            # First, so that what the person said and the end of its cards are still taken down.
            if session.agent is not None:
                session.agent.give_back()
            bridge.close()
            if (agent := _detach(session, work)) is not None:
                await self._store(session, agent.abandon)
            return _CANCELLED
        if token.is_set() and work.exception() is not None:
            log.info("a cancelled turn ended with an error", exc_info=work.exception())
            return _CANCELLED
        result = work.result()
        return Answered(result["stop_reason"], result["usage"])

    async def _keep(self, session: SessionState, prompt: Prompt, token: CancelToken) -> None:
        """Store a prompt that was cancelled before anything was done about it; a command that was not run is none."""
        if prompt.content is None or (prompt.retold is not None and is_slashed(prompt.said)):
            return
        bridge = self._bridge(session, token)
        bridge.record(UserSaid(f"{bridge.turn_id}-prompt", prompt.said))
        bridge.close()
        turn = TurnWork(self.factory, self.executor, session, bridge, token, self.client, lambda _: None)
        await self._keep_unbegun(session, turn, prompt)
        await session.outbox.drain()

    async def _keep_unbegun(self, session: SessionState, turn: TurnWork, prompt: Prompt) -> None:
        if session.storing is None:
            await self._store(session, lambda: turn.keep_unbegun(prompt.said))

    async def _store(self, session: SessionState, store: Callable[[], None]) -> None:
        """Store how a cancelled turn ended. A disk that hangs holds up who prompts next, and not this answer."""
        storing = asyncio.get_running_loop().run_in_executor(self.executor, store)
        await asyncio.wait((storing,), timeout=_LINE_GRACE)
        if storing.done():
            storing.result()
            return
        log.warning("session %s: a cancelled turn is answered before its end is stored: the disk hangs", session.id)
        storing.add_done_callback(_tell_failure)
        session.storing = storing

    async def _open(self, session: SessionState, token: CancelToken) -> EventBridge:
        """The bridge of a turn that begins; what commands have shown before is stored before it."""
        bridge = self._bridge(session, token)
        while late := session.open(bridge):
            await self._store_late(session, late, token)
        return bridge

    async def _store_beside(
        self, session: SessionState, turn: asyncio.Task[Literal[True]], token: CancelToken
    ) -> None:
        """Have a command's answer stored where no turn was open that could take it down.

        Args:
            turn: its own, which comes behind those of other prompts: one of them may store it first.
        """
        if session.late:
            await asyncio.wait((turn,))
            with session.telling:
                late, session.late = session.late, []
            await self._store_late(session, late, token)

    async def _store_late(
        self, session: SessionState, late: Sequence[Sequence[SessionEvent]], token: CancelToken
    ) -> None:
        loop = asyncio.get_running_loop()
        desk = SessionDesk(session, self.factory, token, self.chooser, loop)
        await loop.run_in_executor(self.executor, store_late, late, desk)

    async def _command(
        self, session: SessionState, prompt: Prompt, token: CancelToken, own: EventBridge | None = None
    ) -> tuple[bool, Prompt]:
        """Run the command that a prompt is: whether that was all, and else the prompt to go on with.

        Args:
            own: its turn; None while another has the session.
        """
        if prompt.retold is None or not is_slashed(prompt.said):
            return False, prompt
        loop = asyncio.get_running_loop()
        desk = SessionDesk(session, self.factory, token, self.chooser, loop)
        outcome: Outcome | None = await loop.run_in_executor(self.executor, perform, prompt.said, desk, own)
        await session.outbox.drain()
        if isinstance(outcome, AsPrompt):
            draft = prompt.retold(outcome.text)
            return False, Prompt(draft.named(), prompt.said, draft)
        return outcome is not None, prompt

    def _bridge(self, session: SessionState, token: CancelToken) -> EventBridge:
        # Ids of messages are made from it: no other turn, of whichever process, may have the same.
        turn_id = secrets.token_hex(8)
        pause = 0.0 if self.client.terminal_output else _OUTPUT_PAUSE
        journal = self.factory.sessions.store.journal(session.id, turn_id)
        return EventBridge(
            session.outbox,
            journal,
            token,
            cwd=str(session.seed.cwd),
            turn_id=turn_id,
            output_pause=pause,
            picture_pause=_OUTPUT_PAUSE,
            hold=for_a_moment if self.client.habits.keeps_first_title else None,
            shows_thoughts=lambda: session.choices.thoughts,
        )


_CANCELLED = Answered("cancelled")
_COMMAND = Answered("end_turn", is_turn=False)


def _tell_failure(storing: asyncio.Future[None]) -> None:
    if (problem := storing.exception()) is not None:
        log.warning("the end of a cancelled turn could not be stored: %s", problem)


async def _came(turn: asyncio.Task[Literal[True]], ticket: Ticket, session: SessionState) -> bool:
    """Wait for a turn to come; False where the prompt is cancelled, which it need not come for.

    Where those before it were cancelled as well it does come, since they end: so what was said can be kept. A prompt
    that is cancelled alone was taken back.
    """
    loop, token = asyncio.get_running_loop(), ticket.token
    cancelled: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        loop.call_soon_threadsafe(_settle, cancelled)

    forget = token.on_cancel(wake)
    try:
        await asyncio.wait((turn, cancelled), return_when=asyncio.FIRST_COMPLETED)
    finally:
        forget()
        _settle(cancelled)
    before = session.tickets[: session.tickets.index(ticket)]
    if not turn.done() and all(other.token.is_set() for other in before):
        await asyncio.wait((turn,), timeout=_LINE_GRACE)
    return not token.is_set()


def _leave(lock: asyncio.Lock, turn: asyncio.Task[Literal[True]]) -> None:
    """Give a turn to the next one, or leave the line."""
    if turn.done() and not turn.cancelled():
        lock.release()
    else:
        turn.cancel()


async def _over_or_cancelled(work: asyncio.Future[ConversationResult], token: CancelToken) -> None:
    """Wait for the worker; after a cancel only for a moment."""
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


def _detach(session: SessionState, work: asyncio.Future[ConversationResult]) -> AIAgent | None:
    """Let the session go on without its agent, which is to be abandoned."""
    log.warning("session %s: a tool ignores the cancel; the turn goes on without it", session.id)
    # Whatever the worker still raises has nobody left to hear it.
    work.add_done_callback(lambda done: done.cancelled() or done.exception())
    agent, session.agent = session.agent, None
    return agent


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
