"""The conversation as the model sees it: OpenAI-style messages, and what keeps a history well formed.

Inside the agent there is this one form; each wire protocol converts at its own edge.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NotRequired, TypedDict

_NO_ANSWER = "[There is no answer to this message.]"
INTERRUPTED_TURN = "[This turn was interrupted before it was finished.]"
_INTERRUPTED = "Interrupted: the call did not finish. What it did so far is unknown; check before you repeat it."
INTERRUPTED_RESULT = f"Error: {_INTERRUPTED}"
_INTERRUPTED_BEFORE = json.dumps({"error": _INTERRUPTED})


class TextPart(TypedDict):
    """A piece of text in a message."""

    type: Literal["text"]
    text: str


class ImageUrl(TypedDict):
    """Where an image is: an https or a data URL."""

    url: str


class ImagePart(TypedDict):
    """An image in a message."""

    type: Literal["image_url"]
    image_url: ImageUrl


class FileData(TypedDict):
    """A file: its name, and its bytes as a data URL."""

    filename: str
    file_data: str


class FilePart(TypedDict):
    """A document (PDF) in a message."""

    type: Literal["file"]
    file: FileData


class AudioData(TypedDict):
    """A recording: base64 text, and the name of its format (`wav`, `mp3`, …)."""

    data: str
    format: str


class AudioPart(TypedDict):
    """A recording in a message."""

    type: Literal["input_audio"]
    input_audio: AudioData


Part = TextPart | ImagePart | FilePart | AudioPart
Content = str | list[Part]


class FunctionCall(TypedDict):
    """A tool's name and its arguments as JSON text."""

    name: str
    arguments: str


class ToolCall(TypedDict):
    """One tool call of an assistant message."""

    id: str
    type: Literal["function"]
    function: FunctionCall


class SealedItems(TypedDict):
    """What only the model that wrote a message understands (signed or sealed reasoning), and which model that was."""

    api_mode: str
    provider: str
    model: str
    items: list[dict[str, Any]]
    address: NotRequired[str]


class Message(TypedDict):
    """One message of the conversation; which keys it has depends on `role`.

    `reasoning` is the model's thinking as text; `sealed` goes back to the model that wrote it, to no other.
    `injected` marks a user message that the agent wrote, not the person; `beside` is what the agent has put behind
    the content of one that the person wrote; `unfinished` marks an answer that was cut and that the next assistant
    message goes on with. `news` are the ids of the background news that it tells. `others` marks a message of the
    user's side that came after the session had read what others wrote. `outcome` is what came of a tool's call, for
    programs: `failed`, and facts as `exit_code`; results of earlier versions have it in their text, as JSON.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: Content | None
    tool_calls: NotRequired[list[ToolCall]]
    tool_call_id: NotRequired[str]
    name: NotRequired[str]
    reasoning: NotRequired[str]
    sealed: NotRequired[SealedItems]
    injected: NotRequired[bool]
    beside: NotRequired[str]
    unfinished: NotRequired[bool]
    news: NotRequired[list[str]]
    others: NotRequired[bool]
    outcome: NotRequired[dict[str, Any]]


def user_message(content: Content, beside: str = "") -> Message:
    """What the person said, and what the model is told beside it: '' for nothing."""
    if not beside:
        return {"role": "user", "content": content}
    if isinstance(content, str):
        return {"role": "user", "content": content + _gap(beside), "beside": beside}
    return {"role": "user", "content": [*content, {"type": "text", "text": beside}], "beside": beside}


def said_in(message: Message) -> Content | None:
    """A message's content without what the model was told beside it: the person's own words."""
    content, beside = message["content"], message.get("beside")
    if not beside or content is None:
        return content
    if isinstance(content, str):
        return content.removesuffix(_gap(beside))
    last = content[-1] if content else None
    return content[:-1] if last is not None and last["type"] == "text" and last["text"] == beside else content


def _gap(note: str) -> str:
    return f"\n\n{note}"


def injected_message(text: str) -> Message:
    """What the agent says to the model in the person's place; stored as it was sent."""
    return {"role": "user", "content": text, "injected": True}


