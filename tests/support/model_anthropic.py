"""Answers as the Anthropic Messages protocol writes them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.bedrock_server import EVENT_STREAM, frame
from tests.support.model_replies import Recorded, Reply, Streamed, ToolCall, Usage, event, pieces

STOP_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}


class AnthropicDialect:
    """Implements `ServerDialect`."""

    path = "/v1/messages"

    def streamed(self, request: Recorded, reply: Reply) -> Streamed:
        start = _message(request) | {"content": [], "stop_reason": None, **_usage(reply.usage, output=1)}
        reason = STOP_REASONS.get(reply.ending, reply.ending)
        ending: dict[str, Any] = {"delta": {"stop_reason": reason, "stop_sequence": None}}
        if reply.usage is not None:
            details = {"thinking_tokens": reply.usage.reasoning}
            ending["usage"] = {"output_tokens": reply.usage.completion, "output_tokens_details": details}
        return Streamed(
            [sse("message_start", message=start), sse("ping")],
            [delta for block in blocks(request, reply) for delta in block],
            [sse("message_delta", **ending), sse("message_stop")],
        )

    def whole(self, request: Recorded, reply: Reply) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        if reply.reasoning:
            content.append({"type": "thinking", "thinking": reply.reasoning, "signature": signature(request)})
        if reply.text:
            content.append({"type": "text", "text": reply.text})
        content += [{**_call(call), "input": _input(call)} for call in reply.tool_calls]
        ending = {"stop_reason": STOP_REASONS.get(reply.ending, reply.ending), "stop_sequence": None}
        return _message(request) | {"content": content, **ending, **_usage(reply.usage)}


class BedrockClaudeDialect(AnthropicDialect):
    """The same events in Amazon's framing."""

    content_type = EVENT_STREAM

    def streamed(self, request: Recorded, reply: Reply) -> Streamed:
        plain = super().streamed(request, reply)
        return Streamed(*([b"".join(_frames(part)) for part in parts] for parts in _parts(plain)))


def _parts(streamed: Streamed) -> tuple[Sequence[bytes], Sequence[bytes], Sequence[bytes]]:
    return streamed.opening, streamed.deltas, streamed.ending


def _frames(events: bytes) -> Iterator[bytes]:
    for line in events.split(b"\n"):
        if line.startswith(b"data: "):
            yield frame("chunk", {"bytes": base64.b64encode(line.removeprefix(b"data: ")).decode(), "p": "abcd"})


def blocks(request: Recorded, reply: Reply) -> Iterator[list[bytes]]:
    """The deltas of each block; the first brings its start along, the last its end."""
    index = 0
    if reply.reasoning:
        thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(reply.reasoning, reply.split)]
        signed = {"type": "signature_delta", "signature": signature(request)}
        deltas = _deltas(index, {"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signed])
        yield [*deltas[:-2], b"".join(deltas[-2:])]
        index += 1
    if reply.text:
        texts = [{"type": "text_delta", "text": piece} for piece in pieces(reply.text, reply.split)]
        yield _deltas(index, {"type": "text", "text": ""}, texts)
        index += 1
    for call in reply.tool_calls:
        parts = ["", *pieces(call.arguments_text, reply.split)]
        yield _deltas(index, _call(call), [{"type": "input_json_delta", "partial_json": part} for part in parts])
        index += 1


def sse(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)


def signature(request: Recorded) -> str:
    return f"signature-{request.number}="


def _deltas(index: int, block: dict[str, Any], deltas: Sequence[dict[str, Any]]) -> list[bytes]:
    written = [sse("content_block_delta", index=index, delta=delta) for delta in deltas]
    written[0] = sse("content_block_start", index=index, content_block=block) + written[0]
    written[-1] += sse("content_block_stop", index=index)
    return written


def _message(request: Recorded) -> dict[str, Any]:
    return {"id": f"msg_{request.number}", "type": "message", "role": "assistant", "model": request.model}


def _call(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}


def _input(call: ToolCall) -> Any:
    try:
        return json.loads(call.arguments_text)
    except ValueError:
        return {}


def _usage(usage: Usage | None, output: int | None = None) -> dict[str, Any]:
    if usage is None:
        return {}
    counts = {
        "input_tokens": usage.prompt - usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.completion if output is None else output,
    }
    return {"usage": counts}
