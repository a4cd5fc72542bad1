"""One prompt, from its content to a stop reason; the agent works on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from acp_adapter.background_turns import Attendant
from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.client_io.elicitation import EditorQuestions, SecretWanted
from acp_adapter.commands.command import AsPrompt, Desk
from acp_adapter.commands.run import is_at_once, is_slashed, perform, refresh_offer, store_late
from acp_adapter.content import Draft, is_elsewhere, to_draft, with_text
from acp_adapter.events import EventBridge
from acp_adapter.jsonrpc import RequestId, logged_error
from acp_adapter.option_changes import Chooser
from acp_adapter.session import (
    SessionManager,
    SessionState,
    Ticket,
    name_after_answer,
    name_after_prompt,
    wants_better,
)
from acp_adapter.tools import for_a_moment
from acp_adapter.workers import Workers
from agent_core.activity import working_for
from agent_core.agent import AIAgent
from agent_core.callbacks import AgentCallbacks, CallFinished, CallRequested, ToolProgress
from agent_core.cancel import CancelToken
from agent_core.errors import HermesError, KeyMissing, RequestError, TurnInterrupted, UnknownSession, public_text
from agent_core.events import Noticed, SaidDocument, SaidPart, SaidText, UserSaid
from agent_core.factory import AgentFactory
from agent_core.mcp.specs import still_waiting, told, waiting
from agent_core.messages import Content
from agent_core.services import SessionServices, TurnServices
from agent_core.turn import ConversationResult, StopReason, TurnUsage
from agent_core.workspace import CallIdentity
from tools.approval.actions import Action
from tools.context import ToolContext
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.mcp.session_servers import SessionServers

log = logging.getLogger(__name__)

_CANCEL_GRACE = 0.3
"""Seconds that a cancelled turn's worker gets to end by itself before the turn is answered without it."""

_LINE_GRACE = 2.0
"""Seconds that a prompt waits for those that are cancelled with it; then it is answered, and not kept."""

_OUTPUT_PAUSE = 0.5
"""Seconds between two pictures of a command's output for a client that cannot be sent only what is new."""

_WRITES_SKILLS = "skill_manage"
_PATIENCE_WITH_SERVERS = 2.0
"""Seconds that a session's first prompt waits for its MCP servers."""

_PATIENCE_WITH_OTHERS = 1.0
"""The same for the others, from when one came up: what is slower comes with a later turn."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a person sent, as it is shown again; the model gets it from the draft, whose links are still to be read.

    Without a draft nobody has said anything: the turn is about the news of the background that wait. What was not
    typed is no command, whatever it says.
    """

    said: tuple[SaidPart, ...] = ()
    draft: Draft | None = None
    is_typed: bool = False

    @property
    def may_be_command(self) -> bool:
        """Whether it begins like one."""
        return self.is_typed and is_slashed(self.said)


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


_CANCELLED = Answered("cancelled")
_COMMAND = Answered("end_turn", is_turn=False)


