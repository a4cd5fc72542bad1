"""The agent: one conversation with a model that can use tools. The loop is `_converse`, a method per verb.

agent = AIAgent("offline", "offline")
agent.chat("read README.md")
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypedDict

from agent_core.budget import IterationBudget
from agent_core.callbacks import AgentCallbacks, Status, Step
from agent_core.errors import HermesError, ProviderProtocolError, RequestError, TurnInterrupted
from agent_core.interrupt import CancelToken
from agent_core.messages import Content, Message, ToolCall, assistant_message, closing, tool_message, user_message
from agent_core.model_call import CallIds, Reply, ask_model
from agent_core.prompt.system import build_system_prompt, gather_facts
from agent_core.providers.base import FinishReason, ModelRequest, Provider, Usage
from agent_core.services import SessionServices, TurnServices
from agent_core.sessions.memory import InMemorySessionStore
from agent_core.sessions.store import SessionStore
from agent_core.tool_runner import ToolRunner
from agent_core.workspace import Workspace, local_workspace
from tools.environments.guardian import Guardian
from tools.toolsets import get_tool_definitions

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]

_STOP: dict[FinishReason, StopReason] = {
    "stop": "end_turn",
    "tool_calls": "end_turn",
    "length": "max_tokens",
    "refusal": "refusal",
}
_INTERRUPTED = "[This turn was interrupted before it was finished.]"


class TurnUsage(TypedDict):
    """Tokens of all requests of a turn; what a provider does not say counts as 0."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int


class ConversationResult(TypedDict):
    """What a turn came to. `messages` is the whole conversation without the system prompt."""

    final_response: str
    messages: list[Message]
    usage: TurnUsage
    stop_reason: StopReason
    interrupted: bool
    iterations: int
    model: str
    turn_id: str


