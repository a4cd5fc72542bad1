"""Bedrock's event stream as the agent's events.

Source: docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html.
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
from agent_core.providers.wire.bedrock_messages import AFTER_CALLS, AFTER_TEXT
from agent_core.providers.wire.event_stream import error_in
from agent_core.providers.wire.failures import decoded
from agent_core.providers.wire.finish_reasons import AnswerEnd
from agent_core.providers.wire.joined_events import character_count
from agent_core.providers.wire.protocol import counts_of, token_count
from tools.light_dataclass import dataclass
from tools.quick_json import whole_text


@dataclass(slots=True)
class _Reasoning:
    after_text: int
    after_calls: int
    text: list[str] = field(default_factory=list)
    signature: str = ""
    redacted: str = ""

    def item(self) -> dict[str, Any] | None:
        """What goes back to the model; None for reasoning that it did not sign: no model wants that back."""
        if self.redacted:
            content: dict[str, Any] = {"redactedContent": self.redacted}
        elif self.signature:
            content = {"reasoningText": {"text": whole_text("".join(self.text)), "signature": self.signature}}
        else:
            return None
        return {"reasoningContent": content, AFTER_TEXT: self.after_text, AFTER_CALLS: self.after_calls}


class ConverseDecoder(AnswerEnd):
    """Reads one answer. Once it is finished, only its count of tokens may still come."""

    def __init__(self, choice: ModelChoice) -> None:
        self._choice = choice
        self._text = 0
        self._calls: set[int] = set()
        self._reasoning: dict[int, _Reasoning] = {}

    def feed(self, headers: Mapping[str, Any], payload: bytes) -> Iterator[StreamEvent]:
        """The events in one message of the stream; never `Finished`.

        Raises:
            ProviderStatusError: the server reports a failure.
            ProviderProtocolError: it cannot be understood.
        """
        if (failure := error_in(headers, payload, self._choice)) is not None:
            raise failure
        value = decoded(payload, self._choice)
        try:
            yield from self._events(str(headers.get(":event-type")), value)
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise ProviderProtocolError(
                f"{self._choice.endpoint} sent an answer that does not follow Bedrock's Converse protocol."
            ) from problem

    def _events(self, kind: str, value: dict[str, Any]) -> list[StreamEvent]:
        match kind:
            case "contentBlockStart":
                return self._start(int(value["contentBlockIndex"]), value["start"])
            case "contentBlockDelta":
                return self._delta(int(value["contentBlockIndex"]), value["delta"])
            case "contentBlockStop":
                reasoning = self._reasoning.pop(int(value["contentBlockIndex"]), None)
                item = reasoning.item() if reasoning is not None else None
                return [] if item is None else [ProviderItem(item)]
            case "messageStop":
                self.ends(value["stopReason"])
            case "metadata":
                self.done = self.finished is not None
                return [UsageReport(_usage(counts_of(value.get("usage"))))]
        return []

    def _start(self, index: int, start: dict[str, Any]) -> list[StreamEvent]:
        use = start.get("toolUse")
        # A tool that the server runs itself is no call of ours.
        if use is None or use.get("type"):
            return []
        self._calls.add(index)
        return [ToolCallStarted(index, str(use["toolUseId"]), str(use["name"]))]

    def _delta(self, index: int, delta: dict[str, Any]) -> list[StreamEvent]:
        if text := delta.get("text"):
            self._text += character_count(text)
            return [TextDelta(str(text))]
        if use := delta.get("toolUse"):
            said = use.get("input")
            said = said if isinstance(said, str) else json.dumps(said)
            return [ToolCallArguments(index, said)] if said and index in self._calls else []
        if piece := delta.get("reasoningContent"):
            return self._reason(index, piece)
        return []

    def _reason(self, index: int, piece: dict[str, Any]) -> list[StreamEvent]:
        reasoning = self._reasoning.setdefault(index, _Reasoning(self._text, len(self._calls)))
        reasoning.signature += str(piece.get("signature") or "")
        reasoning.redacted += str(piece.get("redactedContent") or "")
        text = str(piece.get("text") or "")
        reasoning.text.append(text)
        return [ReasoningDelta(text)] if text else []


def _usage(usage: Mapping[str, Any]) -> Usage:
    # `inputTokens` counts only what was neither read from the cache nor written to it.
    fresh = token_count(usage.get("inputTokens"))
    cached = token_count(usage.get("cacheReadInputTokens"))
    written = token_count(usage.get("cacheWriteInputTokens"))
    return Usage(
        input_tokens=None if fresh is None else fresh + (cached or 0) + (written or 0),
        output_tokens=token_count(usage.get("outputTokens")),
        cached_tokens=cached,
        written_tokens=written,
    )
