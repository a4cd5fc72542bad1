"""The Messages protocol, streamed: Anthropic and every server that speaks like it.

Source: platform.claude.com/docs/en/api/messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_core.providers.base import ModelRequest
from agent_core.providers.choice import ModelChoice
from agent_core.providers.pieces import Piece
from agent_core.providers.wire.anthropic_blocks import blocks_of, in_turn, mark
from agent_core.providers.wire.anthropic_decoder import MessagesDecoder
from agent_core.providers.wire.anthropic_thinking import thinking
from agent_core.providers.wire.parts import fitting
from agent_core.providers.wire.protocol import WireProtocol, key_header

# The one that every server knows; a newer one can be set in the headers of a provider's settings.
_VERSION = "2023-06-01"
_HOTTEST = 1.0


def _headers(choice: ModelChoice) -> Mapping[str, str]:
    return {"anthropic-version": _VERSION, **key_header(choice)}


def _encode(request: ModelRequest, choice: ModelChoice) -> dict[str, Any]:
    plan = thinking(request, choice)
    fitted = fitting(request.messages, choice, request.parts)
    sealed = choice.wrote if plan.sends_back else lambda _: ()
    said = request.parts.written.of(fitted, lambda message: blocks_of(message, sealed), (choice, plan.sends_back))
    system, messages = in_turn(said, request.parts)
    if request.cache_ttl is not None:
        mark(system, messages, request.cache_ttl)
    body: dict[str, Any] = {"model": request.model, "max_tokens": plan.max_tokens, "stream": True}
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = request.parts.tools.of(request.tools, _tool, ANTHROPIC_MESSAGES.name)
    if request.temperature is not None and plan.sampling:
        body["temperature"] = min(request.temperature, _HOTTEST)
    return {**body, **plan.fields, "messages": messages}


def _tool(definition: Mapping[str, Any]) -> Piece:
    function = definition["function"]
    tool = {"name": function["name"], "input_schema": function.get("parameters") or {"type": "object"}}
    return Piece(tool | ({"description": function["description"]} if function.get("description") else {}))


ANTHROPIC_MESSAGES = WireProtocol("Anthropic Messages", "/messages", _headers, _encode, MessagesDecoder, root="/v1")
