"""What a model takes of a message: in place of what it cannot be sent stands a note.

The one place where that is decided, for every protocol. Images and documents are sent where nothing is known,
recordings only where it is known that the model hears: most do not.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_core.messages import Content, Message, Part, TextPart
from agent_core.providers.choice import ModelChoice
from agent_core.providers.lessons import DOCUMENTS, IMAGES, RECORDINGS
from agent_core.providers.made_once import RequestParts
from agent_core.providers.wire.result_images import behind_results, takes_images_in_results

# What OpenAI takes (https://developers.openai.com/api/docs/guides/audio-chat-completions); others take more.
_AUDIO_FORMATS = frozenset({"wav", "mp3"})
_ATTACHMENTS = {"image_url": IMAGES, "file": DOCUMENTS, "input_audio": RECORDINGS}


def fitting(messages: Sequence[Message], choice: ModelChoice, parts: RequestParts | None = None) -> list[Message]:
    """The messages as `choice` takes them; the same messages always become the same ones.

    Args:
        parts: remembers what was made of each message.
    """
    parts = parts or RequestParts()
    fit = parts.fitted.of(messages, lambda message: _fitting(message, choice), choice)
    if takes_images_in_results(choice):
        return fit
    # Nearly no conversation has results with images; what was looked at before had none, or some were placed.
    if parts.placed.is_unused and not any(map(_is_result_in_parts, fit[parts.fitted.kept :])):
        return fit
    return behind_results(fit, parts.placed)


def _is_result_in_parts(message: Message) -> bool:
    return message["role"] == "tool" and isinstance(message["content"], list)


def _fitting(message: Message, choice: ModelChoice) -> Message:
    content = message["content"]
    if not isinstance(content, list):
        return message
    return {**message, "content": [_part(part, choice) for part in content]}


def left_out(content: Content, choice: ModelChoice) -> tuple[str, ...]:
    """What of a prompt this model cannot be given, a sentence each, for the person."""
    parts = content if isinstance(content, list) else []
    changed = [told for part in parts if (told := _part(part, choice)) is not part and told["type"] == "text"]
    return tuple(f"{told['text'].strip('[]').partition('. ')[0].rstrip('.')}." for told in changed)


def sent_attachments(messages: Sequence[Message], choice: ModelChoice) -> tuple[str, ...]:
    """What is sent of messages beside text, as the names of the lessons that leave it out."""
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    sent = {_ATTACHMENTS[part["type"]] for part in parts if part["type"] != "text" and _part(part, choice) is part}
    return tuple(sorted(sent))


def _part(part: Part, choice: ModelChoice) -> Part:
    if part["type"] == "image_url" and choice.facts.vision is False:
        return _note(f"[An image was attached; the model {choice.model} does not take images.]")
    if part["type"] == "file" and not _takes_documents(choice):
        name = part["file"]["filename"]
        return _note(f"[A document was attached, {name}; this server takes no documents.]")
    if part["type"] == "input_audio" and (missing := _missing_for_audio(part["input_audio"]["format"], choice)):
        return _note(f"[Audio ({part['input_audio']['format']}) was attached; {missing}]")
    return part


def _missing_for_audio(kind: str, choice: ModelChoice) -> str:
    """What keeps a recording from the model, and what to do; '' if nothing does."""
    sent = choice.api_mode == "chat_completions" and choice.dialect.audio
    if not sent or not choice.facts.audio:
        return f"{choice.model} cannot listen to it here. Ask the user to write what it says."
    if kind not in _AUDIO_FORMATS:
        return "only wav and mp3 can be sent. Ask the user for one of these, or to write what it says."
    return ""


def _takes_documents(choice: ModelChoice) -> bool:
    known = choice.dialect.files
    return choice.api_mode != "chat_completions" if known is None else known


def _note(text: str) -> TextPart:
    return {"type": "text", "text": text}
