"""A turn's work on its worker thread: the agent is made, the prompt completed, the conversation run."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.commands import refresh_offer
from acp_adapter.events import EventBridge
from acp_adapter.links.addresses import is_elsewhere
from acp_adapter.links.draft import Draft
from acp_adapter.naming import name_after_answer, name_after_prompt, wants_better
from acp_adapter.questions import EditorQuestions, SecretWanted
from acp_adapter.session import SessionState
from agent_core.agent import AIAgent
from agent_core.callbacks import AgentCallbacks, CallFinished, CallRequested, ToolProgress
from agent_core.errors import HermesError, KeyMissing, TurnInterrupted, UnknownSession, public_text
from agent_core.factory import AgentFactory
from agent_core.interrupt import CancelToken
from agent_core.log_context import working_for
from agent_core.messages import Content
from agent_core.prompt_parts import SaidDocument, SaidPart
from agent_core.services import SessionServices, TurnServices
from agent_core.turn.result import ConversationResult
from agent_core.workspace import CallIdentity
from tools.approval.actions import Action
from tools.context import ToolContext
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass

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
        from acp_adapter.links.filling import LinkCalls, filled  # noqa: PLC0415 - most prompts link to nothing

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

        The model is told with the next turn, if hooks let it (`turn.catching_up`).

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
        from agent_core.mcp.telling import still_waiting, told, waiting  # noqa: PLC0415 - most sessions have no servers

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
