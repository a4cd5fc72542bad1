"""What of the history the model is shown: all of it, but for what a server would not take any more.

The history itself stays whole. What is left out stays out, so that the requests keep a common beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from agent_core.messages import Content, Message, Part, TextPart, text_of
from tools.light_dataclass import dataclass

_NO_IMAGE = "[An image was here. The model's server did not take it.]"
_NO_AUDIO = "[A recording was here. The model's server did not take it.]"
_NO_DOCUMENT = "[A document was here, {name}. The model's server did not take it.]"


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


def shown(messages: Sequence[Message], omissions: Omissions) -> Sequence[Message]:
    """The messages as the model sees them."""
    if not (omissions.results or omissions.sealed_before or omissions.images_before):
        return messages
    return [_shown(message, position, omissions) for position, message in enumerate(messages)]


def has_images(messages: Sequence[Message], omissions: Omissions) -> bool:
    """Whether the model is shown images, documents or recordings."""
    return any(_attachment_in(message["content"]) for message in messages[omissions.images_before :])


def has_sealed(messages: Sequence[Message], omissions: Omissions) -> bool:
    """Whether the model is shown sealed reasoning."""
    return any("sealed" in message for message in messages[omissions.sealed_before :])


def rough_tokens(messages: Sequence[Message]) -> int:
    """About how many tokens the messages are: a quarter of their characters."""
    return sum(len(text_of(message["content"])) + _call_chars(message) for message in messages) // 4


def _shown(message: Message, position: int, omissions: Omissions) -> Message:
    if message["role"] == "tool" and message.get("tool_call_id") in omissions.results:
        return {**message, "content": _note(message)}
    changed: Message = message
    if "sealed" in message and position < omissions.sealed_before:
        changed = {**message}
        del changed["sealed"]
    if position < omissions.images_before and _attachment_in(message["content"]):
        changed = {**changed, "content": _without_attachments(message["content"])}
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


def _without_attachments(content: Content | None) -> Content | None:
    return [_as_text(part) for part in content] if isinstance(content, list) else content


def _as_text(part: Part) -> TextPart:
    if part["type"] == "text":
        return part
    if part["type"] == "image_url":
        return {"type": "text", "text": _NO_IMAGE}
    if part["type"] == "input_audio":
        return {"type": "text", "text": _NO_AUDIO}
    return {"type": "text", "text": _NO_DOCUMENT.format(name=part["file"]["filename"])}


def _call_chars(message: Message) -> int:
    return sum(len(call["function"]["arguments"]) for call in message.get("tool_calls", ()))
