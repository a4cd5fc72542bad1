"""What happened in a turn that was not taken down, made up from what the model saw and said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from agent_core.calls.result_images import images_in
from agent_core.events import AgentText, AgentThought, SessionEvent, ToolFinished, ToolRequested, UserSaid
from agent_core.messages import (
    INTERRUPTED_RESULT,
    Content,
    Message,
    Part,
    ToolCall,
    parse_arguments,
    said_in,
    text_of,
)
from agent_core.prompt_parts import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidPart, SaidText, audio_mime
from tools.result import ToolResult, from_text
from tools.toolsets import meant


def events_from_messages(
    messages: Sequence[Message], turn_id: str, cwd: str, open_end: str = INTERRUPTED_RESULT
) -> Iterator[SessionEvent]:
    """The events of one turn's messages, in order; calls follow the answer that made them.

    Args:
        turn_id: the beginning of each message id.
        cwd: the session's directory.
        open_end: the result of a call that has none.
    """
    prompts = answers = 1
    results = _results(messages)
    for message in messages:
        if message["role"] == "user" and not message.get("injected"):
            yield UserSaid(f"{turn_id}-user-{prompts}", tuple(_said(said_in(message))))
            prompts += 1
        if message["role"] != "assistant":
            continue
        if reasoning := message.get("reasoning"):
            yield AgentThought(f"{turn_id}-thought-{answers}", reasoning)
        if text := text_of(message["content"]):
            yield AgentText(f"{turn_id}-message-{answers}", text)
        for call in message.get("tool_calls", ()):
            yield from _call(call, cwd, results.get(call["id"]) or ToolResult(open_end, failed=True))
        if not message.get("unfinished"):
            answers += 1


def _results(messages: Iterable[Message]) -> dict[str, ToolResult]:
    return {
        message["tool_call_id"]: replace(_result(message), images=images_in(message))
        for message in messages
        if message["role"] == "tool" and "tool_call_id" in message
    }


def _result(message: Message) -> ToolResult:
    text = text_of(message["content"])
    outcome = message.get("outcome")
    if outcome is None:
        return from_text(text)
    facts = {name: value for name, value in outcome.items() if name != "failed"}
    return ToolResult(text, facts=facts, failed=bool(outcome.get("failed")))


def _call(call: ToolCall, cwd: str, result: ToolResult) -> Iterator[SessionEvent]:
    name, arguments = meant(call["function"]["name"], _arguments(call["function"]["arguments"]))
    yield ToolRequested(call["id"], name, arguments, cwd, announced=False)
    yield ToolFinished(call["id"], name, arguments, cwd, result)


def _arguments(text: str) -> dict[str, Any]:
    try:
        return parse_arguments(text)
    except ValueError:
        return {}


def _said(content: Content | None) -> Iterator[SaidPart]:
    if content is None or isinstance(content, str):
        yield SaidText(content or "")
        return
    for part in content:
        yield _said_part(part)


def _said_part(part: Part) -> SaidPart:
    match part["type"]:
        case "text":
            return SaidText(part["text"])
        case "image_url":
            url = part["image_url"]["url"]
            kind, data = _data_of(url)
            return SaidLink(url, "image") if data is None else SaidImage(kind, data)
        case "file":
            name = part["file"]["filename"]
            kind, data = _data_of(part["file"]["file_data"])
            return SaidDocument(name, None, data or "", kind)
        case "input_audio":
            return SaidAudio(audio_mime(part["input_audio"]["format"]), part["input_audio"]["data"])


def _data_of(url: str) -> tuple[str, str | None]:
    """Media type and base64 text of a data URL; None for another URL."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return "", None
    return head.removeprefix("data:").split(";")[0], data