@dataclass(slots=True)
class PromptTurn:
    """One prompt in its session: its place in the line, its command or its turn, a cancel. Used once, on the loop;
    `work` and what it calls run on a worker thread.

    Attributes:
        workers: threads for turns, and for what else waits for a person.
        bridge: shows and takes down what happens; made when the turn comes.
    """

    factory: AgentFactory
    workers: Workers
    chooser: Chooser
    client: ClientCapabilities
    session: SessionState
    prompt: Prompt
    ticket: Ticket
    loop: asyncio.AbstractEventLoop = field(init=False)
    bridge: EventBridge = field(init=False)

    async def run(self) -> Answered:
        """Run it when those before it are answered; everything it shows is written before this returns.

        Raises:
            HermesError: the turn failed; the text is for the user.
        """
        session, ticket, self.loop = self.session, self.ticket, asyncio.get_running_loop()
        is_waiting = session.turn.locked() or session.tickets not in ([], [ticket])
        if ticket not in session.tickets:
            session.tickets.append(ticket)
        # Its place in the line, whatever is done before its turn.
        turn = asyncio.ensure_future(session.turn.acquire())
        try:
            if is_waiting and is_at_once(self.prompt.said):
                session.cards.prompted()
                if await self._was_command():
                    await self._store_beside(turn)
                    return _COMMAND
            if not await _came(turn, ticket, session):
                if not turn.done() or turn.cancelled():
                    return replace(_CANCELLED, is_turn=False)
                # Its turn came with the cancel, or after it.
                await self._keep()
                return _CANCELLED
            answered = await self._run_now()
            # A cancel that came while the last updates went out is answered as one too.
            return replace(answered, stop="cancelled") if ticket.token.is_set() else answered
        finally:
            storing, session.storing = session.storing, None
            if storing is None:
                _leave(session.turn, turn)
            else:
                storing.add_done_callback(lambda _: _leave(session.turn, turn))
            session.tickets.remove(ticket)

    async def _run_now(self) -> Answered:
        session, token = self.session, self.ticket.token
        self.bridge = self._make_bridge()
        # What commands have shown before is stored before it.
        while late := session.open(self.bridge):
            await self.workers.run(partial(store_late, late, self._desk()))
        if self.prompt.draft is not None:
            session.cards.prompted()
            self.bridge.record(UserSaid(f"{self.bridge.turn_id}-prompt", self.prompt.said))
        if await self._was_command(self.bridge):
            self.bridge.close()
            return _COMMAND
        session.turns_begun += 1
        forget = token.on_cancel(session.outbox.hurry)
        work = self.loop.run_in_executor(self.workers, self.work)
        try:
            return await self._outcome(work)
        finally:
            try:
                self.bridge.close()
                if token.is_set() and not self.bridge.has_begun():
                    await self._keep_unbegun()
                await session.outbox.drain()
            finally:  # or the next turns would be cut short
                forget()
                session.outbox.calm()

    async def _outcome(self, work: asyncio.Future[ConversationResult]) -> Answered:
        """The worker's result; after a cancel, at most a short wait for it, then the turn goes on without it."""
        session, token = self.session, self.ticket.token
        await _over_or_cancelled(work, token)
        if not work.done():
            await asyncio.wait((work,), timeout=_CANCEL_GRACE)
        if not work.done():
            # First, so that what the person said and the end of its cards are still taken down.
            if session.agent is not None:
                session.agent.give_back()
            self.bridge.close()
            if (agent := _detach(session, work)) is not None:
                await self._store(agent.abandon)
            return _CANCELLED
        if token.is_set() and work.exception() is not None:
            log.info("a cancelled turn ended with an error", exc_info=work.exception())
            return _CANCELLED
        result = work.result()
        return Answered(result["stop_reason"], result["usage"])

    async def _keep(self) -> None:
        """Store a prompt that was cancelled before anything was done about it; a command that was not run is none."""
        if self.prompt.draft is None or self.prompt.may_be_command:
            return
        self.bridge = self._make_bridge()
        self.bridge.record(UserSaid(f"{self.bridge.turn_id}-prompt", self.prompt.said))
        self.bridge.close()
        await self._keep_unbegun()
        await self.session.outbox.drain()

    async def _keep_unbegun(self) -> None:
        if self.session.storing is None:
            await self._store(self.keep_unbegun)

    async def _store(self, store: Callable[[], None]) -> None:
        """Store how a cancelled turn ended. A disk that hangs holds up who prompts next, and not this answer."""
        storing = self.loop.run_in_executor(self.workers, store)
        await asyncio.wait((storing,), timeout=_LINE_GRACE)
        if storing.done():
            storing.result()
            return
        log.warning(
            "session %s: a cancelled turn is answered before its end is stored: the disk hangs", self.session.id
        )
        storing.add_done_callback(_tell_failure)
        self.session.storing = storing

    async def _store_beside(self, turn: asyncio.Task[Literal[True]]) -> None:
        """Have a command's answer stored where no turn was open that could take it down.

        Args:
            turn: its own, which comes behind those of other prompts: one of them may store it first.
        """
        session = self.session
        if session.late:
            await asyncio.wait((turn,))
            with session.telling:
                late, session.late = session.late, []
            await self.workers.run(partial(store_late, late, self._desk()))

    async def _was_command(self, own: EventBridge | None = None) -> bool:
        """Run the command that the prompt is: whether that was all; else there may be another prompt to go on with.

        Args:
            own: its turn; None while another has the session.
        """
        prompt, session = self.prompt, self.session
        if not prompt.may_be_command:
            return False
        outcome = await self.workers.run(partial(perform, prompt.said, session.shelf, self._desk(), own))
        await session.outbox.drain()
        if isinstance(outcome, AsPrompt):
            self.prompt = Prompt(prompt.said, to_draft(with_text(prompt.said, outcome.text)))
            return False
        return outcome is not None

    def _desk(self) -> Desk:
        session, chooser, loop = self.session, self.chooser, self.loop

        def choose(option_id: str, value: str | bool) -> None:
            asyncio.run_coroutine_threadsafe(chooser.choose(session, option_id, value), loop).result()

        return Desk(
            session,
            self.factory,
            self.ticket.token,
            options=lambda: chooser.offered(session),
            choose=choose,
            steer=session.steer,
            commands_beside=session.shelf.beside,
        )

    def _make_bridge(self) -> EventBridge:
        session, client = self.session, self.client
        # Ids of messages are made from it: no other turn, of whichever process, may have the same.
        turn_id = secrets.token_hex(8)
        return EventBridge(
            session.outbox,
            self.factory.sessions.store.journal(session.id, turn_id),
            self.ticket.token,
            cwd=str(session.seed.cwd),
            turn_id=turn_id,
            output_pause=0.0 if client.terminal_output else _OUTPUT_PAUSE,
            picture_pause=_OUTPUT_PAUSE,
            hold=for_a_moment if client.habits.keeps_first_title else None,
            shows_thoughts=lambda: session.choices.thoughts,
        )

    # On a worker thread: the agent is made, the prompt completed, the conversation run.

    def work(self) -> ConversationResult:
        """Run the turn; blocks until it is over. Links are read once the turn has begun, so that no prompt is lost.

        Raises:
            HermesError: it failed; the text is for the user.
        """
        with working_for(self.session.id, self.bridge.turn_id):
            questions, agent = self._agent()
            return self._conversation(agent, questions)

    def _agent(self) -> tuple[EditorQuestions, AIAgent]:
        session, bridge = self.session, self.bridge
        try:
            if session.servers is not None:
                self._wait_for_servers(session.servers)
            questions = EditorQuestions(session.calls, self.client, bridge.on_question, session.question_timeout)
            return questions, session.agent or self._make_agent_with_key(questions)
        except BaseException as problem:
            if not self.ticket.token.is_set():
                # The turn never begins: nobody else would let go of its journal, and of the attachments in it.
                self.factory.sessions.store.end_turn(session.id, bridge.turn_id, "error", public_text(problem))
            raise

    def _conversation(self, agent: AIAgent, questions: EditorQuestions) -> ConversationResult:
        session, bridge, said, draft = self.session, self.bridge, self.prompt.said, self.prompt.draft
        approvals = session.workspace.approvals
        for text in (*session.take_warnings(), *approvals.take_warnings()):
            bridge.on_notice(text, "warning")
        name_after_prompt(self.factory.sessions.store, session, said)
        for part in said:
            if isinstance(part, SaidDocument) and is_elsewhere(part.uri, approvals.rules.roots):
                approvals.note_others()
        turn_id = bridge.turn_id  # not the bridge itself, which would then wait for the collector
        bridge.has_begun = lambda: agent.begun == turn_id
        callbacks = bridge.callbacks(self._calls_heard(), questions.ask, self._follow)
        result = agent.run_conversation(
            None if draft is None else draft.named(),
            turn_id=turn_id,
            token=self.ticket.token,
            callbacks=callbacks,
            complete=None if draft is None or not draft.has_links else self._reading(draft, callbacks),
        )
        refresh_offer(session.shelf, session.outbox)
        if wants_better(self.factory, session):
            self.workers.submit(name_after_answer, self.factory, session, said, result["final_response"])
        return result

    def _follow(self, mode: str) -> None:
        """The agent has changed the mode: the editor learns of that before it sees what is done in it."""
        token = self.ticket.token
        following = asyncio.run_coroutine_threadsafe(self.chooser.follow(self.session, mode), self.loop)
        following.add_done_callback(lambda _: token.notify())
        token.wait_for(following.done)

    def _calls_heard(self) -> Callable[[ToolProgress], None]:
        """Shows how calls go on, and stores that one begins which another one makes, before it does anything: the
        model's own are stored with its answer, and of what a sub-agent or a program does the session has no message.

        Commands and skills that have come since the last turn are offered with the first call that has ended, those
        that the model writes as soon as they are there. No call waits for that.
        """
        session, bridge, is_due = self.session, self.bridge, True

        def on_tool(progress: ToolProgress) -> None:
            nonlocal is_due
            bridge.on_tool(progress)
            if isinstance(progress, CallRequested) and progress.parent:
                self.factory.sessions.store.write_journal(session.id, bridge.turn_id)
            if isinstance(progress, CallFinished) and (
                is_due or (progress.name == _WRITES_SKILLS and not progress.result.failed)
            ):
                is_due = False
                refresh_offer(session.shelf, session.outbox)

        return on_tool

    def _reading(self, draft: Draft, callbacks: AgentCallbacks) -> Callable[[], Content]:
        from acp_adapter.linked_files import LinkCalls, filled  # noqa: PLC0415 - most prompts link to nothing

        session, turn_id, bridge, token = self.session, self.bridge.turn_id, self.bridge, self.ticket.token
        services = TurnServices(session.services or SessionServices(), session.workspace.approvals, callbacks)

        def context(call_id: str, on_allowed: Callable[[Action], None]) -> ToolContext:
            call = CallIdentity(session.id, turn_id, turn_id, call_id)
            return session.workspace.context(call, token, services, on_allowed=on_allowed, on_output=lambda _: None)

        return lambda: filled(draft, LinkCalls(context, bridge.on_tool, turn_id, bridge.on_notice))

    def keep_unbegun(self) -> None:
        """The turn was cancelled before it began: store what the person said, and what they were told; blocks.

        The model is told with the next turn, if hooks let it (`injected_messages.catch_up`). Where nobody has said
        anything nothing is stored.
        """
        session, turn_id, store = self.session, self.bridge.turn_id, self.factory.sessions.store
        try:
            if self.prompt.said:
                self._begin_early()
                store.end_turn(session.id, turn_id, "cancelled")
                name_after_prompt(store, session, self.prompt.said)
        except HermesError:
            log.warning("a cancelled prompt of session %s is not stored", session.id, exc_info=True)
        finally:
            store.end_turn(session.id, turn_id)

    def _begin_early(self) -> None:
        """Store the turn before what may take long, so that a kill meanwhile does not lose the prompt.

        Raises:
            UnknownSession, SessionInUse: as for `_take`.
        """
        self._take()
        self.factory.sessions.store.begin_turn(self.session.id, self.bridge.turn_id)

    def _wait_for_servers(self, servers: SessionServers) -> None:
        """Let the session's servers come up before its first request, and tell of those that cannot."""
        session, token = self.session, self.ticket.token

        if not session.servers_awaited:
            if note := waiting(servers.status()):
                self._begin_early()
                self.bridge.on_notice(note)
                servers.wait(_PATIENCE_WITH_SERVERS, token, _PATIENCE_WITH_OTHERS)
            if token.is_set():
                return  # nothing goes on without them, and the next prompt has a wait of its own
            session.servers_awaited = True
            if note := still_waiting(servers.status()):
                self.bridge.on_notice(note)
        for failure in told(servers.status(), session.failures_told):
            self.bridge.on_notice(failure, "warning")

    def _make_agent_with_key(self, questions: EditorQuestions) -> AIAgent:
        """The agent; where a key is missing, after the person was led to the page where it is made.

        Raises:
            KeyMissing: it still is; the error's text says what to do, also where no page could be shown.
        """
        try:
            return self._make_agent()
        except KeyMissing as missing:
            if not (missing.page and missing.variable and self.client.url_questions):
                raise
            self._begin_early()
            wanted = SecretWanted(missing.title, missing.variable, missing.file, missing.page)
            answer = questions.ask_secret(wanted, self.ticket.token)
            if answer.outcome != "answered":
                raise
        return self._make_agent()

    def _make_agent(self) -> AIAgent:
        session, choices = self.session, self.session.choices
        self._take()
        services = session.services or self.factory.services(session.id, session.workspace, session.call_ids)
        agent = self.factory.agent(session.id, session.workspace, services, choices, on_note=self.bridge.on_note)
        for problem in self.factory.plugins.problems_in(session.workspace.client_cwd):
            self.bridge.on_note(problem)
        if self.ticket.token.is_set():
            # The turn may have been given up meanwhile; it must not take the next one's place.
            raise TurnInterrupted
        session.agent, session.services, session.is_new = agent, services, False
        session.behind.listen(services.news)
        if session.choices != choices:
            self.factory.switch(agent, session.choices, services.model)
        return agent

    def _take(self) -> None:
        """Have the session, for this process alone to prompt.

        Raises:
            UnknownSession: there is none any more. SessionInUse: another process has it.
        """
        session = self.session
        try:
            self.factory.sessions.take(session.id, str(session.seed.cwd), session.seed.named_roots)
        except UnknownSession:
            # One that was open for long without a prompt may have been tidied away; it begins anew.
            if not session.is_new:
                raise


