"""One model request and its answer: streamed, collected from its events, and as the history keeps it."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import field

from agent_core.callbacks import AgentCallbacks
from agent_core.cancel import CancelToken
from agent_core.errors import ProviderError, ProviderProtocolError, TurnInterrupted
from agent_core.memory.provider import Scrubber
from agent_core.messages import Message, SealedItems, ToolCall, assistant_message, tool_call
from agent_core.model_request.answer_text import CallWatch, Piece, ThoughtReader, is_marked
from agent_core.model_request.call_arguments import settled_arguments
from agent_core.model_request.history_filter import WRITTEN, Habits
from agent_core.providers.base import (
    Finished,
    FinishReason,
    ModelRequest,
    Provider,
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
_RULE = "\n\n---\n\n"


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer.

    Attributes:
        tool_calls: their arguments are always the text of a JSON object.
        finish_word: the server's own word for `finish`, where that is `unknown`.
        problems: by call id, what is wrong with a call's arguments; such a call is answered with it and not run.
        items: what only the model that answered understands.
        unread: the end of the text, which means to be a tool call and was not shown; '' where there is none.
        unread_problem: why it cannot be one.
    """

    text: str
    reasoning: str
    tool_calls: tuple[ToolCall, ...]
    finish: FinishReason
    usage: Usage
    problems: Mapping[str, str] = field(default_factory=dict)
    items: tuple[dict[str, object], ...] = ()
    finish_word: str = ""
    unread: str = ""
    unread_problem: str = ""

    def message(self, choice: ModelChoice) -> Message:
        """The answer as the history keeps it; `choice` is the model that gave it."""
        message = assistant_message(self.text, self.tool_calls, self.reasoning)
        if self.items:
            message["sealed"] = SealedItems(
                api_mode=choice.api_mode,
                provider=choice.provider,
                model=choice.model,
                items=list(self.items),
                address=choice.endpoint.address,
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
    """Takes an answer's events, tells the listeners, and has the reply in the end.

    Attributes:
        habits: what is known of the server and model, and learned from this answer.
        asked: the request, where the answer's text may hold tool calls; None: it is text.
        said: with it, all that was said before, which an answer may quote.
    """

    callbacks: AgentCallbacks
    ids: CallIds
    habits: Habits = field(default_factory=Habits)
    asked: ModelRequest | None = None
    said: Sequence[Message] = ()
    usage: Usage = field(default_factory=Usage)
    finish: FinishReason | None = None
    finish_word: str = ""
    _size: int = 0
    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _items: list[dict[str, object]] = field(default_factory=list)
    _drafts: list[tuple[int, ToolCallDraft]] = field(default_factory=list)
    _open: dict[int, ToolCallDraft] = field(default_factory=dict)
    _early: list[tuple[int, dict[str, object]]] = field(default_factory=list)
    _scrubber: Scrubber = field(default_factory=Scrubber)
    _thoughts: Scrubber = field(default_factory=Scrubber)
    _reader: ThoughtReader | None = None
    _watch: CallWatch | None = None

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
                self._read(self._text_reader().feed(text))
            case ReasoningDelta(text=text):
                self.habits.marks_thoughts = True
                self._text_reader().marked()
                self._think(self._thoughts.feed(text))
            case ToolCallStarted():
                self._start(event)
            case ToolCallArguments(index=index, text=text):
                if index not in self._open:
                    raise ProviderProtocolError("The model sent arguments of a tool call that it had not begun.")
                draft = self._open[index]
                draft.pieces.setdefault(index, []).append(text)
                if self.callbacks.tool_args_callback is not None:
                    self.callbacks.tool_args_callback(draft.id, text)
            case ProviderItem(item=item, call=index):
                self._keep(item, index)
            case UsageReport(usage=usage):
                self.usage = usage
            case Finished(reason=reason, word=word):
                self.finish, self.finish_word = reason, word
        if self._size > LARGEST_ANSWER and self.finish is None:
            self.finish = "oversized"

    def break_off(self) -> None:
        """The answer ends before its end: show what was held back of it."""
        self._read(self._text_reader().break_off())
        held, self._watch = "" if self._watch is None else self._watch.close(), None
        self._think(self._thoughts.close())
        self._show(self._scrubber.feed(held) + self._scrubber.close())

    def reply(self) -> Reply:
        """The answer, once it is complete."""
        reader = self._text_reader()
        self._read(reader.close(cut=self.finish in {"length", "oversized"}))
        if reader.knows is not None:
            self.habits.learn_of_thoughts(only_ended=reader.knows)
        self._think(self._thoughts.close())
        unread, unreadable = self._read_calls()
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
        return Reply(
            self.text + unread,
            reasoning,
            tuple(calls),
            finish,
            self.usage,
            problems,
            tuple(self._items),
            self.finish_word,
            unread,
            unreadable,
        )

    def _read_calls(self) -> tuple[str, str]:
        """Take the calls that the text ends with; the text of what cannot be one, and why."""
        held = "" if self._watch is None else self._watch.close()
        if self.asked is None or not held.strip() or self._has_words_beside(held):
            self._show(self._scrubber.feed(held))
            if not self._text and self.finish in {None, "stop", "tool_calls"}:
                self._read_calls_of_thoughts()
            return "", ""
        from agent_core.model_request.text_calls import NoCall, UnreadableCall  # noqa: PLC0415 - rare

        try:
            self._take_calls(held)
        except UnreadableCall as problem:
            self.habits.writes_calls = True
            return held, str(problem)
        except NoCall:
            self._show(self._scrubber.feed(held))
        return "", ""

    def _has_words_beside(self, held: str) -> bool:
        """Whether what has no mark of its own stands beside words: then it is an example, or data."""
        has_shown = self._watch is not None and self._watch.has_shown
        return has_shown and not self.habits.marks_calls and not is_marked(held)

    def _read_calls_of_thoughts(self) -> None:
        """Take the calls of an answer of nothing but thoughts: some models make them before those end.

        Thoughts speak of calls as well: those of a model count that was seen to write them.
        """
        if self.asked is None or not self.habits.marks_calls:
            return
        watch = CallWatch()
        shown = watch.feed("".join(self._reasoning))
        held = watch.close()
        if not is_marked(held):
            return
        from agent_core.model_request.text_calls import NoCall, UnreadableCall  # noqa: PLC0415 - rare

        with contextlib.suppress(NoCall, UnreadableCall):
            self._take_calls(held)
            self._reasoning = [shown.rstrip()]

    def _take_calls(self, text: str) -> None:
        """Take the calls that a text consists of.

        Raises:
            NoCall, UnreadableCall: it does not.
        """
        from agent_core.model_request.text_calls import read_calls  # noqa: PLC0415 - rare

        if self.asked is not None:
            calls = read_calls(text, self.asked.tools, self.said)
            self.habits.writes_calls = True
            self.habits.marks_calls = self.habits.marks_calls or is_marked(text)
            for index, call in enumerate(calls):
                self._begin(ToolCallStarted(index, WRITTEN, call.name)).pieces[index] = [call.arguments]
            self.finish = "tool_calls" if self.finish == "stop" else self.finish

    def _text_reader(self) -> ThoughtReader:
        if self._reader is None:
            habits = self.habits
            assumed = habits.begins_in_thoughts and not habits.marks_thoughts
            self._reader = ThoughtReader(assumed=assumed, only_ended=assumed or not habits.parses)
            if habits.marks_thoughts:
                self._reader.marked()
        return self._reader

    def _read(self, pieces: list[Piece]) -> None:
        """Take what is thoughts, and what is words, of the answer's text."""
        for kind, text in pieces:
            match kind:
                case "thoughts":
                    self._think(self._thoughts.feed(text))
                case "words":
                    self._think(self._thoughts.close())  # what was held back of it comes before the text, if at all
                    self._say(text)
                case "were_thoughts":
                    self._words_were_thoughts(text)
                case "were_words":
                    self._thoughts, self._reasoning = Scrubber(), []
                    self._say(text)

    def _words_were_thoughts(self, text: str) -> None:
        held, self._watch = "" if self._watch is None else self._watch.close(), None
        if not self._text:
            self._think(self._thoughts.feed(self._scrubber.close() + held + text))
            return
        # The person has seen them as text.
        self._show(self._scrubber.feed(held + text) + self._scrubber.close())
        said = self.text.rstrip()
        self._show(_RULE)
        self._reasoning, self._text = [said], []

    def _say(self, text: str) -> None:
        """Show words, but what may be a tool call."""
        if self.asked is not None:
            self._watch = self._watch or CallWatch(self._offered())
            text = self._watch.feed(text)
        self._show(self._scrubber.feed(text))

    def _offered(self) -> frozenset[str]:
        tools = () if self.asked is None else self.asked.tools
        return frozenset(tool["function"]["name"] for tool in tools)

    def _show(self, text: str) -> None:
        if text:
            self._text.append(text)
            if (listener := self.callbacks.stream_delta_callback) is not None:
                listener(text)

    def _think(self, text: str) -> None:
        if text:
            self._reasoning.append(text)
            if (listener := self.callbacks.reasoning_callback) is not None:
                listener(text)

    def _keep(self, item: dict[str, object], index: int | None) -> None:
        if index is None:
            self._items.append(item)
        elif (draft := self._open.get(index)) is not None:
            self._items.append({**item, "call": draft.id})
        else:
            self._early.append((index, item))

    def _start(self, event: ToolCallStarted) -> None:
        self._read(self._text_reader().close(calls=True))
        self._call_as_usual()
        draft = self._open.get(event.index)
        if draft is not None and _goes_on(draft, event):
            return
        if (same := self._under_another_index(event)) is not None:
            self._open[event.index] = same
            return
        self._begin(event)

    def _call_as_usual(self) -> None:
        """The server knows the model's tool calls: what its texts hold is text."""
        self.habits.calls_tools = True
        held, self._watch, self.asked = "" if self._watch is None else self._watch.close(), None, None
        if held:
            self._show(self._scrubber.feed(held))

    def _begin(self, event: ToolCallStarted) -> ToolCallDraft:
        call_id = self.ids.unique(event.id)
        draft = self._open[event.index] = ToolCallDraft(call_id, event.name, event.id)
        self._drafts.append((event.index, draft))
        early, self._early = self._early, []
        for index, item in early:
            self._keep(item, index)
        if self.callbacks.tool_gen_callback is not None:
            self.callbacks.tool_gen_callback(call_id, event.name)
        return draft

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


# The request: it streams the answer to the listeners. An interrupt ends it at once.


def ask_once(provider: Provider, request: ModelRequest, token: CancelToken, collector: Collector) -> Reply:
    """Ask and collect; after a failure or a cancel `collector` still has what had arrived.

    Raises:
        TurnInterrupted: the turn was cancelled.
        ProviderError: the request failed.
    """
    stream = provider.stream(request)
    forget = token.on_cancel(stream.close)
    try:
        for event in stream:
            if token.is_set():
                raise TurnInterrupted
            collector.take(event)
            if collector.finish == "oversized":
                break
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
