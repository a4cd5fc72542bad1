"""Reads an answer of the Messages protocol, event by event.

Source: platform.claude.com/docs/en/build-with-claude/streaming.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from agent_core.errors import ProviderProtocolError
from agent_core.providers.base import (
    ProviderItem,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from agent_core.providers.choice import ModelChoice
from agent_core.providers.wire.anthropic_blocks import AFTER_CALLS, AFTER_TEXT
from agent_core.providers.wire.anthropic_thinking import claude
from agent_core.providers.wire.failures import decoded
from agent_core.providers.wire.joined_events import character_count
from agent_core.providers.wire.protocol import Decoder, counts_of, token_count
from agent_core.providers.wire.sse import DONE
from tools.light_dataclass import dataclass
from tools.quick_json import whole_text

_COUNTS = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
    "thinking_tokens",
)


@dataclass(slots=True)
class _OpenBlock:
    """A block of the answer while it arrives. `call` is the number of a tool call."""

    kind: str
    content: dict[str, Any]
    call: int
    pieces: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)


class MessagesDecoder(Decoder):
    """Reads one answer."""

    def __init__(self, choice: ModelChoice) -> None:
        self._choice = choice
        self._open: dict[int, _OpenBlock] = {}
        self._text = 0
        self._calls = 0
        self._usage: dict[str, int] = {}

    def feed(self, data: bytes) -> Iterator[StreamEvent]:
        """The events of one payload."""
        if data == DONE:
            self._end()
            return
        payload = decoded(data, self._choice)
        try:
            yield from list(self._events(payload))
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise ProviderProtocolError(
                f"{self._choice.endpoint} sent an answer that does not follow the Anthropic Messages protocol. "
                "Check that model.base_url and api_mode belong together."
            ) from problem

    def _events(self, payload: dict[str, Any]) -> Iterator[StreamEvent]:
        match payload["type"]:
            case "message_start":
                self._count(payload["message"].get("usage"))
            case "content_block_start":
                yield from self._begin(int(payload["index"]), payload["content_block"])
            case "content_block_delta":
                yield from self._go_on(int(payload["index"]), payload["delta"])
            case "content_block_stop":
                yield from self._stop(int(payload["index"]))
            case "message_delta":
                self.ends(payload["delta"].get("stop_reason"))
                if self._count(payload.get("usage")):
                    yield UsageReport(_usage(self._usage))
            case "message_stop":
                self._end()

    def _end(self) -> None:
        self.done = True
        self.finished = self.finished or ("tool_calls" if self._calls else "stop")

    def _begin(self, index: int, content: dict[str, Any]) -> Iterator[StreamEvent]:
        block = self._open[index] = _OpenBlock(content["type"], content, self._calls)
        if block.kind == "tool_use":
            self._calls += 1
            yield ToolCallStarted(block.call, str(content["id"]), str(content["name"]))
        yield from self._piece(block, content.get("text") or content.get("thinking") or "")
        block.signature.append(content.get("signature") or "")

    def _go_on(self, index: int, delta: dict[str, Any]) -> Iterator[StreamEvent]:
        block = self._open[index]
        match delta["type"]:
            case "text_delta":
                yield from self._piece(block, delta["text"])
            case "thinking_delta":
                yield from self._piece(block, delta["thinking"])
            case "input_json_delta":
                yield from self._piece(block, delta["partial_json"])
            case "signature_delta":
                block.signature.append(delta["signature"])

    def _piece(self, block: _OpenBlock, piece: str) -> Iterator[StreamEvent]:
        if not piece:
            return
        block.pieces.append(piece)
        match block.kind:
            case "text":
                self._text += character_count(piece)
                yield TextDelta(piece)
            case "thinking":
                yield ReasoningDelta(piece)
            case "tool_use":
                yield ToolCallArguments(block.call, piece)

    def _stop(self, index: int) -> Iterator[StreamEvent]:
        block = self._open.pop(index, None)
        if block is None:
            return
        if block.kind == "redacted_thinking":
            yield self._item({"type": block.kind, "data": block.content["data"]})
        elif block.kind == "thinking":
            thought = {"type": block.kind, "thinking": whole_text("".join(block.pieces))}
            if signature := "".join(block.signature):
                yield self._item({**thought, "signature": signature})
            elif claude(self._choice.model) is None:  # Claude takes no thought without its signature back
                yield self._item(thought)
        elif block.kind == "tool_use" and not block.pieces and block.content.get("input"):
            # Some servers send the whole input at once.
            yield from self._piece(block, json.dumps(block.content["input"], ensure_ascii=False))

    def _item(self, block: dict[str, Any]) -> ProviderItem:
        place = {AFTER_TEXT: self._text, AFTER_CALLS: self._calls}
        return ProviderItem(block | {key: count for key, count in place.items() if count})

    def _count(self, usage: object) -> bool:
        """Take counts in; they only grow, and some servers send a zero where they know nothing yet."""
        counts = counts_of(usage)
        details = counts_of(counts.get("output_tokens_details"))
        for name in _COUNTS:
            count = token_count(counts.get(name, details.get(name)))
            if count is not None:
                self._usage[name] = max(count, self._usage.get(name, 0))
        return bool(counts)


def _usage(counts: Mapping[str, int]) -> Usage:
    fresh, cached = counts.get("input_tokens"), counts.get("cache_read_input_tokens")
    written = counts.get("cache_creation_input_tokens")
    return Usage(
        input_tokens=None if fresh is None else fresh + (cached or 0) + (written or 0),
        output_tokens=counts.get("output_tokens"),
        cached_tokens=cached,
        reasoning_tokens=counts.get("thinking_tokens"),
        written_tokens=written,
    )
