"""Messages as the Messages protocol takes them: a system prompt in blocks, then user and assistant in turn.

The same messages always become the same blocks, and more messages only add blocks at the end: adjacent user messages
(tool results are user messages here) become one, and between two of the assistant's stands a short one of the user's.
Source: platform.claude.com/docs/en/api/messages.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from agent_core.messages import Content, Message, ToolCall, text_of
from agent_core.providers.base import CacheTtl
from agent_core.providers.made_once import RequestParts
from agent_core.providers.pieces import Piece, Pieces
from agent_core.providers.wire.call_names import fitting_name
from tools.light_dataclass import dataclass

Block = dict[str, Any]
Items = Sequence[dict[str, object]]

AFTER_TEXT, AFTER_CALLS = "after_text", "after_calls"
"""Where a sealed item of ours stands in its answer: after so many characters of text and so many calls.

The API wants each answer back in the order in which it gave it. These keys are taken out before anything is sent."""

_MARKED_MESSAGES = 3
_UNMARKED = {"thinking", "redacted_thinking"}
_GO_ON = Piece({"role": "user", "content": [{"type": "text", "text": "Go on."}]})
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """The blocks of one message, which depend on nothing else. It equals only itself: in JSON, 1 is not `true`."""

    role: str
    blocks: Sequence[Block]


def blocks_of(message: Message, sealed: Callable[[Message], Items]) -> Said:
    """A message in blocks.

    Args:
        sealed: the items of an answer that go back to the model.
    """
    match message["role"]:
        case "assistant" as role:
            return Said(role, [*_answer(message, sealed(message))])
        case "tool" as role:
            return Said(role, [_result(message)])
        case role:
            return Said(role, _content(message["content"]))


def in_turn(said: Sequence[Said], parts: RequestParts | None = None) -> tuple[list[Block], Pieces]:
    """The blocks of the system prompt, and the messages.

    Args:
        parts: remembers what was made of the messages.
    """
    parts = parts or RequestParts()
    first = next((at for at, one in enumerate(said) if one.role != "system"), len(said))
    system = [block for one in said[:first] for block in one.blocks]
    spoken = [one for one in said[first:] if one.blocks]
    messages = parts.joined.of(spoken, _change_sides, _messages)
    sent = parts.joined_text.of(messages, parts.joined.kept)
    # Newer models refuse to continue an answer of their own, and no conversation may be empty.
    if not sent or sent[-1]["role"] == "assistant":
        sent.append(_GO_ON)
    return system, sent


def mark(system: list[Block], messages: Pieces, ttl: CacheTtl) -> None:
    """Ask the server to keep the prefix up to the system prompt's end and up to each of the last three messages."""
    marker = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
    if system:
        system[-1] = {**system[-1], "cache_control": marker}
    marked = 0
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        blocks = message["content"]
        at = next((at for at in range(len(blocks) - 1, -1, -1) if blocks[at]["type"] not in _UNMARKED), None)
        if at is not None:
            marked_blocks = [*blocks[:at], {**blocks[at], "cache_control": marker}, *blocks[at + 1 :]]
            messages.replace(place, {**message, "content": marked_blocks})
            marked += 1
        if marked == _MARKED_MESSAGES:
            return


def _change_sides(before: Said, one: Said) -> bool:
    return "assistant" in {before.role, one.role}


def _messages(before: Said | None, group: Sequence[Said]) -> list[Piece]:
    """An answer, or all that the other side says until the next one."""
    if group[0].role == "assistant":
        answer = Piece({"role": "assistant", "content": group[0].blocks})
        return [_GO_ON, answer] if before is None or before.role == "assistant" else [answer]
    # Results come before all else in a message.
    in_order = sorted(group, key=lambda one: one.role != "tool")
    return [Piece({"role": "user", "content": [block for one in in_order for block in one.blocks]})]


def _answer(message: Message, items: Items) -> Iterator[Block]:
    text, calls = text_of(message["content"]), message.get("tool_calls", [])
    text_at = calls_at = 0
    for item in items:
        text_to, calls_to = _place(item, AFTER_TEXT), _place(item, AFTER_CALLS)
        yield from _texts(text[text_at:text_to])
        yield from map(_call, calls[calls_at:calls_to])
        text_at, calls_at = max(text_at, text_to), max(calls_at, calls_to)
        yield {key: value for key, value in item.items() if key not in {AFTER_TEXT, AFTER_CALLS}}
    yield from _texts(text[text_at:])
    yield from map(_call, calls[calls_at:])


def _place(item: dict[str, object], key: str) -> int:
    value = item.get(key, 0)
    return value if isinstance(value, int) else 0


def _call(call: ToolCall) -> Block:
    function = call["function"]
    name = fitting_name(function["name"])
    return {"type": "tool_use", "id": _id(call["id"]), "name": name, "input": _input(function["arguments"])}


def _input(arguments: str) -> dict[str, Any]:
    try:
        value = json.loads(arguments, strict=False)
        json.dumps(value, allow_nan=False)  # what Python reads as a number may be none in JSON
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _result(message: Message) -> Block:
    result: Block = {"type": "tool_result", "tool_use_id": _id(message.get("tool_call_id", ""))}
    content = message["content"]
    if said := content if isinstance(content, str) and content.strip() else _content(content):
        result["content"] = said
    return result


def _id(call_id: str) -> str:
    """`call_id` in the characters that are allowed; different ids stay different."""
    if call_id and not _NOT_IN_IDS.search(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{_NOT_IN_IDS.sub('_', call_id)}_{digest}"


def _content(content: Content | None) -> list[Block]:
    if content is None or isinstance(content, str):
        return list(_texts(content or ""))
    return [block for part in content for block in _part(part)]


def _part(part: Any) -> Iterator[Block]:
    match part["type"]:
        case "text":
            yield from _texts(part["text"])
        case "image_url":
            yield {"type": "image", "source": _source(part["image_url"]["url"])}
        case "file":
            file = part["file"]
            yield {"type": "document", "source": _source(file["file_data"]), "title": file["filename"]}


def _source(url: str) -> Block:
    if not url.startswith("data:"):
        return {"type": "url", "url": url}
    head, _, data = url.removeprefix("data:").partition(",")
    return {"type": "base64", "media_type": head.partition(";")[0], "data": data}


def _texts(text: str) -> Iterator[Block]:
    # A block of nothing but white space is refused.
    if text.strip():
        yield _text(text)


def _text(text: str) -> Block:
    return {"type": "text", "text": text}
