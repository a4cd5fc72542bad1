"""One model request: streams the answer to the listeners and collects it. An interrupt ends it at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from agent_core.callbacks import AgentCallbacks
from agent_core.errors import ProviderError, ProviderProtocolError, TurnInterrupted
from agent_core.interrupt import CancelToken
from agent_core.messages import Message, ToolCall, assistant_message, tool_call
from agent_core.providers.base import (
    Finished,
    FinishReason,
    ModelRequest,
    Provider,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallArguments,
    ToolCallDraft,
    ToolCallStarted,
    Usage,
    UsageReport,
)


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer."""

    text: str
    reasoning: str
    tool_calls: tuple[ToolCall, ...]
    finish: FinishReason
    usage: Usage

    def message(self) -> Message:
        """The answer as the history keeps it."""
        return assistant_message(self.text, self.tool_calls, self.reasoning)


class CallIds:
    """Gives each tool call of a session an id of its own: the provider's, made unique where it repeats."""

    def __init__(self, used: set[str]) -> None:
        self._used = used

    def unique(self, proposed: str) -> str:
        """`proposed` if it is new, else a variation of it."""
        base = proposed or "call"
        candidate, number = base, 1
        while candidate in self._used:
            number += 1
            candidate = f"{base}-{number}"
        self._used.add(candidate)
        return candidate


def ask_model(
    provider: Provider, request: ModelRequest, token: CancelToken, callbacks: AgentCallbacks, ids: CallIds
) -> Reply:
    """Ask and collect.

    Raises:
        TurnInterrupted: the turn was cancelled; nothing of the answer is kept.
        ProviderError: the request failed.
    """
    stream = provider.stream(request)
    forget = token.on_cancel(stream.close)
    collector = _Collector(callbacks, ids)
    try:
        for event in stream:
            if token.is_set():
                raise TurnInterrupted
            collector.take(event)
    except ProviderError:
        if token.is_set():
            raise TurnInterrupted from None
        raise
    finally:
        forget()
        stream.close()
    if token.is_set():
        raise TurnInterrupted
    return collector.reply()


@dataclass(slots=True)
class _Collector:
    callbacks: AgentCallbacks
    ids: CallIds
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    drafts: list[tuple[int, ToolCallDraft]] = field(default_factory=list)
    open: dict[int, ToolCallDraft] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    finish: FinishReason | None = None

    def take(self, event: StreamEvent) -> None:
        match event:
            case TextDelta(text=text):
                self.text.append(text)
                _tell(self.callbacks.stream_delta_callback, text)
            case ReasoningDelta(text=text):
                self.reasoning.append(text)
                _tell(self.callbacks.reasoning_callback, text)
            case ToolCallStarted():
                self._start(event)
            case ToolCallArguments(index=index, text=text):
                if index not in self.open:
                    raise ProviderProtocolError("The model sent arguments of a tool call that it had not begun.")
                self.open[index].arguments.append(text)
            case UsageReport(usage=usage):
                self.usage = usage
            case Finished(reason=reason):
                self.finish = reason

    def _start(self, event: ToolCallStarted) -> None:
        draft = self.open.get(event.index)
        if draft is not None and _goes_on(draft, event):
            return
        call_id = self.ids.unique(event.id)
        draft = self.open[event.index] = ToolCallDraft(call_id, event.name, event.id)
        self.drafts.append((event.index, draft))
        if self.callbacks.tool_gen_callback is not None:
            self.callbacks.tool_gen_callback(call_id, event.name)

    def reply(self) -> Reply:
        drafts = [draft for _, draft in sorted(self.drafts, key=lambda numbered: numbered[0])]
        calls = tuple(tool_call(draft.id, draft.name, "".join(draft.arguments) or "{}") for draft in drafts)
        finish = self.finish or ("tool_calls" if calls else "stop")
        return Reply("".join(self.text), "".join(self.reasoning), calls, finish, self.usage)


def _goes_on(draft: ToolCallDraft, event: ToolCallStarted) -> bool:
    """Whether this start repeats the one of `draft`, or is another call under the same index.

    Some servers repeat id and name with every piece of the arguments; some give every call the index 0, or none.
    """
    if event.id and draft.source_id:
        return event.id == draft.source_id
    return event.name == draft.name and not _is_json("".join(draft.arguments))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _tell(callback: Callable[[str], None] | None, text: str) -> None:
    if callback is not None:
        callback(text)
