"""Messages in the form of the Responses API: `instructions`, and `input` as a list of items.

Nothing is stored at the server (`store: false`), so that items go without ids: an id there is a reference to
something stored, and a request with one is refused. Sealed reasoning (`encrypted_content`) needs none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent_core.messages import Content, Message, Part, ToolCall, parse_arguments, text_of
from agent_core.providers.base import ModelRequest
from agent_core.providers.choice import ModelChoice
from agent_core.providers.pieces import Piece, Pieces
from agent_core.providers.wire.call_names import fitting_name
from agent_core.providers.wire.parts import fitting

PARAGRAPH = "\n\n"
"""Stands between the messages of one answer, which the history keeps as one text."""

Item = dict[str, Any]
_LONGEST_CALL_ID = 64
_DIGEST = 16


def to_input(request: ModelRequest, choice: ModelChoice) -> tuple[str, Pieces]:
    """The system prompt, and the conversation as items. The same message always gives the same items."""
    messages = fitting(request.messages, choice, request.parts)
    first = messages.pop(0) if messages and messages[0]["role"] == "system" else None
    instructions = text_of(first["content"]) if first else ""
    parts = request.parts
    items = parts.joined.of(messages, _each_alone, lambda _, one: [*map(Piece, _items(one[0], choice))], choice)
    return instructions, parts.joined_text.of(items, parts.joined.kept)


def outline_of_message(text: str, phase: str | None) -> Item:
    """What is kept of a message of an answer: its length and phase; the text itself is in the history."""
    return {"type": "message", "characters": len(text)} | ({"phase": phase} if phase else {})


OUTLINE_OF_CALL: Mapping[str, Any] = {"type": "function_call"}
"""What is kept of a tool call of an answer: only its place between the other items."""


def _each_alone(*_: Message) -> bool:
    return True


def _items(message: Message, choice: ModelChoice) -> list[Item]:
    match message["role"]:
        case "user":
            return [_message("user", _parts(message["content"]))]
        case "system":
            return [_message("developer", _parts(message["content"]))]
        case "tool":
            call_id = _call_id(message.get("tool_call_id", ""))
            return [{"type": "function_call_output", "call_id": call_id, "output": _output(message["content"])}]
        case "assistant":
            return _answer(message, choice)


def _message(role: str, parts: list[Item]) -> Item:
    return {"type": "message", "role": role, "content": parts}


def _parts(content: Content | None) -> list[Item]:
    if content is None or isinstance(content, str):
        return [{"type": "input_text", "text": content or ""}]
    return [_part(part) for part in content]


def _part(part: Part) -> Item:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    if part["type"] == "image_url":
        return {"type": "input_image", "image_url": part["image_url"]["url"]}
    if part["type"] == "file":
        return {"type": "input_file", **part["file"]}
    return {**part}


def _output(content: Content | None) -> str | list[Item]:
    return _parts(content) if isinstance(content, list) else content or ""


def _answer(message: Message, choice: ModelChoice) -> list[Item]:
    """An answer's items in the order in which the model gave them, if it is known, else in the usual order."""
    text, calls, sealed = text_of(message["content"]), message.get("tool_calls", ()), choice.wrote(message)
    items = _in_its_order(text, calls, sealed) if _fits(text, calls, sealed) else _in_usual_order(text, calls, sealed)
    # The API wants something after reasoning that came out of it.
    while items and items[-1]["type"] == "reasoning":
        items.pop()
    return items


def _fits(text: str, calls: Sequence[ToolCall], sealed: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the outline in `sealed` is one of this text and these calls: an answer may have been mended since."""
    lengths: list[int] = [item["characters"] for item in sealed if item.get("type") == "message"]
    length = sum(lengths) + len(PARAGRAPH) * max(len(lengths) - 1, 0)
    return length == len(text) and len(calls) == sum(item.get("type") == "function_call" for item in sealed)


def _in_its_order(text: str, calls: Sequence[ToolCall], sealed: Sequence[Mapping[str, Any]]) -> list[Item]:
    items: list[Item] = []
    start, remaining = 0, iter(calls)
    for item in sealed:
        if item["type"] == "reasoning":
            items.append(_reasoning(item))
        elif item["type"] == "function_call":
            items.append(_call(next(remaining)))
        else:
            end = start + item["characters"]
            items.append(_said(text[start:end]) | {key: item[key] for key in ("phase",) if key in item})
            start = end + len(PARAGRAPH)
    return items


def _in_usual_order(text: str, calls: Sequence[ToolCall], sealed: Sequence[Mapping[str, Any]]) -> list[Item]:
    reasoning = [_reasoning(item) for item in sealed if item.get("type") == "reasoning"]
    return [*reasoning, *([_said(text)] if text else ()), *(_call(call) for call in calls)]


def _reasoning(item: Mapping[str, Any]) -> Item:
    """A reasoning item as the API wants it back: neither its id nor its status."""
    summary = item.get("summary") or []
    return {"type": "reasoning", "summary": summary, "encrypted_content": item["encrypted_content"]}


def _said(text: str) -> Item:
    return _message("assistant", [{"type": "output_text", "text": text}])


def _call(call: ToolCall) -> Item:
    function = call["function"]
    return {
        "type": "function_call",
        "call_id": _call_id(call["id"]),
        "name": fitting_name(function["name"]),
        "arguments": _arguments(function["arguments"]),
    }


def _call_id(given: str) -> str:
    """A call's id; the API refuses those with more than 64 characters, even its own."""
    if len(given) <= _LONGEST_CALL_ID:
        return given
    digest = hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:_DIGEST]
    return f"{given[: _LONGEST_CALL_ID - _DIGEST - 1]}-{digest}"


def _arguments(text: str) -> str:
    """The arguments as they are if they are JSON; mended as the tool understood them; else none."""
    try:
        is_object = isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        is_object = False
    if is_object:
        return text
    try:
        return json.dumps(parse_arguments(text), ensure_ascii=False)
    except ValueError:
        return "{}"
