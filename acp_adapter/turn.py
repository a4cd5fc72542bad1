"""One prompt, from its content to a stop reason; the agent works on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, Literal

from acp_adapter.background_turns import Attendant
from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.client_io.elicitation import EditorQuestions, SecretWanted
from acp_adapter.commands.command import AsPrompt, OtherCommands, Outcome, ServerState
from acp_adapter.commands.run import is_at_once, is_slashed, perform, refresh_offer, store_late
from acp_adapter.content import Draft, is_elsewhere, to_draft, with_text
from acp_adapter.events import EventBridge
from acp_adapter.jsonrpc import RequestId, logged_error
from acp_adapter.option_changes import Chooser
from acp_adapter.session import (
    RunBlocking,
    SessionManager,
    SessionState,
    Ticket,
    name_after_answer,
    name_after_prompt,
    wants_better,
)
from acp_adapter.startup import new_session_id
from acp_adapter.tools import for_a_moment
from agent_core.activity import working_for
from agent_core.agent import AIAgent
from agent_core.callbacks import AgentCallbacks, CallFinished, CallRequested, ToolProgress
from agent_core.cancel import CancelToken
from agent_core.errors import HermesError, KeyMissing, RequestError, TurnInterrupted, UnknownSession, public_text
from agent_core.events import Noticed, SaidDocument, SaidPart, SaidText, SessionEvent, UserSaid
from agent_core.factory import AgentFactory
from agent_core.messages import Content
from agent_core.providers.choice import ModelChoice, ServedWindow
from agent_core.services import SessionServices, TurnServices
from agent_core.sessions.records import NewSession
from agent_core.settings.options import Option
from agent_core.turn import ConversationResult, StopReason, TurnUsage
from agent_core.workspace import CallIdentity
from tools.approval.actions import Action
from tools.context import ToolContext
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.registry import ToolEntry
from tools.toolsets import select

# The work of a turn on its worker thread: the agent is made, the prompt completed, the conversation run.

log = logging.getLogger(__name__)

_WRITES_SKILLS = "skill_manage"
_PATIENCE_WITH_SERVERS = 2.0
"""Seconds that a session's first prompt waits for its MCP servers."""

_PATIENCE_WITH_OTHERS = 1.0
"""The same for the others, from when one came up: what is slower comes with a later turn."""