def assistant_message(text: str, tool_calls: Sequence[ToolCall] = (), reasoning: str = "") -> Message:
    """What the model said and the tools it called."""
    message: Message = {"role": "assistant", "content": text or None}
    if tool_calls:
        message["tool_calls"] = list(tool_calls)
    elif not text:
        message["content"] = ""
    if reasoning:
        message["reasoning"] = reasoning
    return message


def tool_message(call: ToolCall, content: Content, outcome: dict[str, Any] | None = None) -> Message:
    """A tool's answer to `call`: text, or parts where it has images beside it."""
    name = call["function"]["name"]
    message: Message = {"role": "tool", "tool_call_id": call["id"], "name": name, "content": content}
    if outcome:
        message["outcome"] = outcome
    return message


def is_interrupted(text: str) -> bool:
    """Whether a result says that its call did not finish, in this version's words or an earlier one's."""
    return text in {INTERRUPTED_RESULT, _INTERRUPTED_BEFORE}


def tool_call(call_id: str, name: str, arguments: str) -> ToolCall:
    """A tool call; `arguments` is JSON text."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def parse_arguments(text: str) -> dict[str, Any]:
    """The arguments of a tool call.

    Raises:
        ValueError: `text` is not a JSON object; the message is for the model.
    """
    if text.strip() in {"", "null"}:
        return {}
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"The arguments are not valid JSON ({problem}). Send one JSON object.") from problem
    if not isinstance(value, dict):
        raise ValueError("The arguments must be one JSON object.")  # noqa: TRY004 - one error kind for the model
    return value


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call; none where they cannot be read."""
    try:
        return parse_arguments(call["function"]["arguments"])
    except ValueError:
        return {}


def repaired(messages: Sequence[Message], sound: int = 0) -> list[Message]:
    """A history that every server takes: each call has its result right after it, and no result is without its call.

    A well-formed history comes back as it is. An open call at the end stays open: the turn that left it is closed
    off elsewhere.

    Args:
        sound: how many messages at the beginning are well-formed, and leave no call open: they are not looked at.
    """
    whole: list[Message] = list(messages[:sound])
    open_calls: list[ToolCall] = []
    for message in messages[sound:]:
        if message["role"] == "tool":
            found = next((call for call in open_calls if call["id"] == message.get("tool_call_id")), None)
            if found is not None:
                open_calls.remove(found)
                whole.append(message)
            continue
        whole.extend(tool_message(call, INTERRUPTED_RESULT, {"failed": True}) for call in open_calls)
        open_calls = list(message.get("tool_calls", ()))
        if message["role"] == "user" and whole and whole[-1]["role"] == "user":
            whole.append(assistant_message(_NO_ANSWER))
        whole.append(message)
    return whole


def unanswered(messages: Sequence[Message]) -> list[ToolCall]:
    """Tool calls at the end of `messages` that have no result yet, in call order."""
    answered = set()
    for message in reversed(messages):
        if message["role"] == "tool":
            answered.add(message.get("tool_call_id"))
            continue
        return [call for call in message.get("tool_calls", ()) if call["id"] not in answered]
    return []


def closing(messages: Sequence[Message], note: str, said: str = "") -> list[Message]:
    """What must be appended so that a turn that broke off leaves a valid, alternating history.

    Calls without a result get one that says so; `note` becomes the assistant's last word where it has none.

    Args:
        said: the text of an answer that broke off, as far as the person has seen it; `note` follows it.
    """
    repair = [tool_message(call, INTERRUPTED_RESULT, {"failed": True}) for call in unanswered(messages)]
    last = messages[-1]["role"] if messages else "assistant"
    if repair or last != "assistant":
        repair.append(assistant_message(f"{said}\n\n{note}" if said.strip() else note))
    return repair


def text_of(content: Content | None) -> str:
    """The text of a message's content, its parts joined by line breaks; attachments have none."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_texts(content))


def holds_others_words(message: Message) -> bool:
    """Whether a session with this message has read what others wrote: pages, MCP servers, files from elsewhere."""
    if message["role"] not in {"user", "tool"}:
        return False
    if message.get("others"):
        return True
    from tools.untrusted.fence import holds_others_words as has_fence  # noqa: PLC0415 - loads all that scans texts

    return has_fence(text_of(message["content"]))


def _texts(parts: Iterable[Part]) -> Iterable[str]:
    for part in parts:
        if part["type"] == "text":
            yield part["text"]
