"""What a model takes of a message: in place of images and documents that it cannot be sent stands a note.

The one place where that is decided, for every protocol. What is unknown is sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_core.messages import Message, Part, TextPart
from agent_core.providers.choice import ModelChoice


def fitting(messages: Sequence[Message], choice: ModelChoice) -> list[Message]:
    """The messages as `choice` takes them; the same messages always become the same ones."""
    return [_fitting(message, choice) for message in messages]


def _fitting(message: Message, choice: ModelChoice) -> Message:
    content = message["content"]
    if not isinstance(content, list):
        return message
    return {**message, "content": [_part(part, choice) for part in content]}


def _part(part: Part, choice: ModelChoice) -> Part:
    if part["type"] == "image_url" and choice.facts.vision is False:
        return _note(f"[An image was attached; the model {choice.model} does not take images.]")
    if part["type"] == "file" and not _takes_documents(choice):
        name = part["file"]["filename"]
        return _note(f"[A document was attached, {name}; this server takes no documents.]")
    return part


def _takes_documents(choice: ModelChoice) -> bool:
    known = choice.dialect.files
    return choice.api_mode != "chat_completions" if known is None else known


def _note(text: str) -> TextPart:
    return {"type": "text", "text": text}
