"""A model's answer: collected from its events, and as the history keeps it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import field

from agent_core.asking.arguments import settled_arguments
from agent_core.callbacks import AgentCallbacks
from agent_core.errors import ProviderProtocolError
from agent_core.memory.scrubber import Scrubber
from agent_core.messages import Message, SealedItems, ToolCall, assistant_message, tool_call
from agent_core.providers.base import (
    Finished,
    FinishReason,
    ProviderItem,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallArguments,
    ToolCallDraft,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from agent_core.providers.choice import ModelChoice
from tools.light_dataclass import dataclass

_CALL_BYTES = 200


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer.

    Attributes:
        tool_calls: their arguments are always the text of a JSON object.
        problems: by call id, what is wrong with a call's arguments; such a call is answered with it and not run.
        items: what only the model that answered understands.
    """

    text: str
    reasoning: str
    tool_calls: tuple[ToolCall, ...]
    finish: FinishReason
    usage: Usage
    problems: Mapping[str, str] = field(default_factory=dict)
    items: tuple[dict[str, object], ...] = ()

    def message(self, choice: ModelChoice) -> Message:
        """The answer as the history keeps it; `choice` is the model that gave it."""
        message = assistant_message(self.text, self.tool_calls, self.reasoning)
        if self.items:
            message["sealed"] = SealedItems(
                api_mode=choice.api_mode, provider=choice.provider, model=choice.model, items=list(self.items)
            )
        return message


class CallIds:
    """Gives each tool call of a session an id of its own: the provider's, made unique where it repeats.

    The sub-agents of a session share `used`, from their own threads.
    """

    _choosing = threading.Lock()

    def __init__(self, used: set[str]) -> None:
        self._used = used

    def unique(self, proposed: str) -> str:
        """`proposed` if it is new, else a variation of it."""
        base = proposed or "call"
        candidate, number = base, 1
        with self._choosing:
            while candidate in self._used:
                number += 1
                candidate = f"{base}-{number}"
            self._used.add(candidate)
        return candidate


LARGEST_ANSWER = 32 * 1024 * 1024
"""Bytes of an answer, reasoning and arguments included; it ends with the event that passes them."""


@dataclass(slots=True)
class Collector:
    """Takes an answer's events, tells the listeners, and has the reply in the end."""

    callbacks: AgentCallbacks
    ids: CallIds
    usage: Usage = field(default_factory=Usage)
    finish: FinishReason | None = None
    _size: int = 0
    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _items: list[dict[str, object]] = field(default_factory=list)
    _drafts: list[tuple[int, ToolCallDraft]] = field(default_factory=list)
    _open: dict[int, ToolCallDraft] = field(default_factory=dict)
    _scrubber: Scrubber = field(default_factory=Scrubber)
    _thoughts: Scrubber = field(default_factory=Scrubber)

    @property
    def text(self) -> str:
        """The answer's text so far, all of which the listeners have heard."""
        return "".join(self._text)

    @property
    def begun(self) -> bool:
        """Whether anything of the answer has come."""
        return bool(self._text or self._reasoning or self._drafts)

    @property
    def announced(self) -> list[ToolCallDraft]:
        """The tool calls that have begun."""
        return [draft for _, draft in self._drafts]

    def take(self, event: StreamEvent) -> None:
        """Add an event.

        Raises:
            ProviderProtocolError: it does not fit those before it.
        """
        self._size += _size(event)
        match event:
            case TextDelta(text=text):
                self._think(self._thoughts.close())  # what was held back of it comes before the text, if at all
                self._show(self._scrubber.feed(text))
            case ReasoningDelta(text=text):
                self._think(self._thoughts.feed(text))
            case ToolCallStarted():
                self._start(event)
            case ToolCallArguments(index=index, text=text):
                if index not in self._open:
                    raise ProviderProtocolError("The model sent arguments of a tool call that it had not begun.")
                self._open[index].pieces.setdefault(index, []).append(text)
            case ProviderItem(item=item):
                self._items.append(item)
            case UsageReport(usage=usage):
                self.usage = usage
            case Finished(reason=reason):
                self.finish = reason
        if self._size > LARGEST_ANSWER and self.finish is None:
            self.finish = "oversized"

    def reply(self) -> Reply:
        """The answer, once it is complete."""
        self._think(self._thoughts.close())
        self._show(self._scrubber.close())
        drafts = [draft for _, draft in sorted(self._drafts, key=lambda numbered: numbered[0])]
        finish = self.finish or ("tool_calls" if drafts else "stop")
        calls, problems = [], {}
        for draft in drafts:
            cut = finish in {"length", "oversized"} and draft is drafts[-1]
            arguments, problem = settled_arguments(draft.arguments(), cut=cut)
            calls.append(tool_call(draft.id, draft.name, arguments))
            if problem:
                problems[draft.id] = problem
        reasoning = "".join(self._reasoning)
        return Reply(self.text, reasoning, tuple(calls), finish, self.usage, problems, tuple(self._items))

    def _show(self, text: str) -> None:
        if text:
            self._text.append(text)
            _tell(self.callbacks.stream_delta_callback, text)

    def _think(self, text: str) -> None:
        if text:
            self._reasoning.append(text)
            _tell(self.callbacks.reasoning_callback, text)

    def _start(self, event: ToolCallStarted) -> None:
        draft = self._open.get(event.index)
        if draft is not None and _goes_on(draft, event):
            return
        if (same := self._under_another_index(event)) is not None:
            self._open[event.index] = same
            return
        call_id = self.ids.unique(event.id)
        draft = self._open[event.index] = ToolCallDraft(call_id, event.name, event.id)
        self._drafts.append((event.index, draft))
        if self.callbacks.tool_gen_callback is not None:
            self.callbacks.tool_gen_callback(call_id, event.name)

    def _under_another_index(self, event: ToolCallStarted) -> ToolCallDraft | None:
        """The call that began with this id and name: one call, also where it comes under two indexes."""
        named = (draft for draft in self.announced if draft.name == event.name and draft.source_id == event.id)
        return next(named, None) if event.id else None


def _size(event: StreamEvent) -> int:
    """Bytes that are kept of an event, about."""
    match event:
        case TextDelta(text=text) | ReasoningDelta(text=text) | ToolCallArguments(text=text):
            return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        case ToolCallStarted(id=call_id, name=name):
            return len(call_id) + len(name) + _CALL_BYTES
        case ProviderItem(item=item):
            return len(repr(item))
    return 0


def _goes_on(draft: ToolCallDraft, event: ToolCallStarted) -> bool:
    """Whether this start repeats the one of `draft`, or is another call under the same index.

    Some servers repeat id and name with every piece of the arguments; some give every call the index 0, or none.
    """
    if event.id and draft.source_id:
        return event.id == draft.source_id
    return event.name == draft.name and not _is_json(draft.arguments())


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _tell(callback: Callable[[str], None] | None, text: str) -> None:
    if callback is not None:
        callback(text)
