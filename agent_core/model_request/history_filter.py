"""What of the history a model is sent, and what is learnt of its server: what it caches, and how it answers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import field

from agent_core.messages import Content, Message, Part, TextPart, text_of
from agent_core.providers.base import ModelRequest
from agent_core.providers.catalog import seems_to_begin_in_thoughts, service_at
from agent_core.providers.choice import ModelChoice
from tools.light_dataclass import dataclass

# What of the history the model is shown: all of it, but for what a server would not take any more.
# The history itself stays whole. What is left out stays out, so that the requests keep a common beginning.

_NOT_TAKEN = "The model's server did not take it."


@dataclass(slots=True)
class Omissions:
    """What a session's model is not shown any more.

    Attributes:
        results: ids of tool calls whose results are replaced by a note: earlier programs made room so.
        sealed_before: messages before this position go without sealed reasoning.
        images_before: messages before this position go without images, documents and recordings.
    """

    results: set[str] = field(default_factory=set)
    sealed_before: int = 0
    images_before: int = 0

    def shorten(self, length: int) -> None:
        """The history has only `length` messages now: what comes after them was never refused."""
        self.sealed_before = min(self.sealed_before, length)
        self.images_before = min(self.images_before, length)


def without_omitted(messages: Sequence[Message], omissions: Omissions) -> Sequence[Message]:
    """The messages without what is left out of them."""
    if not (omissions.results or omissions.sealed_before or omissions.images_before):
        return messages
    return [_without_omitted(message, position, omissions) for position, message in enumerate(messages)]


def has_images(messages: Sequence[Message], omissions: Omissions) -> bool:
    """Whether the model is shown images, documents or recordings."""
    return any(_attachment_in(message["content"]) for message in messages[omissions.images_before :])


def has_sealed(messages: Sequence[Message], omissions: Omissions) -> bool:
    """Whether the model is shown sealed reasoning."""
    return any("sealed" in message for message in messages[omissions.sealed_before :])


def rough_tokens(messages: Sequence[Message]) -> int:
    """About how many tokens the messages are: a quarter of their characters."""
    return sum(len(text_of(message["content"])) + _call_chars(message) for message in messages) // 4


def _without_omitted(message: Message, position: int, omissions: Omissions) -> Message:
    if message["role"] == "tool" and message.get("tool_call_id") in omissions.results:
        return {**message, "content": _note(message)}
    changed: Message = message
    if "sealed" in message and position < omissions.sealed_before:
        changed = {**message}
        del changed["sealed"]
    if position < omissions.images_before and _attachment_in(message["content"]):
        changed = {**changed, "content": without_attachments(message["content"], _NOT_TAKEN)}
    return changed


def _note(message: Message) -> str:
    size = len(text_of(message["content"]))
    images = " and images" if _attachment_in(message["content"]) else ""
    return (
        f"[Left out to make room: {size:,} characters{images} that {message.get('name', 'the tool')} gave. "
        "Call it again if you need them.]"
    )


def _attachment_in(content: Content | None) -> bool:
    return isinstance(content, list) and any(part["type"] != "text" for part in content)


def without_attachments(content: Content | None, why: str) -> Content | None:
    """The content with a note in place of each image, recording and document."""
    return [_as_text(part, why) for part in content] if isinstance(content, list) else content


def _as_text(part: Part, why: str) -> TextPart:
    match part["type"]:
        case "text":
            return part
        case "image_url":
            what = "An image was here"
        case "input_audio":
            what = "A recording was here"
        case "file":
            what = f"A document was here, {part['file']['filename']}"
    return {"type": "text", "text": f"[{what}. {why}]"}


def _call_chars(message: Message) -> int:
    return sum(len(call["function"]["arguments"]) for call in message.get("tool_calls", ()))


# Watches that each request begins with the whole of the one before: servers keep that part, and it costs a tenth.

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Seen:
    tools: tuple[object, ...]
    messages: tuple[Message, ...]


@dataclass(slots=True)
class PrefixWatch:
    """Counts, for a session, the requests that do not begin with the whole of their model's last one.

    Attributes:
        breaks: the cause of each, in order: what was announced with `expect`, or «unexpected».
    """

    breaks: list[str] = field(default_factory=list)
    _last: dict[str, _Seen] = field(default_factory=dict)
    _expected: dict[str, str] = field(default_factory=dict)

    def expect(self, cause: str) -> None:
        """The next request may differ, and why."""
        self._expected = dict.fromkeys(self._last, cause)

    def see(self, model: str, request: ModelRequest) -> None:
        """A request is about to be sent to `model` (each model's server keeps a prefix of its own)."""
        now = _Seen(tuple(request.tools), tuple(request.messages))
        before = self._last.get(model)
        self._last[model] = now
        cause = self._expected.pop(model, None)
        if before is None or _extends(now, before):
            return
        self.breaks.append(cause or "unexpected")
        if cause is None:
            log.warning("the request to %s does not begin with the one before it; the server's cache is lost", model)


def _extends(now: _Seen, before: _Seen) -> bool:
    return now.messages[: len(before.messages)] == before.messages and now.tools == before.tools


# What a session has seen a server do with a model's answers.

WRITTEN = "text_call"
"""What the ids of tool calls begin with that were read from an answer's text."""

_OFTEN = 2


@dataclass(slots=True)
class Habits:
    """The ways of one server with one model.

    Attributes:
        marks_thoughts: it has sent reasoning apart from the text.
        begins_in_thoughts: its texts begin within thoughts, without a tag for it: they were seen to, or the model is
            known for it.
        calls_tools: it has sent tool calls as the protocol has them.
        writes_calls: it has left tool calls in the text.
        marks_calls: those had marks that nothing else has.
        parses: it takes thoughts and calls out of the text itself, as hosted services do.
        only_ended: how many of its texts had thoughts with nothing but the tag that ends them.
    """

    marks_thoughts: bool = False
    begins_in_thoughts: bool = False
    calls_tools: bool = False
    writes_calls: bool = False
    marks_calls: bool = False
    parses: bool = False
    only_ended: int = 0

    def learn_of_thoughts(self, *, only_ended: bool) -> None:
        """Take up that a text had thoughts without their beginning, or none although they were assumed."""
        self.only_ended = self.only_ended + 1 if only_ended else 0
        if not only_ended or self.only_ended >= _OFTEN:
            self.begins_in_thoughts = only_ended


class SeenHabits:
    """Those of all servers and models that a session has asked, by provider, address and model."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, str, str], Habits] = {}

    def of(self, choice: ModelChoice, messages: Sequence[Message]) -> Habits:
        """Those of one; what is seen of it is written into them.

        Args:
            messages: the conversation so far. Which model called its tools it does not tell: where an earlier process
                had it, the first model that is asked now is taken for the one.
        """
        place = (choice.provider, choice.base_url, choice.model)
        if place not in self._of:
            marks = choice.api_mode != "chat_completions"  # the other protocols have a place for thoughts
            begins = not marks and seems_to_begin_in_thoughts(choice.model)
            calls = not self._of and has_called_tools(messages)
            parses = service_at(choice.base_url) is not None
            self._of[place] = Habits(
                marks_thoughts=marks, begins_in_thoughts=begins, calls_tools=calls, parses=parses
            )
        return self._of[place]

    def writing_calls(self) -> list[str]:
        """Who leaves tool calls in the text, as provider:model."""
        return [f"{provider}:{model}" for (provider, _, model), habits in self._of.items() if habits.writes_calls]


def has_called_tools(messages: Sequence[Message]) -> bool:
    """Whether a conversation has tool calls that came as the protocol has them."""
    calls = (call for message in messages for call in message.get("tool_calls", ()))
    return any(not call["id"].startswith(WRITTEN) for call in calls)