def _tell_failure(storing: asyncio.Future[None]) -> None:
    if (problem := storing.exception()) is not None:
        log.warning("the end of a cancelled turn could not be stored: %s", problem)


async def _came(turn: asyncio.Task[Literal[True]], ticket: Ticket, session: SessionState) -> bool:
    """Wait for a turn to come; False where the prompt is cancelled, which it need not come for.

    Where those before it were cancelled as well it does come, since they end: so what was said can be kept. A prompt
    that is cancelled alone was taken back.
    """
    await _over_or_cancelled(turn, ticket.token)
    before = session.tickets[: session.tickets.index(ticket)]
    if not turn.done() and all(other.token.is_set() for other in before):
        await asyncio.wait((turn,), timeout=_LINE_GRACE)
    return not ticket.token.is_set()


def _leave(lock: asyncio.Lock, turn: asyncio.Task[Literal[True]]) -> None:
    """Give a turn to the next one, or leave the line."""
    if turn.done() and not turn.cancelled():
        lock.release()
    else:
        turn.cancel()


async def _over_or_cancelled(awaited: asyncio.Future[Any], token: CancelToken) -> None:
    """Wait until it is done, or the token is cancelled."""
    loop = asyncio.get_running_loop()
    cancelled: asyncio.Future[None] = loop.create_future()

    def settle() -> None:
        if not cancelled.done():
            cancelled.set_result(None)

    def wake() -> None:
        loop.call_soon_threadsafe(settle)

    forget = token.on_cancel(wake)
    try:
        await asyncio.wait((awaited, cancelled), return_when=asyncio.FIRST_COMPLETED)
    finally:
        forget()
        settle()