@dataclass(frozen=True, slots=True)
class TurnWork:
    """The work of one turn. `on_mode` is told of a mode that the agent changed."""

    factory: AgentFactory
    executor: Executor
    session: SessionState
    bridge: EventBridge
    token: CancelToken
    client: ClientCapabilities
    on_mode: Callable[[str], None]

    def run(
        self, content: Content | None, said: tuple[SaidPart, ...], draft: Draft | None = None
    ) -> ConversationResult:
        """Run the turn; blocks until it is over. Links are read once the turn has begun, so that no prompt is lost.

        Args:
            content: as in `AIAgent.run_conversation`.

        Raises:
            HermesError: it failed; the text is for the user.
        """
        with working_for(self.session.id, self.bridge.turn_id):
            return self._run(content, said, draft)

    def _run(self, content: Content | None, said: tuple[SaidPart, ...], draft: Draft | None) -> ConversationResult:
        session, bridge = self.session, self.bridge
        try:
            self._wait_for_servers()
            timeout = self.factory.approval_timeout()
            questions = EditorQuestions(session.calls, self.client, bridge.on_question, timeout)
            agent = session.agent or self._make_agent_with_key(questions)
        except BaseException as problem:
            if not self.token.is_set():
                # The turn never begins: nobody else would let go of its journal, and of the attachments in it.
                self.factory.sessions.store.end_turn(session.id, bridge.turn_id, "error", public_text(problem))
            raise
        for text in (*session.take_warnings(), *session.workspace.approvals.take_warnings()):
            bridge.on_notice(text, "warning")
        name_after_prompt(self.factory.sessions.store, session, said)
        roots = session.workspace.approvals.rules.roots
        if any(isinstance(part, SaidDocument) and is_elsewhere(part.uri, roots) for part in said):
            session.workspace.approvals.note_others()
        turn_id = bridge.turn_id
        bridge.has_begun = lambda: agent.begun == turn_id
        callbacks = bridge.callbacks(questions.ask, self.on_mode)
        callbacks = replace(callbacks, tool_progress_callback=self._renewing_offer(self._storing_calls))
        result = agent.run_conversation(
            content,
            turn_id=turn_id,
            token=self.token,
            callbacks=callbacks,
            complete=self._reading(draft, callbacks) if draft is not None and draft.links else None,
        )
        refresh_offer(session.shelf, session.outbox)
        if wants_better(self.factory, session):
            self.executor.submit(name_after_answer, self.factory, session, said, result["final_response"])
        return result

    def _storing_calls(self, progress: ToolProgress) -> None:
        """Show how a call goes on, and store that a call begins which another one makes, before it does anything.

        The model's own are stored with its answer. Of what a sub-agent or a program does the session has no message.
        """
        self.bridge.on_tool(progress)
        if isinstance(progress, CallRequested) and progress.parent:
            self.factory.sessions.store.write_journal(self.session.id, self.bridge.turn_id)

    def _renewing_offer(self, listener: Callable[[ToolProgress], None]) -> Callable[[ToolProgress], None]:
        """The same; commands and skills that have come since the last turn are offered once the model has answered,
        those that it writes as soon as they are there.
        """
        is_due = True

        def on_tool(progress: ToolProgress) -> None:
            nonlocal is_due
            listener(progress)
            if is_due or (
                isinstance(progress, CallFinished) and progress.name == _WRITES_SKILLS and not progress.result.failed
            ):
                is_due = False
                refresh_offer(self.session.shelf, self.session.outbox)

        return on_tool

    def _reading(self, draft: Draft, callbacks: AgentCallbacks) -> Callable[[], Content]:
        from acp_adapter.linked_files import LinkCalls, filled  # noqa: PLC0415 - most prompts link to nothing

        session, turn_id = self.session, self.bridge.turn_id
        services = TurnServices(session.services or SessionServices(), session.workspace.approvals, callbacks)

        def context(call_id: str, on_allowed: Callable[[Action], None]) -> ToolContext:
            call = CallIdentity(session.id, turn_id, turn_id, call_id)
            return session.workspace.context(
                call, self.token, services, on_allowed=on_allowed, on_output=lambda _: None
            )

        return lambda: filled(draft, LinkCalls(context, self.bridge.on_tool, turn_id, self.bridge.on_notice))

    def keep_unbegun(self, said: tuple[SaidPart, ...]) -> None:
        """The turn was cancelled before it began: store what the person said, and what they were told; blocks.

        The model is told with the next turn, if hooks let it (`injected_messages.catch_up`).

        Args:
            said: nothing: nobody has said anything, and nothing is stored.
        """
        session, turn_id, store = self.session, self.bridge.turn_id, self.factory.sessions.store
        try:
            if said:
                self._take()
                store.begin_turn(session.id, turn_id)
                store.end_turn(session.id, turn_id, "cancelled")
                name_after_prompt(self.factory.sessions.store, session, said)
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

    def _wait_for_servers(self) -> None:
        """Let the session's servers come up before its first request, and tell of those that cannot."""
        servers = self.session.servers
        if servers is None:
            return
        from agent_core.mcp.specs import still_waiting, told, waiting  # noqa: PLC0415 - most sessions have no servers

        if not self.session.servers_awaited:
            if note := waiting(servers.status()):
                self._begin_early()
                self.bridge.on_notice(note)
                servers.give_time(_PATIENCE_WITH_SERVERS, _PATIENCE_WITH_OTHERS, self.token)
            if self.token.is_set():
                return  # nothing goes on without them, and the next prompt has a wait of its own
            self.session.servers_awaited = True
            if note := still_waiting(servers.status()):
                self.bridge.on_notice(note)
        for failure in told(servers.status(), self.session.failures_told):
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
            try:
                answer = questions.ask_secret(wanted, self.token)
            except ToolInterrupted as stop:
                raise TurnInterrupted from stop
            if answer.outcome != "answered":
                raise
        return self._make_agent()

    def _make_agent(self) -> AIAgent:
        session = self.session
        self._take()
        services, choices = session.services or self._services(), session.choices
        agent = self.factory.agent(session.id, session.workspace, services, choices, on_note=self.bridge.on_note)
        if self.token.is_set():
            # The turn may have been given up meanwhile; it must not take the next one's place.
            raise TurnInterrupted
        session.agent, session.services, session.is_new = agent, services, False
        session.behind.listen(services.news)
        if session.choices != choices:
            self.factory.switch(agent, session.choices, services.model)
        return agent

    def _services(self) -> SessionServices:
        services = self.factory.services(self.session.id, self.session.call_ids)
        if (rehearsed := self.session.rehearsed) is not None:
            self.session.rehearsed = None
            rehearsed.hand_over(services)
        return services

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


