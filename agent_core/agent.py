"""The agent: one conversation with a model that can use tools. The loop is `_converse`, a method per verb.

agent = AIAgent("offline", "offline")
agent.chat("read README.md")
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent_core.asking.reply import CallIds, Reply
from agent_core.asking.route import Route
from agent_core.asking.survive import Asker, Patience
from agent_core.budget import IterationBudget
from agent_core.callbacks import AgentCallbacks, Step
from agent_core.errors import HermesError, ModelFailed, RequestError, TurnInterrupted
from agent_core.interrupt import CancelToken
from agent_core.messages import Content, Message, closing, repaired, tool_message, user_message
from agent_core.prompt.system import build_system_prompt, gather_facts
from agent_core.providers.base import CacheTtl, ModelRequest, Provider, ReasoningEffort, Usage
from agent_core.providers.by_name import provider_by_name
from agent_core.providers.choice import ModelChoice
from agent_core.providers.knowledge.pricing import cost_of
from agent_core.services import SessionServices, TurnServices
from agent_core.sessions.memory import InMemorySessionStore
from agent_core.sessions.store import SessionStore
from agent_core.tool_runner import ToolRunner
from agent_core.turn import Turn
from agent_core.turn_ending import Ending
from agent_core.turn_history import TurnHistory
from agent_core.turn_result import ConversationResult, StopReason, no_usage
from agent_core.workspace import Workspace, local_workspace
from tools.environments.guardian import Guardian
from tools.toolsets import get_tool_definitions

_INTERRUPTED = "[This turn was interrupted before it was finished.]"
_UNEXPECTED = "Something went wrong inside the agent; its log has the details."
_CONTINUATIONS = 3
_GO_ON = (
    "[Your answer reached the output limit here. The person has seen it up to this point. "
    "Go on exactly where it stops, and repeat nothing.]"
)


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
        cache_ttl: CacheTtl = "5m",
        patience: Patience | None = None,
    ) -> None:
        """Make an agent; nothing is loaded or connected yet.

        Args:
            provider: a provider, or the name of one in the user's settings.
            platform: what shows the answers; picks a hint in the system prompt.
            api_mode: the wire protocol, where `provider` is a name; None lets the settings decide.
            max_iterations: model requests in one turn, at most.
            callbacks: listeners of every turn; `run_conversation` may be given others.
            workspace: where it works; None is the current directory, with nobody to ask for permission.
            context_length: the model's window in tokens, where it is known.
            services: what outlasts an agent (the plan), where the session keeps it.
            route: the models to ask in turn, in place of `provider` alone; the first is `model`.
            reasoning: how much the model should think; None leaves it to the server.
            cache_ttl: how long servers should keep the conversation's beginning, where they let us choose.
            patience: how long one request is tried.

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
        self.workspace = workspace or local_workspace(Path.cwd(), guardian=Guardian())
        self._toolsets = tuple(enabled_toolsets)
        self._disabled = tuple(disabled_toolsets)
        self._max_iterations = max_iterations
        choice = replace(
            choice,
            max_tokens=choice.max_tokens if max_tokens is None else max_tokens,
            context_length=choice.context_length if context_length is None else context_length,
        )
        self._route = route or Route.single(choice, self.provider)
        self._reasoning: ReasoningEffort | None = reasoning
        self._cache_ttl: CacheTtl = cache_ttl
        self._patience = patience or Patience()
        self._store = session_store or InMemorySessionStore()
        self._store.create(self.session_id, str(self.workspace.cwd))
        self._services = services or SessionServices()
        self._running = threading.Lock()
        self._token: CancelToken | None = None
        self._turn_id: str | None = None

    def chat(self, message: str) -> str:
        """Run one turn and return the answer's text."""
        return self.run_conversation(message)["final_response"]

    def interrupt(self) -> None:
        """End the running turn, if there is one."""
        token = self._token
        if token is not None:
            token.cancel()

    def abandon(self) -> None:
        """Give the running turn up, for good: it is cancelled, nothing of it reaches the history any more, and this
        agent takes no other turn before the stuck one has ended. Another agent may go on with the session.
        """
        self.interrupt()
        turn_id = self._turn_id
        if turn_id is not None:
            self._store.end_turn(self.session_id, turn_id)

    def close(self) -> None:
        """End the session's processes, and the provider's connections where the agent made the provider itself."""
        self.interrupt()
        self.workspace.close()
        if self._own_provider:
            self.provider.close()

    def run_conversation(
        self,
        user_message: Content,
        system_message: str | None = None,
        conversation_history: Sequence[Message] | None = None,
        task_id: str | None = None,
        *,
        turn_id: str | None = None,
        token: CancelToken | None = None,
        callbacks: AgentCallbacks | None = None,
    ) -> ConversationResult:
        """Run one turn: from the user's message to the model's last word.

        Args:
            system_message: in place of the agent's own system prompt.
            conversation_history: in place of what the store holds.
            task_id: names the turn's work for tools; the turn's own id if left out.
            turn_id: names the turn for ever; made here if left out.
            token: cancels the turn; made here if left out.
            callbacks: this turn's listeners, in place of the agent's.

        Raises:
            ProviderError: the model could not be asked; the history stays valid and the next turn may go on.
            RequestError: another turn is running, here or in another process.
            StoreError: the conversation so far cannot be read.
        """
        if not self._running.acquire(blocking=False):
            raise RequestError("A turn is already running in this session. Wait for it or cancel it.")
        turn_id = turn_id or uuid.uuid4().hex
        outcome, note = "", ""
        turn: Turn | None = None
        self._token, self._turn_id = token or CancelToken(), turn_id
        try:
            if self._token.is_set():
                return self._never_begun(turn_id)
            self._store.begin_turn(self.session_id, turn_id)
            turn = self._begin(turn_id, task_id, system_message, conversation_history, callbacks or self.callbacks)
            result = self._run(turn, user_message)
            outcome = result["stop_reason"]
        except Exception as problem:
            outcome, note = "error", problem.public if isinstance(problem, HermesError) else _UNEXPECTED
            raise
        else:
            return result
        finally:
            self._store.end_turn(self.session_id, turn_id, outcome, note)
            if turn is not None:
                turn.history.tell_trouble()
            self._token = self._turn_id = None
            self._running.release()

    def _never_begun(self, turn_id: str) -> ConversationResult:
        """A turn that was given up before it began: it must not take the place of one that runs now."""
        return ConversationResult(
            final_response="",
            messages=self._store.messages(self.session_id),
            usage=no_usage(),
            cost=None,
            stop_reason="cancelled",
            interrupted=True,
            iterations=0,
            model=self.model,
            turn_id=turn_id,
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
        self._services.model = self._services.model or self._route.members[0].choice.name
        messages = repaired(self._store.messages(self.session_id) if given is None else given)
        self._services.call_ids.update(call["id"] for message in messages for call in message.get("tool_calls", ()))
        history = TurnHistory(
            self._store,
            self.session_id,
            turn_id,
            messages,
            len(messages),
            callbacks.message_callback,
            callbacks.status_callback,
        )
        if given is not None:
            messages.extend(closing(messages, _INTERRUPTED) if messages else ())
        elif messages:
            history.close_off(_INTERRUPTED)  # an earlier turn may have been left in the middle
        return Turn(
            id=turn_id,
            task_id=task_id or turn_id,
            system=system_message or self._system_prompt(),
            token=self._token or CancelToken(),
            budget=IterationBudget(self._max_iterations),
            history=history,
            route=self._route.begin(self._token or CancelToken()),
            callbacks=callbacks,
        )

    def _run(self, turn: Turn, content: Content) -> ConversationResult:
        ending = Ending(turn, self._services)
        try:
            turn.history.remember(user_message(content))
            stop, text = self._converse(turn, ending)
        except TurnInterrupted:
            turn.history.close_off(_INTERRUPTED)
            stop, text = "cancelled", ""
        except ModelFailed as problem:
            stop, text = ending.failed(problem)
        except HermesError as problem:
            turn.history.close_off(f"[This turn failed: {problem.public}]")
            raise
        finally:
            self._store.keep(self.session_id, self._services.kept())
        return ConversationResult(
            final_response=text,
            messages=turn.history.messages,
            usage=turn.usage,
            cost=turn.cost,
            stop_reason=stop,
            interrupted=stop == "cancelled",
            iterations=turn.budget.used,
            model=turn.route.choice.model,
            turn_id=turn.id,
        )

    def _converse(self, turn: Turn, ending: Ending) -> tuple[StopReason, str]:
        asker = self._asker(turn)
        while turn.budget.spend():
            reply = self._ask(turn, asker)
            if reply.finish == "refusal":
                return ending.refused("".join((*asker.carried, reply.text)))
            if reply.tool_calls:
                turn.history.remember(reply.message(turn.route.choice))
                asker.carried.clear()
                self._use_tools(turn, reply)
            elif reply.finish == "length" and reply.text.strip() and turn.continuations < _CONTINUATIONS:
                turn.continuations += 1
                asker.keep_unfinished(reply.text, _GO_ON)
            else:
                return ending.last_word(reply, asker.carried)
        return ending.out_of_budget(asker.carried)

    def _asker(self, turn: Turn) -> Asker:
        return Asker(
            route=turn.route,
            history=turn.history,
            build=lambda choice, messages: self._request(turn, choice, messages),
            token=turn.token,
            callbacks=turn.callbacks,
            ids=CallIds(self._services.call_ids),
            omissions=self._services.omissions,
            prefix=self._services.prefix,
            count=lambda usage, choice: self._count(turn, usage, choice),
            patience=self._patience,
        )

    def _request(self, turn: Turn, choice: ModelChoice, messages: Sequence[Message]) -> ModelRequest:
        return ModelRequest(
            model=choice.model,
            messages=({"role": "system", "content": turn.system}, *messages),
            tools=self._tool_definitions(),
            max_tokens=choice.max_tokens,
            reasoning=self._reasoning,
            cache_ttl=self._cache_ttl,
            session_id=self.session_id,
        )

    def _ask(self, turn: Turn, asker: Asker) -> Reply:
        reply = asker.ask()
        choice = turn.route.choice
        if turn.callbacks.step_callback is not None:
            turn.callbacks.step_callback(
                Step(
                    iteration=turn.budget.used,
                    finish=reply.finish,
                    usage=reply.usage,
                    context_length=choice.context_length,
                    model=choice.name,
                    cost=cost_of(reply.usage, choice.facts, self._cache_ttl),
                    session_cost=self._services.spent.cost,
                )
            )
        return reply

    def _count(self, turn: Turn, usage: Usage, choice: ModelChoice) -> None:
        cost = cost_of(usage, choice.facts, self._cache_ttl)
        turn.count(usage, cost)
        self._services.spent = self._services.spent.add(usage, cost)

    def _use_tools(self, turn: Turn, reply: Reply) -> None:
        runner = ToolRunner(
            self.workspace,
            TurnServices(self._services, turn.callbacks.plan_callback),
            frozenset(str(tool["function"]["name"]) for tool in self._tool_definitions()),  # type: ignore[index]
            token=turn.token,
            session_id=self.session_id,
            turn_id=turn.id,
            task_id=turn.task_id,
            listener=turn.callbacks.tool_progress_callback,
        )
        for call, result in runner.run(reply.tool_calls, reply.problems):
            turn.history.remember(tool_message(call, result.text))

    def _tool_definitions(self) -> Sequence[dict[str, object]]:
        if self._services.tools is None:
            self._services.tools = get_tool_definitions(self._toolsets, self._disabled)
        return self._services.tools

    def _system_prompt(self) -> str:
        if self._services.system is None:
            facts = gather_facts(self.workspace.cwd, self.workspace.roots)
            self._services.system = build_system_prompt(facts, self.platform)
        return self._services.system
