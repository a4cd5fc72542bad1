"""Agents for tests: a scripted model, a real workspace, a store that keeps a log, and ears for every callback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from agent_core.agent import AIAgent
from agent_core.callbacks import AgentCallbacks, CallFinished, CallOutput, CallRequested, CallRunning, ToolProgress
from agent_core.loop import AgentSettings
from agent_core.messages import Content, Message
from agent_core.model_request.caller import Patience
from agent_core.providers.base import Provider
from agent_core.sessions.database import MemoryDatabase
from agent_core.sessions.store import SessionStore
from agent_core.turn import ConversationResult
from agent_core.workspace import local_workspace
from tests.support.scripted_provider import Script, ScriptedProvider
from tools.approval.gate import Approver
from tools.approval.policy import Mode
from tools.environments.guardian import Guardian

T = TypeVar("T")
TEST_TOOLS = "test-tools"


_SETTINGS = {"cache_ttl", "patience", "guardrails", "verify_on_stop"}


def make_agent(
    cwd: Path,
    *scripts: Script,
    provider: Provider | None = None,
    mode: Mode = "dont_ask",
    approver: Approver | None = None,
    guardian: Guardian | None = None,
    **options: Any,
) -> AIAgent:
    """An agent in `cwd` whose model plays `scripts`; it has the usual tools and those of the test.

    It tries each request once, if the test does not say otherwise. Among the options may be fields of its settings.
    """
    options.setdefault("enabled_toolsets", ("hermes-acp", TEST_TOOLS))
    set_here = {name: options.pop(name) for name in _SETTINGS & options.keys()}
    settings = AgentSettings(**{"patience": Patience(attempts=1), **set_here})
    workspace = local_workspace(cwd, guardian=guardian or Guardian(), mode=mode, approver=approver)
    return AIAgent(
        "test-model", provider or ScriptedProvider(*scripts), workspace=workspace, settings=settings, **options
    )


class MemoryStore(SessionStore):
    """A store in memory."""

    def __init__(self) -> None:
        self.database = MemoryDatabase()
        super().__init__(self.database, background=False)


class LoggedStore(MemoryStore):
    """Writes each stored message into a log that the test's tools and scripts write into too."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []

    def append(self, session_id: str, turn_id: str, message: Message) -> bool:
        kept = super().append(session_id, turn_id, message)
        called = "+calls" if message.get("tool_calls") else ""
        self.log.append(f"{'stored' if kept else 'refused'} {message['role']}{called}")
        return kept

    def note(self, what: str) -> Callable[[], None]:
        """A step of a script that writes into the log."""
        return lambda: self.log.append(what)


@dataclass
class Ears:
    """Hears every callback, in order: (kind, value). Safe to use from several threads."""

    heard: list[tuple[str, Any]] = field(default_factory=list)

    def callbacks(self) -> AgentCallbacks:
        return AgentCallbacks(
            stream_delta_callback=lambda text: self._hear("text", text),
            reasoning_callback=lambda text: self._hear("reasoning", text),
            thinking_callback=lambda text: self._hear("thinking", text),
            tool_gen_callback=lambda call_id, name: self._hear("tool_gen", (call_id, name)),
            tool_progress_callback=lambda progress: self._hear("tool", progress),
            step_callback=lambda step: self._hear("step", step),
            message_callback=lambda message: self._hear("message", message),
            status_callback=lambda status: self._hear("status", status),
            compression_callback=lambda step: self._hear("compression", step),
            plan_callback=lambda items: self._hear("plan", items),
        )

    def of(self, kind: str) -> list[Any]:
        return [value for heard, value in self.heard if heard == kind]

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.heard]

    def progress(self, call_id: str) -> list[str]:
        """A call's way, in words."""
        return [_WORDS[type(step)] for step in self.of("tool") if step.call_id == call_id]

    def finished(self, call_id: str) -> CallFinished:
        return next(step for step in self.of("tool") if isinstance(step, CallFinished) and step.call_id == call_id)

    def _hear(self, kind: str, value: Any) -> None:
        self.heard.append((kind, value))


_WORDS: dict[type[ToolProgress], str] = {
    CallRequested: "requested",
    CallRunning: "running",
    CallOutput: "output",
    CallFinished: "finished",
}


def in_background(work: Callable[[], T]) -> Future[T]:
    """Run `work` on a thread of its own."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as problem:  # noqa: BLE001 - whoever asks for the result gets it
            future.set_exception(problem)

    threading.Thread(target=run, name="background").start()
    return future


def roles(messages: Sequence[Message]) -> list[str]:
    return [message["role"] for message in messages]


def assert_well_formed(messages: Sequence[Message]) -> None:
    """User and assistant alternate, each tool call has one result, in call order, and the model had its say.

    Words of the user's may stand behind the results of an answer.
    """
    position = 0
    while position < len(messages):
        assert messages[position]["role"] == "user", roles(messages)
        position += 1
        while True:
            assert position < len(messages), f"no last word: {roles(messages)}"
            answer = messages[position]
            assert answer["role"] == "assistant", roles(messages)
            calls = [call["id"] for call in answer.get("tool_calls", ())]
            results = [message.get("tool_call_id") for message in messages[position + 1 : position + 1 + len(calls)]]
            assert results == calls, roles(messages)
            position += 1 + len(calls)
            if not calls or (position < len(messages) and messages[position]["role"] == "user"):
                break


def tool_contents(messages: Iterable[Message]) -> list[Content | None]:
    """The results of tools among the messages."""
    return [message["content"] for message in messages if message["role"] == "tool"]


def injected(result: ConversationResult) -> list[Content | None]:
    """What the agent told the model of its own accord in a turn."""
    return [message["content"] for message in result["messages"] if message.get("injected")]


def events_of_kind(kind: type, events: Iterable[object]) -> list[object]:
    """The events of one class, in their order."""
    return [event for event in events if isinstance(event, kind)]