# What the commands of one prompt may use.


@dataclass(frozen=True, slots=True)
class SessionDesk:
    """The desk of one prompt. Its methods block: they are for worker threads."""

    session: SessionState
    factory: AgentFactory
    token: CancelToken
    chooser: Chooser
    loop: asyncio.AbstractEventLoop

    def commands_beside(self, taken: Collection[str]) -> OtherCommands:
        """The session's commands that are not called like one of `taken`."""
        return self.session.shelf.beside(taken)

    def options(self) -> Sequence[Option]:
        """Everything that can be chosen for the session now."""
        return self.chooser.offered(self.session)

    def choose(self, option_id: str, value: str | bool) -> None:
        """As `session/set_config_option`."""
        asyncio.run_coroutine_threadsafe(self.chooser.choose(self.session, option_id, value), self.loop).result()

    def model(self) -> ModelChoice:
        """The model that the session's next request goes to."""
        return self.factory.model(self.session.choices.model, self.session.model_used)

    def served_window(self) -> ServedWindow | None:
        """What its server has said of its window."""
        return self.factory.served_window(self.session.choices.model, self.session.model_used)

    def tools(self) -> Sequence[ToolEntry]:
        """The tools that the session's model is offered: with the first prompt, those of a memory provider too."""
        enabled, disabled = self.factory.toolsets()
        agent = self.session.agent
        workspace = self.session.workspace if agent is None else agent.workspace
        return select(enabled, disabled, workspace.tools)

    def servers(self) -> Sequence[ServerState]:
        """The session's MCP servers."""
        return () if self.session.servers is None else self.session.servers.status()

    def fork(self) -> str:
        """Copy the session as it stands; the copy's id."""
        archive, seed, choices = self.factory.sessions.archive, self.session.seed, self.session.choices
        self.factory.sessions.store.settle(seed.session_id)
        source = archive.get(seed.session_id).source
        new = NewSession(
            new_session_id(), str(seed.cwd), seed.named_roots, source, choices.mode, options=choices.stored()
        )
        return archive.fork(seed.session_id, new).id

    def steer(self, text: str) -> bool:
        """Tell the running turn's model something; False where no turn runs that could take it."""
        return steer(self.session, text)


def steer(session: SessionState, text: str) -> bool:
    """Tell the session's running turn something; False, and nothing happens, if there is none."""
    agent, bridge = session.agent, session.bridge
    if agent is None or bridge is None or not agent.steer(text):
        return False
    bridge.note_steering(text)
    return True


# One prompt in its session: its place in the line, its command or its turn, a cancel.

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
        outcome: Outcome | None = await loop.run_in_executor(
            self.executor, perform, prompt.said, session.shelf, desk, own
        )
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


# All prompts of a connection. A cancel finds each of them from its beginning.

MOST_UNASKED = 256
"""Turns that no request waits for, in all sessions: each of the others is bounded by its request."""


class Prompting:
    """Begins and cancels turns; lives on the loop.

    Args:
        executor: threads for turns, and for what else waits for a person; `run_blocking` runs a function on them.
        is_cancelled: whether a request was cancelled before anybody had taken it up.
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
    ) -> None:
        self._factory = factory
        self._executor = executor
        self._sessions = sessions
        self._chooser = chooser
        self._is_cancelled = is_cancelled
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
