"""The agent: one conversation with a model that can use tools. The loop of its turns is in `loop.py`.

agent = AIAgent("offline", "offline")
agent.chat("read README.md")
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.callbacks import AgentCallbacks, Status
from agent_core.cancel import CancelToken
from agent_core.compaction.compactor import with_engine
from agent_core.delegation.settings import DelegationSettings
from agent_core.errors import HermesError, ModelFailed, RequestError, TurnInterrupted, public_text
from agent_core.guardrails import Repeats
from agent_core.injected_messages import (
    begin_hooks,
    catch_up,
    hear_prompt_hooks,
    hooks_say,
    notes_beside,
    tell_undelivered,
    tell_unused,
)
from agent_core.loop import AgentSettings, Aim, Target, TurnLoop
from agent_core.memory.session_memory import recall, tell_troubles
from agent_core.messages import INTERRUPTED_TURN, Content, Message, closing, holds_others_words, text_of
from agent_core.model_request.fallback_chain import Route, provider_by_name
from agent_core.notifications import follow, open_turn
from agent_core.prompt.layers import PromptSettings, session_prompt
from agent_core.providers.base import Provider, ReasoningEffort
from agent_core.providers.choice import ModelChoice
from agent_core.providers.model_windows import Windows
from agent_core.services import SessionServices
from agent_core.sessions.database import MemoryDatabase
from agent_core.sessions.store import SessionStore
from agent_core.stop_reasons import Ending
from agent_core.turn import ConversationResult, IterationBudget, Turn, TurnHistory, never_begun
from agent_core.verification import forbids_checks
from agent_core.workspace import Workspace, local_workspace
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.batch.trajectories import Runs
    from agent_core.telemetry.spans import TurnSpans
    from tools.context import Delegation


@dataclass(frozen=True, slots=True)
class DelegationOfTurns:
    """Has sub-agents work for the turns of one agent: made turn by turn, and loaded when one is wanted.

    It does not know the agent, which would not be gone with its last user then.
    """

    store: SessionStore
    prompt: PromptSettings
    settings: DelegationSettings

    def __call__(self, loop: TurnLoop, turn: Turn) -> Delegation:
        """Who has sub-agents work for `turn`."""
        from agent_core.delegation import delegator, subagent  # noqa: PLC0415 - most turns need no sub-agents

        parent = subagent.Parent(AIAgent, loop, self.store, self.prompt)
        return delegator.TurnDelegation(parent, self.settings, turn)


def own_services(session_id: str, workspace: Workspace) -> SessionServices:
    """The services of an agent that nobody has given any: in memory, with the engine that compresses."""
    services = with_engine(SessionServices(), session_id)
    if workspace.processes is not None:
        follow(workspace.processes, services.news, services.tasks, session_id)
    return services


class AIAgent:
    """A conversation in one workspace. One turn runs at a time; `interrupt` may come from any thread."""

    def __init__(  # noqa: PLR0917 - the signature that users of the class know
        self,
        model: str,
        provider: Provider | str,
        platform: str = "acp",
        enabled_toolsets: Sequence[str] = ("hermes-acp",),
        api_mode: str | None = None,
        max_iterations: int = 90,
        callbacks: AgentCallbacks | None = None,
        session_store: SessionStore | None = None,
        *,
        session_id: str | None = None,
        workspace: Workspace | None = None,
        services: SessionServices | None = None,
        disabled_toolsets: Sequence[str] = (),
        max_tokens: int | None = None,
        context_length: int | None = None,
        route: Route | None = None,
        reasoning: ReasoningEffort | None = None,
        settings: AgentSettings | None = None,
        prompt: PromptSettings | None = None,
        ephemeral_system_prompt: str = "",
        save_trajectories: Runs | bool = False,
        delegation: DelegationSettings | None = None,
    ) -> None:
        """Make an agent; nothing is loaded or connected yet.

        Args:
            provider: a provider, or the name of one in the user's settings.
            platform: what shows the answers; picks a hint in the system prompt.
            api_mode: the wire protocol, where `provider` is a name; None lets the settings decide.
            max_iterations: model requests in one turn, at most.
            callbacks: listeners of every turn; `run_conversation` may be given others.
            session_store: where the conversation is kept; None keeps it in memory.
            workspace: where it works; None is the current directory, with nobody to ask for permission.
            context_length: the model's window in tokens, where it is known.
            services: what outlasts an agent (the plan), where the session keeps it.
            route: the models to ask in turn, in place of `provider` alone; the first is `model`.
            reasoning: how much the model should think; None leaves it to the server.
            settings: what is set about its turns.
            prompt: where the system prompt's parts come from.
            ephemeral_system_prompt: goes behind the system prompt in each request; never stored or exported.
            save_trajectories: where each turn goes as a trajectory when it is over; True: into the user's home.
            delegation: what is set about sub-agents.

        Raises:
            AuthRequired, SettingsError: `provider` is a name, and the settings do not make it usable.
        """
        self.model = model
        if isinstance(provider, str):
            choice, self.provider = provider_by_name(provider, model, api_mode)
        else:
            choice, self.provider = ModelChoice(provider.name, model, "offline", "", "given"), provider
        self._own_provider = isinstance(provider, str)
        self.platform = platform
        self.callbacks = callbacks or AgentCallbacks()
        self.session_id = session_id or uuid.uuid4().hex
        self.workspace = workspace or local_workspace(Path.cwd())
        self._max_iterations = max_iterations
        choice = replace(
            choice,
            max_tokens=choice.max_tokens if max_tokens is None else max_tokens,
            context_length=choice.context_length if context_length is None else context_length,
        )
        self._aim = Aim(Target(route or self._own_route(choice), reasoning))
        self.session_store = session_store or SessionStore(MemoryDatabase(), background=False)
        self.session_store.create(self.session_id, str(self.workspace.client_cwd))
        self.services = services or own_services(self.session_id, self.workspace)
        given = prompt or PromptSettings()
        self._prompt = replace(given, ephemeral=ephemeral_system_prompt) if ephemeral_system_prompt else given
        given_delegation = delegation or DelegationSettings()
        self._settings = settings or AgentSettings()
        lacking = (self.services, self.workspace, given_delegation)
        self._loop = TurnLoop(
            session_id=self.session_id,
            workspace=self.workspace,
            services=self.services,
            aim=self._aim,
            toolsets=tuple(enabled_toolsets),
            disabled=(*disabled_toolsets, *(name for one in lacking for name in one.missing_tools())),
            settings=self._settings,
            context_files=self._prompt.context_files,
            delegation=DelegationOfTurns(self.session_store, self._prompt, given_delegation),
            limits=given_delegation.limits,
        )
        self._trajectories: Runs | None = None
        if save_trajectories:
            from agent_core.batch.trajectories import log_for  # noqa: PLC0415 - few sessions keep their turns

            self._trajectories = log_for(save_trajectories)
        self._running = threading.Lock()
        self._token: CancelToken | None = None
        self._turn_id: str | None = None
        self._turn: Turn | None = None
        self.begun = ""  # the id of the turn that was begun last
        # The running turn, as the session's activity knows it.
        self._began = 0
        self._trace: TurnSpans | None = None

    def _own_route(self, choice: ModelChoice) -> Route:
        route = Route.single(choice, self.provider)
        if not self._own_provider:
            return route

        return replace(route, windows=Windows())

    @property
    def messages(self) -> list[Message]:
        """The conversation so far, as the store holds it; a `StoreError` if it cannot be read."""
        return self.session_store.messages(self.session_id)

    @property
    def route(self) -> Route:
        """The models that are asked in turn."""
        return self._aim.target.route

    @property
    def is_running(self) -> bool:
        """Whether a turn runs."""
        return self._running.locked()

    def chat(self, message: str) -> str:
        """Run one turn and return the answer's text."""
        return self.run_conversation(message)["final_response"]

    def interrupt(self) -> None:
        """End the running turn, if there is one."""
        if (token := self._token) is not None:
            token.cancel()

    def steer(self, text: str) -> bool:
        """Tell the running turn's model something: with its next tool results, or before the turn would end.

        Returns:
            False, and nothing happens, if no turn runs that could take it.
        """
        turn = self._turn
        return turn is not None and turn.steering.put(text)

    def switch(self, route: Route, reasoning: ReasoningEffort | None) -> None:
        """Ask other models, or let them think more or less, from the next request on, in a running turn too."""
        choice = route.members[0].choice
        self.model, self.services.model = choice.model, choice.name
        self._aim.target = Target(route, reasoning)

    def give_back(self) -> None:
        """Tell the person, through the running turn's listeners, what its model was not told; it takes no more."""
        if (turn := self._turn) is not None:
            tell_undelivered(turn)

    def abandon(self) -> None:
        """Give the running turn up, for good: it is cancelled, nothing of it reaches the history any more, and this
        agent takes no other turn before the stuck one has ended. Another agent may go on with the session.
        """
        self.interrupt()
        if (turn_id := self._turn_id) is not None:
            self.services.activity.end(self._began)
            self.session_store.end_turn(self.session_id, turn_id)

    def close(self) -> None:
        """End the session's processes, and the provider's connections where the agent made the provider itself."""
        self.interrupt()
        self.workspace.close()
        if self._own_provider:
            self.provider.close()

    def run_conversation(
        self,
        user_message: Content | None,
        system_message: str | None = None,
        conversation_history: Sequence[Message] | None = None,
        task_id: str | None = None,
        *,
        turn_id: str | None = None,
        token: CancelToken | None = None,
        callbacks: AgentCallbacks | None = None,
        complete: Callable[[], Content] | None = None,
    ) -> ConversationResult:
        """Run one turn: from the user's message to the model's last word.

        Args:
            user_message: None: nobody has said anything, the turn is about the news of the background that wait.
            system_message: in place of the agent's own system prompt.
            conversation_history: in place of what the store holds.
            task_id: names the turn's work for tools; the turn's own id if left out.
            turn_id: names the turn for ever; made here if left out.
            token: cancels the turn; made here if left out.
            callbacks: this turn's listeners, in place of the agent's.
            complete: makes what the model gets of the user's message, once the turn has begun; it may ask the
                person. Should it not come to an end, `user_message` is what stays.

        Raises:
            ProviderError: the model could not be asked; the history stays valid and the next turn may go on.
            RequestError: another turn is running, here or in another process.
            StoreError: the conversation so far cannot be read.
        """
        if not self._running.acquire(blocking=False):
            raise RequestError("A turn is already running in this session. Wait for it or cancel it.")
        turn_id = turn_id or uuid.uuid4().hex
        outcome, failure = "", None
        turn: Turn | None = None
        self._token, self._turn_id = token or CancelToken(), turn_id
        try:
            if self._token.is_set():
                return never_begun(self.messages, self.model, turn_id)
            self.session_store.begin_turn(self.session_id, turn_id)
            self.begun = turn_id
            self._began = self.services.activity.begin()
            callbacks = self.services.activity.heard(callbacks or self.callbacks)
            if self.services.tracing is not None:
                self._trace = self.services.tracing.begin(self.session_id, turn_id)
                callbacks = self._trace.heard(callbacks)
            if not self.workspace.ready(turn_id, self._token, callbacks):
                outcome = "cancelled"
                return never_begun(self.messages, self.model, turn_id)
            turn = self._begin(turn_id, task_id, system_message, conversation_history, callbacks)
            self._turn = turn
            result = self._run(turn, user_message, complete)
            outcome = result["stop_reason"]
        except Exception as problem:
            outcome, failure = "error", problem
            raise
        else:
            return result
        finally:
            try:
                self._wind_up(turn_id, turn, system_message, outcome, failure)
            finally:
                self._token = self._turn_id = self._turn = failure = None
                self._running.release()

    def _wind_up(self, turn_id: str, turn: Turn | None, system: str | None, stop: str, why: Exception | None) -> None:
        """The turn is over: it can store nothing more, and whoever must know is told."""
        self.services.activity.end(self._began)
        if self._trace is not None:
            self._trace.end(turn, stop, why)
            self._trace = None
        note = public_text(why)
        if self.begun == turn_id or stop == "error":
            self.session_store.end_turn(self.session_id, turn_id, stop, note)
        if turn is None:
            return
        turn.history.tell_trouble()
        tell_undelivered(turn)
        if self._trajectories is not None:
            from agent_core.batch.trajectories import keep  # noqa: PLC0415 - as above

            keep(
                self._trajectories,
                turn,
                self.services,
                session_id=self.session_id,
                cwd=self.workspace.client_cwd,
                system=system,
                outcome=stop,
                note=note,
            )

    def _begin(
        self,
        turn_id: str,
        task_id: str | None,
        system_message: str | None,
        given: Sequence[Message] | None,
        callbacks: AgentCallbacks,
    ) -> Turn:
        # What the command line asks for, or what stands in for it today, is not the session's own choice.
        route = self.route
        self.services.model = self.services.model or route.members[0].choice.name
        stored = self.messages if given is None else given
        messages = self.services.sound.take_up(stored, self.services.call_ids)
        if len(messages) < self.services.told:
            # Something was taken back: the model knows no more of the files that it had read then.
            self.workspace.seen.forget_all()
        self.services.recall_compaction(
            self.session_store, self.session_id, None if given is not None else len(messages)
        )
        history = TurnHistory(
            self.session_store,
            self.session_id,
            turn_id,
            messages,
            len(messages),
            self._token or CancelToken(),
            callbacks.message_callback,
            callbacks.status_callback,
            approvals=self.workspace.approvals,
        )
        if not self.workspace.approvals.has_read_others and any(map(holds_others_words, messages)):
            self.workspace.approvals.note_others()
        if given is not None:
            messages.extend(closing(messages, INTERRUPTED_TURN))
        return Turn(
            id=turn_id,
            task_id=task_id or turn_id,
            system=self._prompt.with_ephemeral(system_message or self._system_prompt(callbacks)),
            token=self._token or CancelToken(),
            budget=IterationBudget(self._max_iterations),
            history=history,
            planned=route,
            route=route.begin(self._token or CancelToken()),
            callbacks=callbacks,
            hooks=self.workspace.hooks,
            platform=self.platform,
            keeps=partial(self.session_store.compact, self.session_id, turn_id) if given is None else None,
            repeats=Repeats(self._settings.guardrails, self._only_reads),
            renew=None if system_message else lambda: self._renewed_prompt(callbacks),
        )

    def _renewed_prompt(self, callbacks: AgentCallbacks) -> str:
        """The system prompt for a window of another size."""
        self.services.system = None
        return self._prompt.with_ephemeral(self._system_prompt(callbacks))

    def _only_reads(self, tool: str) -> bool:
        entry = self.workspace.tools.get(tool)
        return entry is not None and entry.parallel == "safe"

    def _run(self, turn: Turn, content: Content | None, complete: Callable[[], Content] | None) -> ConversationResult:
        ending = Ending(turn, self.services)
        memory, prompt = None if content is None else self.services.memory, text_of(content or "")
        try:
            said = begin_hooks(turn)
            if turn.keeps is not None:
                catch_up(turn)
            turn.history.close_earlier()
            said = hooks_say(said, "" if content is None else hear_prompt_hooks(turn, content))
            if memory is not None:
                memory.begin_turn(prompt)
            note = notes_beside(self.services, self.workspace)

            def beside() -> str:
                return "\n\n".join(filter(None, ("" if memory is None else recall(memory, turn), said, note)))

            if open_turn(turn, self.services.news, content, complete, beside):
                turn.loose_ends.wanted = self._settings.verify_on_stop
                turn.loose_ends.checks_wanted = not forbids_checks(content or "")
                tell_unused(turn, content or "")
                stop, text = self._loop.run(turn, ending)
                if memory is not None:
                    memory.end_turn(prompt, text)
                    tell_troubles(memory, turn)
            else:
                stop, text = "end_turn", ""
        except TurnInterrupted:
            turn.history.close_off(INTERRUPTED_TURN)
            stop, text = "cancelled", ""
        except ModelFailed as problem:
            stop, text = ending.failed(problem)
        except HermesError as problem:
            turn.history.close_off(f"[This turn failed: {problem.public}]")
            raise
        finally:
            turn.hooks.end_turn()
            self.services.told = len(turn.history.messages)
            self.session_store.keep(self.session_id, self.services.kept())
        return ending.result(stop, text)

    def _system_prompt(self, callbacks: AgentCallbacks) -> str:
        """The session's system prompt, built with its first turn. What is left out of it is told to the person."""
        services = self.services
        if services.system is None:
            choice = self.route.first
            before = services.prompt_notes
            prompt, services.prompt_notes = session_prompt(
                self.workspace,
                self._prompt,
                choice,
                platform=self.platform,
                tools=self._loop.listed_names(),
                memory_block="" if services.memory is None else services.memory.block(),
                skills_index=self._skills_index(),
            )
            services.system, services.prompt_layers = prompt.text, prompt.sizes
            if (tell := callbacks.status_callback) is not None:
                for note in (note for note in services.prompt_notes if note not in before):
                    tell(Status("context", note))
        return services.system

    def _skills_index(self) -> str:
        """The list of skills, for a model that can read them."""
        skills, tools = self.services.skills, self._loop.offered_tools()
        can_read = "skill_view" in self._loop.tool_names()
        return skills.index(tools) if skills is not None and can_read else ""