@dataclass(slots=True)
class _Turn:
    id: str
    task_id: str
    system: str
    token: CancelToken
    budget: IterationBudget
    messages: list[Message]
    ids: CallIds
    callbacks: AgentCallbacks = field(default_factory=AgentCallbacks)
    usage: TurnUsage = field(default_factory=lambda: _no_usage())  # noqa: PLW0108 - defined below


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

        Raises:
            AuthRequired, SettingsError: `provider` is a name, and the settings do not make it usable.
        """
        self.model = model
        self.provider = _provider(provider, model, api_mode) if isinstance(provider, str) else provider
        self._own_provider = isinstance(provider, str)
        self.platform = platform
        self.callbacks = callbacks or AgentCallbacks()
        self.session_id = session_id or uuid.uuid4().hex
        self.workspace = workspace or local_workspace(Path.cwd(), guardian=Guardian())
        self._toolsets = tuple(enabled_toolsets)
        self._disabled = tuple(disabled_toolsets)
        self._max_iterations = max_iterations
        self._max_tokens = max_tokens
        self._context_length = context_length
        self._store = session_store or InMemorySessionStore()
        self._store.create(self.session_id, str(self.workspace.cwd))
        self._services = services or SessionServices()
        self._tools: list[dict[str, object]] | None = None
        self._system: str | None = None
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
        token: CancelToken | None = None,
        callbacks: AgentCallbacks | None = None,
    ) -> ConversationResult:
        """Run one turn: from the user's message to the model's last word.

        Args:
            system_message: in place of the agent's own system prompt.
            conversation_history: in place of what the store holds.
            task_id: names the turn's work for tools; the turn's own id if left out.
            token: cancels the turn; made here if left out.
            callbacks: this turn's listeners, in place of the agent's.

        Raises:
            ProviderError: the model could not be asked; the history stays valid and the next turn may go on.
            RequestError: another turn is running.
        """
        if not self._running.acquire(blocking=False):
            raise RequestError("A turn is already running in this session. Wait for it or cancel it.")
        turn_id = uuid.uuid4().hex
        self._token, self._turn_id = token or CancelToken(), turn_id
        try:
            if self._token.is_set():
                return self._never_begun(turn_id)
            self._store.begin_turn(self.session_id, turn_id)
            turn = self._begin(turn_id, task_id, system_message, conversation_history, token=self._token)
            turn.callbacks = callbacks or self.callbacks
            return self._run(turn, user_message)
        finally:
            self._store.end_turn(self.session_id, turn_id)
            self._token = self._turn_id = None
            self._running.release()

    def _never_begun(self, turn_id: str) -> ConversationResult:
        """A turn that was given up before it began: it must not take the place of one that runs now."""
        return ConversationResult(
            final_response="",
            messages=self._store.messages(self.session_id),
            usage=_no_usage(),
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
        history: Sequence[Message] | None,
        *,
        token: CancelToken,
    ) -> _Turn:
        messages = self._store.messages(self.session_id) if history is None else list(history)
        self._services.call_ids.update(call["id"] for message in messages for call in message.get("tool_calls", ()))
        turn = _Turn(
            id=turn_id,
            task_id=task_id or turn_id,
            system=system_message or self._system_prompt(),
            token=token,
            budget=IterationBudget(self._max_iterations),
            messages=messages,
            ids=CallIds(self._services.call_ids),
        )
        if history is not None:
            messages.extend(closing(messages, _INTERRUPTED) if messages else ())
        elif messages:
            self._close_off(turn, _INTERRUPTED)  # an earlier turn may have been left in the middle
        return turn

    def _run(self, turn: _Turn, content: Content) -> ConversationResult:
        try:
            self._remember(turn, user_message(content))
            stop, text = self._converse(turn)
        except TurnInterrupted:
            self._close_off(turn, _INTERRUPTED)
            stop, text = "cancelled", ""
        except HermesError as problem:
            self._close_off(turn, f"[This turn failed: {problem.public}]")
            raise
        return ConversationResult(
            final_response=text,
            messages=turn.messages,
            usage=turn.usage,
            stop_reason=stop,
            interrupted=stop == "cancelled",
            iterations=turn.budget.used,
            model=self.model,
            turn_id=turn.id,
        )

    def _converse(self, turn: _Turn) -> tuple[StopReason, str]:
        while turn.budget.spend():
            reply = self._ask(turn)
            if not reply.tool_calls:
                return self._last_word(turn, reply)
            self._remember(turn, reply.message())
            self._use_tools(turn, reply.tool_calls)
        return self._out_of_budget(turn)

    def _last_word(self, turn: _Turn, reply: Reply) -> tuple[StopReason, str]:
        if reply.text.strip():
            self._remember(turn, reply.message())
            return _STOP[reply.finish], reply.text
        # Cut off or refused without a word: an empty message would be refused by servers for ever after.
        note = (
            "The answer was cut off before any text came."
            if reply.finish == "length"
            else "The model gave no answer."
        )
        self._tell_status(turn, Status("empty", note))
        self._remember(turn, assistant_message(f"[{note}]"))
        return _STOP[reply.finish], note

    def _ask(self, turn: _Turn) -> Reply:
        if turn.token.is_set():
            raise TurnInterrupted
        request = ModelRequest(
            model=self.model,
            messages=({"role": "system", "content": turn.system}, *turn.messages),
            tools=self._tool_definitions(),
            max_tokens=self._max_tokens,
        )
        reply = ask_model(self.provider, request, turn.token, turn.callbacks, turn.ids)
        _add(turn.usage, reply.usage)
        if turn.callbacks.step_callback is not None:
            turn.callbacks.step_callback(Step(turn.budget.used, reply.finish, reply.usage, self._context_length))
        if not reply.text.strip() and not reply.tool_calls and reply.finish in {"stop", "tool_calls"}:
            raise ProviderProtocolError(
                f"The model {self.model} gave an empty answer. Send the prompt again, or try another model."
            )
        return reply

    def _use_tools(self, turn: _Turn, calls: Sequence[ToolCall]) -> None:
        runner = ToolRunner(
            self.workspace,
            TurnServices(self._services, turn.callbacks.plan_callback),
            frozenset(str(tool["function"]["name"]) for tool in self._tool_definitions()),  # type: ignore[index]
            token=turn.token,
            session_id=self.session_id,
            task_id=turn.task_id,
            listener=turn.callbacks.tool_progress_callback,
        )
        for call, result in runner.run(calls):
            self._remember(turn, tool_message(call, result.text))

    def _remember(self, turn: _Turn, message: Message) -> None:
        """Store a message before anything is done about it."""
        if not self._store.append(self.session_id, turn.id, message):
            raise TurnInterrupted  # another turn has taken this one's place
        turn.messages.append(message)
        if turn.callbacks.message_callback is not None:
            turn.callbacks.message_callback(message)

    def _close_off(self, turn: _Turn, note: str) -> None:
        for message in closing(turn.messages, note):
            if self._store.append(self.session_id, turn.id, message):
                turn.messages.append(message)

    def _out_of_budget(self, turn: _Turn) -> tuple[StopReason, str]:
        text = (
            f"Stopped after {turn.budget.limit} model requests, the limit of one turn (agent.max_turns). "
            "Send another prompt to go on."
        )
        self._tell_status(turn, Status("budget", text))
        self._close_off(turn, f"[{text}]")
        return "max_turn_requests", text

    def _tell_status(self, turn: _Turn, status: Status) -> None:
        if turn.callbacks.status_callback is not None:
            turn.callbacks.status_callback(status)

    def _tool_definitions(self) -> Sequence[dict[str, object]]:
        if self._tools is None:
            self._tools = get_tool_definitions(self._toolsets, self._disabled)
        return self._tools

    def _system_prompt(self) -> str:
        if self._system is None:
            self._system = build_system_prompt(gather_facts(self.workspace.cwd, self.workspace.roots), self.platform)
        return self._system


def _no_usage() -> TurnUsage:
    return TurnUsage(input_tokens=0, output_tokens=0, cached_tokens=0, reasoning_tokens=0)


def _add(total: TurnUsage, usage: Usage) -> None:
    total["input_tokens"] += usage.input_tokens or 0
    total["output_tokens"] += usage.output_tokens or 0
    total["cached_tokens"] += usage.cached_tokens or 0
    total["reasoning_tokens"] += usage.reasoning_tokens or 0


def _provider(name: str, model: str, api_mode: str | None) -> Provider:
    import os  # noqa: PLC0415 - settings are read only for agents made by name

    from agent_core.config import Overrides, load  # noqa: PLC0415
    from agent_core.home import find_home  # noqa: PLC0415
    from agent_core.providers.make import make_provider  # noqa: PLC0415
    from agent_core.providers.resolve import resolve_model  # noqa: PLC0415

    choice = resolve_model(load(find_home(os.environ), Overrides(model=model, provider=name)))
    if api_mode not in (None, choice.api_mode):
        raise RequestError(
            f"The wire protocol {api_mode!r} is not available for {name}; it speaks {choice.api_mode}."
        )
    return make_provider(choice)
