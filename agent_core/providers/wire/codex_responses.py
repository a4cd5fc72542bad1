"""The Responses protocol, streamed: OpenAI's own models, the ChatGPT backend, and servers that speak like them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from agent_core.providers.base import ModelRequest
from agent_core.providers.choice import ModelChoice
from agent_core.providers.pieces import Piece
from agent_core.providers.resolution.traits import takes_temperature
from agent_core.providers.wire.openai_efforts import efforts_of, nearest_effort
from agent_core.providers.wire.protocol import WireProtocol, key_header
from agent_core.providers.wire.responses_decoder import ResponsesDecoder
from agent_core.providers.wire.responses_items import to_input

_LEAST_OUTPUT = 16
_SOME_INSTRUCTIONS = "You are a helpful assistant."


def _encode(request: ModelRequest, choice: ModelChoice) -> dict[str, Any]:
    instructions, items = to_input(request, choice)
    body: dict[str, Any] = {"model": request.model}
    if instructions:
        body["instructions"] = instructions
    body |= {"input": items, "stream": True, "store": False}
    if request.tools:
        tools = request.parts.tools.of(request.tools, _tool, CODEX_RESPONSES.name)
        body |= {"tools": tools, "parallel_tool_calls": True}
    if request.max_tokens is not None:
        body["max_output_tokens"] = max(request.max_tokens, _LEAST_OUTPUT)
    if _reasons(request, choice):
        body |= _thinking(request, choice)
    elif request.temperature is not None and choice.dialect.temperature and takes_temperature(request.model):
        body["temperature"] = request.temperature
    if choice.dialect.cache_key and request.session_id:
        body["prompt_cache_key"] = request.session_id
    return _for_chatgpt(body) if _is_chatgpt(choice) else body


CODEX_RESPONSES = WireProtocol("Responses", "/responses", key_header, _encode, ResponsesDecoder)


def _tool(tool: dict[str, Any]) -> Piece:
    function = tool["function"]
    known = {key: function[key] for key in ("name", "description", "parameters") if key in function}
    # Unless it is told otherwise, the API makes every parameter of a tool a required one.
    return Piece({"type": "function", **known, "strict": False})


def _reasons(request: ModelRequest, choice: ModelChoice) -> bool:
    """Whether the model reasons. One that does not refuses a request that asks for reasoning in any form."""
    efforts, known = efforts_of(request.model), choice.facts.reasoning
    if efforts == () or known is False:
        return False
    return bool(efforts) or known is True or request.reasoning is not None or _is_chatgpt(choice)


def _thinking(request: ModelRequest, choice: ModelChoice) -> dict[str, Any]:
    """The reasoning with a summary for the user, and sealed, so that it can be sent back."""
    effort = nearest_effort(request.model, request.reasoning) if request.reasoning else None
    reasoning: dict[str, str] = {"effort": effort} if effort else {}
    if effort != "none" and choice.dialect.reasoning_summary:
        reasoning["summary"] = "auto"
    return {"reasoning": reasoning, "include": ["reasoning.encrypted_content"]}


def _is_chatgpt(choice: ModelChoice) -> bool:
    return "/backend-api/codex" in urlsplit(choice.base_url).path


def _for_chatgpt(body: dict[str, Any]) -> dict[str, Any]:
    """The request as the server behind ChatGPT takes it: always with instructions, never with a limit."""
    refused = ("max_output_tokens", "temperature")
    return {"instructions": _SOME_INSTRUCTIONS} | {key: value for key, value in body.items() if key not in refused}