def _detach(session: SessionState, work: asyncio.Future[ConversationResult]) -> AIAgent | None:
    """Let the session go on without its agent, which is to be abandoned."""
    log.warning("session %s: a tool ignores the cancel; the turn goes on without it", session.id)
    # Whatever the worker still raises has nobody left to hear it.
    work.add_done_callback(lambda done: done.cancelled() or done.exception())
    agent, session.agent = session.agent, None
    return agent


# All prompts of a connection. A cancel finds each of them from its beginning.

MOST_UNASKED = 256
"""Turns that no request waits for, in all sessions: each of the others is bounded by its request."""


class Prompting:
    """Begins and cancels turns; lives on the loop.

    Args:
        workers: threads for turns, and for what else waits for a person.
        is_cancelled: whether a request was cancelled before anybody had taken it up.
    """

    def __init__(
        self,
        factory: AgentFactory,
        workers: Workers,
        sessions: SessionManager,
        chooser: Chooser,
        *,
        is_cancelled: Callable[[RequestId | None], bool],
    ) -> None:
        self._factory = factory
        self._workers = workers
        self._sessions = sessions
        self._chooser = chooser
        self._is_cancelled = is_cancelled
        self._attendant = Attendant(factory, sessions, workers, self._run_own)
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
        return await self._run(session, Prompt(tuple(said), to_draft(said), is_typed=True), ticket)

    async def submit(self, session_id: str, text: str) -> None:
        """Begin a turn that no request waits for.

        Raises:
            UnknownSession: there is no such session.
            RequestError: there are too many of them.
        """
        said, ticket = (SaidText(text),), Ticket(None, CancelToken())
        session = await self._reach(session_id, ticket.token)
        if len(self._unasked) >= MOST_UNASKED:
            raise RequestError(f"{MOST_UNASKED} turns that were begun so are not over. Cancel some, or wait.")
        # Now, not when the task begins: a cancel or a close that comes right behind must find it.
        session.tickets.append(ticket)
        task = asyncio.ensure_future(self._run_unasked(session, Prompt(said, to_draft(said)), ticket))
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
        client = self._sessions.client
        turn = PromptTurn(self._factory, self._workers, self._chooser, client, session, prompt, ticket)
        self._attendant.turn_begins(session)
        stop, is_turn = "error", True
        try:
            answered = await turn.run()
            stop, is_turn = answered.stop, answered.is_turn
            return answered
        finally:
            self._sessions.rest(session)
            self._chooser.answered()
            self._attendant.turn_over(session, stop, own=prompt.draft is None, is_turn=is_turn)

    async def _run_own(self, session: SessionState) -> str:
        """Run a turn about the news of the background; why it stopped."""
        return (await self._run(session, Prompt(), Ticket(None, CancelToken()))).stop

    async def _run_unasked(self, session: SessionState, prompt: Prompt, ticket: Ticket) -> None:
        try:
            await self._run(session, prompt, ticket)
        except Exception as problem:  # noqa: BLE001 - nobody else would hear of it
            told = logged_error(problem, "a turn that no request waits for")["message"]
            session.outbox.put(Noticed(f"{secrets.token_hex(8)}-status-1", told, "error"))
            await session.outbox.drain()
