"""The Chat Completions protocol, streamed: OpenAI and every server that speaks like it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agent_core.errors import ProviderProtocolError
from agent_core.providers.base import (
    ModelRequest,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from agent_core.providers.choice import ModelChoice
from agent_core.providers.pieces import Piece
from agent_core.providers.resolution.traits import takes_temperature
from agent_core.providers.wire.chat_messages import to_wire
from agent_core.providers.wire.failures import decoded, reported_error
from agent_core.providers.wire.given_back import REASONING_FIELDS, GivenFields, of_call
from agent_core.providers.wire.openai_efforts import nearest_effort
from agent_core.providers.wire.protocol import Decoder, WireProtocol, counts_of, key_header, token_count
from agent_core.providers.wire.sse import DONE


class ChatDecoder(Decoder):
    """Reads one answer."""

    def __init__(self, choice: ModelChoice) -> None:
        self._choice = choice
        self._refused = False
        self._given = GivenFields()

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The events of one chunk."""
        if data == DONE:
            self.done = True
            self.finished = self.finished or "stop"
            return [*self._given.items()]
        payload = decoded(data, self._choice)
        try:
            return self._events(payload)
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise ProviderProtocolError(
                f"{self._choice.endpoint} sent an answer that does not follow the Chat Completions protocol."
            ) from problem

    def _events(self, payload: dict[str, Any]) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for choice in (payload.get("choices") or ())[:1]:
            delta = choice.get("delta") or {}
            events.extend(_delta_events(delta))
            self._refused = self._refused or bool(delta.get("refusal"))
            self._given.see(delta)
            self.goes_on = self.goes_on or bool(events and self.finished)
            if failure := choice.get("error"):
                raise reported_error(self._choice, failure)
            if reason := choice.get("finish_reason"):
                self.ends("refusal" if self._refused else reason)
                events.extend(self._given.items())
        if usage := counts_of(payload.get("usage")):
            events.append(UsageReport(_usage(usage)))
        return events


def _encode(request: ModelRequest, choice: ModelChoice) -> dict[str, Any]:
    dialect = choice.dialect
    body: dict[str, Any] = {"model": request.model, "messages": to_wire(request, choice), "stream": True}
    if dialect.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = request.parts.tools.of(request.tools, Piece, CHAT_COMPLETIONS.name)
    if request.max_tokens is not None:
        body[dialect.max_tokens_field] = request.max_tokens
    if request.temperature is not None and dialect.temperature and takes_temperature(request.model):
        body["temperature"] = request.temperature
    if request.reasoning is not None and dialect.effort == "reasoning_effort":
        body["reasoning_effort"] = nearest_effort(request.model, request.reasoning)
    elif request.reasoning is not None and dialect.effort == "openrouter":
        body["reasoning"] = {"effort": request.reasoning}
    if dialect.cache_key and request.session_id:
        body["prompt_cache_key"] = request.session_id
    return body


CHAT_COMPLETIONS = WireProtocol("Chat Completions", "/chat/completions", key_header, _encode, ChatDecoder)


def _delta_events(delta: dict[str, Any]) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    if reasoning := next((found for name in REASONING_FIELDS if (found := delta.get(name))), None):
        events.append(ReasoningDelta(str(reasoning)))
    content = delta.get("content") or delta.get("refusal")
    if isinstance(content, list):
        events.extend(_part_events(content))
    elif content:
        events.append(TextDelta(str(content)))
    for position, call in enumerate(delta.get("tool_calls") or ()):
        index = call.get("index")
        index = int(position if index is None else index)
        function = call.get("function") or {}
        if name := function.get("name"):
            events.append(ToolCallStarted(index, str(call.get("id") or ""), str(name)))
        if arguments := function.get("arguments"):
            # Some servers send the arguments as an object, not as text.
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            events.append(ToolCallArguments(index, text))
        events.extend(of_call(index, call))
    return events


def _part_events(parts: list[Any]) -> Iterator[StreamEvent]:
    """Mistral's models that reason send their content in parts (https://docs.mistral.ai/capabilities/reasoning)."""
    for part in parts:
        match part:
            case {"type": "text", "text": str(text)}:
                yield TextDelta(text)
            case {"type": "thinking", "thinking": str(text)}:
                yield ReasoningDelta(text)
            case {"type": "thinking", "thinking": list(thoughts)}:
                yield from (ReasoningDelta(str(each["text"])) for each in thoughts if each.get("text"))


def _usage(usage: Mapping[str, Any]) -> Usage:
    prompt = counts_of(usage.get("prompt_tokens_details"))
    completion = counts_of(usage.get("completion_tokens_details"))
    return Usage(
        input_tokens=token_count(usage.get("prompt_tokens")),
        output_tokens=token_count(usage.get("completion_tokens")),
        # Moonshot and DeepSeek count what they kept beside the details.
        cached_tokens=_first_count(
            prompt.get("cached_tokens"), usage.get("cached_tokens"), usage.get("prompt_cache_hit_tokens")
        ),
        reasoning_tokens=token_count(completion.get("reasoning_tokens")),
        written_tokens=token_count(prompt.get("cache_write_tokens")),
    )


def _first_count(*values: object) -> int | None:
    return next((count for value in values if (count := token_count(value)) is not None), None)
