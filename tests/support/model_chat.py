"""Answers as the Chat Completions protocol writes them."""

from __future__ import annotations

from typing import Any

from tests.support.model_replies import Recorded, Reply, Streamed, ToolCall, Usage, event, pieces

Delta = dict[str, Any]


class ChatDialect:
    """Implements `ServerDialect`."""

    path = "/v1/chat/completions"

    def streamed(self, request: Recorded, reply: Reply) -> Streamed:
        model, number = request.model, request.number
        ending = [event(chunk(model, number, {}, reply.ending))]
        if reply.usage is not None and (request.body.get("stream_options") or {}).get("include_usage"):
            ending.append(event(usage_chunk(model, number, reply.usage)))
        return Streamed(
            [event(chunk(model, number, {"role": "assistant", "content": ""}))],
            [event(chunk(model, number, delta)) for delta in deltas(reply)],
            [*ending, event("[DONE]")],
        )

    def whole(self, request: Recorded, reply: Reply) -> dict[str, Any]:
        return completion(request.model, request.number, reply)


def deltas(reply: Reply) -> list[Delta]:
    """The answer as a stream of deltas, without its opening and its end."""
    found: list[Delta] = [{reply.reasoning_field: piece} for piece in pieces(reply.reasoning, reply.split)]
    found += [{"content": piece} for piece in pieces(reply.text, reply.split)]
    found += [_call_delta(index, call) for index, call in enumerate(reply.tool_calls)]
    streams = [pieces(call.arguments_text, reply.split) for call in reply.tool_calls]
    for round_number in range(max(map(len, streams), default=0)):
        found += [
            {"tool_calls": [{"index": index, "function": {"arguments": pieces[round_number]}}]}
            for index, pieces in enumerate(streams)
            if round_number < len(pieces)
        ]
    return found


def chunk(model: str, number: int, delta: Delta, finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return _envelope(model, number, "chat.completion.chunk") | {"choices": [choice]}


def usage_chunk(model: str, number: int, usage: Usage) -> dict[str, Any]:
    return _envelope(model, number, "chat.completion.chunk") | {"choices": [], "usage": _usage(usage)}


def completion(model: str, number: int, reply: Reply) -> dict[str, Any]:
    """The same answer for a client that did not ask for a stream."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.reasoning:
        message[reply.reasoning_field] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments_text}}
            for call in reply.tool_calls
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.ending}
    whole = _envelope(model, number, "chat.completion") | {"choices": [choice]}
    return whole | ({"usage": _usage(reply.usage)} if reply.usage else {})


def _envelope(model: str, number: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 1_700_000_000, "model": model}


def _call_delta(index: int, call: ToolCall) -> Delta:
    function = {"name": call.name, "arguments": ""}
    return {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
    }
