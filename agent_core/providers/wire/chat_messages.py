"""Messages in the form that Chat Completions servers take: only fields the protocol knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from agent_core.messages import Content, Message, ToolCall, text_of
from agent_core.providers.base import CacheTtl, ModelRequest
from agent_core.providers.choice import ModelChoice
from agent_core.providers.pieces import Piece, Pieces
from agent_core.providers.wire.call_names import fitting_name, id_of_nine, usual_id
from agent_core.providers.wire.given_back import given_back
from agent_core.providers.wire.parts import fitting

_MARKED_MESSAGES = 3
_BETWEEN = Piece({"role": "assistant", "content": "Before I go on, I look at what comes next."})

Marker = dict[str, str]


def to_wire(request: ModelRequest, choice: ModelChoice) -> Pieces:
    """The request's messages without what is only ours; earlier reasoning where this server wants it back."""
    parts, ttl = request.parts, request.cache_ttl if choice.dialect.cache_markers else None
    fitted = fitting(request.messages, choice, parts)
    written = parts.written.of(fitted, lambda message: _message(message, choice, ttl), (choice, ttl))
    if choice.dialect.nine_in_ids:
        ordered = parts.joined.of(written, _each_alone, _in_mistrals_order, choice)
        wire = parts.joined_text.of(ordered, parts.joined.kept)
    else:
        wire = parts.written_text.of(written, parts.written.kept)
    if ttl is not None:
        _mark_last(wire, _marker(ttl))
    return wire


def _each_alone(*_: Piece) -> bool:
    return True


def _in_mistrals_order(before: Piece | None, messages: Sequence[Piece]) -> Sequence[Piece]:
    """A message as Mistral takes it: it refuses a user's right behind a tool's.

    Its error 3230 says so (https://github.com/BerriAI/litellm/issues/17761). Such a pair comes from words for a
    running turn, from images of results, and from a turn that ended with results. What is put between depends on the
    two alone, so that every later request begins as this one does. The person's words stay a message of their own:
    within a result they would look like a tool's, and a tool could write such ones.
    """
    is_refused = before is not None and before["role"] == "tool" and messages[0]["role"] == "user"
    return [_BETWEEN, *messages] if is_refused else messages


def _message(message: Message, choice: ModelChoice, ttl: CacheTtl | None) -> Piece:
    role, content, dialect = message["role"], _plain(message["content"]), choice.dialect
    identify = id_of_nine if dialect.nine_in_ids else usual_id
    if role == "tool":
        return Piece({"role": role, "tool_call_id": identify(message.get("tool_call_id", "")), "content": content})
    sent: dict[str, Any] = {"role": role, "content": content}
    if role == "assistant":
        if "tool_calls" in message:
            sent["tool_calls"] = [_call(call, identify) for call in message["tool_calls"]]
        sent.update(given_back(message, sent, choice))
    elif role == "system":
        if dialect.developer_role:
            sent["role"] = "developer"
        if ttl is not None:
            sent = _marked(sent, _marker(ttl))
    return Piece(sent)


def _call(call: ToolCall, identify: Callable[[str], str]) -> dict[str, Any]:
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    function = {"name": fitting_name(name), "arguments": arguments}
    return {"id": identify(call["id"]), "type": "function", "function": function}


def _plain(content: Content | None) -> Content | None:
    """Nothing but texts as one text: servers that take neither images nor documents may take no parts at all."""
    if not isinstance(content, list) or any(part["type"] != "text" for part in content):
        return content
    return text_of(content)


def _mark_last(wire: Pieces, marker: Marker) -> None:
    """Mark the last messages; the system prompt is marked already."""
    carriers = (at for at in range(len(wire) - 1, -1, -1) if wire[at]["role"] != "system" and wire[at].get("content"))
    for at in islice(carriers, _MARKED_MESSAGES):
        wire.replace(at, _marked(wire[at], marker))


def _marked(message: dict[str, Any], marker: Marker) -> dict[str, Any]:
    parts = message["content"]
    if isinstance(parts, str):
        parts = [{"type": "text", "text": parts}]
    return {**message, "content": [*parts[:-1], {**parts[-1], "cache_control": marker}]}


def _marker(ttl: CacheTtl) -> Marker:
    return {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
