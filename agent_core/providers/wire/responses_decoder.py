"""Reads a streamed answer of the Responses API.

The answer is a list of output items (reasoning, messages, function calls), each with a number, that grow side by
side. Servers differ in how they say which item a piece belongs to: by number, by id, or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
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
from agent_core.providers.wire.failures import decoded, reported_error
from agent_core.providers.wire.protocol import Decoder, counts_of, token_count
from agent_core.providers.wire.responses_items import OUTLINE_OF_CALL, PARAGRAPH, Item, outline_of_message
from agent_core.providers.wire.sse import DONE
from tools.light_dataclass import dataclass
from tools.quick_json import whole_text

_ENDS = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
_NO_ENDS = frozenset({"completed", "in_progress", "queued"})
"""States of a response that do not gainsay the event that ends it."""


@dataclass(slots=True)
class _Output:
    """An output item while it grows. `streamed` is what came of its text or arguments so far."""

    index: int
    kind: str
    started: bool = False
    complete: bool = False
    streamed: list[str] = field(default_factory=list)
    phase: str | None = None
    sealed: Item | None = None

    def outline(self) -> Item | None:
        """What is kept of it with the message, for the next request."""
        if self.kind == "function_call":
            return dict(OUTLINE_OF_CALL)
        if self.kind == "message" and self.streamed:
            return outline_of_message(whole_text("".join(self.streamed)), self.phase)
        return self.sealed


@dataclass(slots=True)
class _Paragraphs:
    """Puts an empty line between what comes from different parts."""

    last: object = None

    def add(self, part: object, text: str) -> str:
        goes_on = self.last in (None, part)
        self.last = part
        return text if goes_on else f"{PARAGRAPH}{text}"


class ResponsesDecoder(Decoder):
    """Reads one answer."""

    def __init__(self, choice: ModelChoice) -> None:
        self._choice = choice
        self._outputs: list[_Output] = []
        self._by_index: dict[int, _Output] = {}
        self._by_id: dict[str, _Output] = {}
        self._text = _Paragraphs()
        self._reasoning = _Paragraphs()
        self._refused = False

    def feed(self, data: bytes) -> Iterator[StreamEvent]:
        """The events of one event of the server's."""
        if data == DONE:  # not part of the protocol, but some servers close every stream with it
            self.done = True
            return
        payload = decoded(data, self._choice)
        try:
            yield from self._events(payload)
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise ProviderProtocolError(
                f"{self._choice.endpoint} sent an answer that does not follow the Responses protocol."
            ) from problem

    def _events(self, payload: dict[str, Any]) -> Iterator[StreamEvent]:
        match payload.get("type"):
            case "response.output_item.added":
                yield from self._begin(payload)
            case "response.output_text.delta":
                yield from self._say(self._output(payload, "message"), _delta(payload))
            case "response.refusal.delta":
                self._refused = True
                yield from self._say(self._output(payload, "message"), _delta(payload))
            case "response.reasoning_summary_text.delta":
                yield from self._think(
                    self._output(payload, "reasoning"), payload.get("summary_index"), _delta(payload)
                )
            case "response.reasoning_text.delta":
                yield from self._think(
                    self._output(payload, "reasoning"), payload.get("content_index"), _delta(payload)
                )
            case "response.function_call_arguments.delta":
                yield from self._argue(self._begun_call(payload), _delta(payload))
            case "response.function_call_arguments.done":
                yield from self._argue_at_last(self._begun_call(payload), payload["arguments"])
            case "response.output_item.done":
                yield from self._complete(payload)
            case str(kind) if kind in _ENDS:
                yield from self._finish(payload.get("response") or {}, _ENDS[kind])

    def _begin(self, payload: dict[str, Any]) -> Iterator[StreamEvent]:
        item = payload["item"]
        index = payload.get("output_index")
        output = self._add(len(self._outputs) if index is None else int(index), item["type"], item.get("id"))
        yield from _start(output, item)

    def _say(self, output: _Output, text: str) -> Iterator[StreamEvent]:
        if text:
            output.streamed.append(text)
            yield TextDelta(self._text.add(output.index, text))

    def _think(self, output: _Output, part: object, text: str) -> Iterator[StreamEvent]:
        if text:
            output.streamed.append(text)
            yield ReasoningDelta(self._reasoning.add((output.index, part), text))

    def _argue(self, output: _Output, text: str) -> Iterator[StreamEvent]:
        if text:
            output.streamed.append(text)
            yield ToolCallArguments(output.index, text)

    def _argue_at_last(self, output: _Output, arguments: object) -> Iterator[StreamEvent]:
        """The arguments of a server that sends them whole, at the end."""
        if not output.streamed:
            # Some servers send the arguments as an object, not as text.
            yield from self._argue(output, arguments if isinstance(arguments, str) else json.dumps(arguments))

    def _complete(self, payload: dict[str, Any]) -> Iterator[StreamEvent]:
        item = payload["item"]
        output = self._output({"item_id": item.get("id"), **payload}, item["type"])
        output.complete = True
        match output.kind:
            case "function_call":
                yield from _start(output, item)
                yield from self._argue_at_last(output, item.get("arguments") or "")
            case "message":
                output.phase = item.get("phase")
                yield from self._said_at_last(output, item.get("content") or ())
            case "reasoning":
                if item.get("encrypted_content") and item.get("status") != "incomplete":
                    output.sealed = dict(item)
                parts = [] if output.streamed else item.get("summary") or item.get("content") or []
                for number, part in enumerate(parts):
                    yield from self._think(output, number, part["text"])

    def _said_at_last(self, output: _Output, parts: Iterable[dict[str, Any]]) -> Iterator[StreamEvent]:
        """The text of a server that sends it whole, at the end."""
        whole = not output.streamed
        for part in parts:
            self._refused = self._refused or part.get("type") == "refusal"
            if whole:
                yield from self._say(output, part.get("text") or part.get("refusal") or "")

    def _finish(self, response: dict[str, Any], said: str) -> Iterator[StreamEvent]:
        """Take in the end, whose event says the one thing and whose response may say the other, and rather counts."""
        status = str(response.get("status") or said)
        status = said if status in _NO_ENDS else status
        if status == "failed" or response.get("error"):
            raise reported_error(self._choice, response.get("error") or {"message": "the response failed"})
        if not self._outputs:
            for index, item in enumerate(response.get("output") or ()):
                yield from self._complete({"output_index": index, "item": item})
        self._end(response, status)
        self.done = True
        yield from self._kept()
        if usage := counts_of(response.get("usage")):
            yield UsageReport(_usage(usage))

    def _end(self, response: Mapping[str, Any], status: str) -> None:
        why = (response.get("incomplete_details") or {}).get("reason")
        if self._refused:
            self.ends("refusal")
        elif status == "completed" and not why:
            self.ends("tool_calls" if any(output.kind == "function_call" for output in self._outputs) else "stop")
        elif status in {"completed", "incomplete"}:
            self.ends(why or "length")
            if self.finished in {"stop", "tool_calls", "unknown"}:  # it is not complete, whatever stopped it
                self.finished, self.word = "length", ""
        else:
            self.ends(status)

    def _kept(self) -> Iterator[ProviderItem]:
        """Where there is sealed reasoning or a phase, the outline of the answer: its items in their order."""
        if any(output.sealed or output.phase for output in self._outputs):
            ordered = sorted(self._outputs, key=lambda output: output.index)
            yield from (ProviderItem(kept) for output in ordered if (kept := output.outline()))

    def _output(self, payload: Mapping[str, Any], kind: str) -> _Output:
        """The item that a piece belongs to; a new one if there is none."""
        index = payload.get("output_index")
        found = self._by_id.get(str(payload.get("item_id"))) if index is None else self._by_index.get(int(index))
        if found is None and index is None:
            growing = (output for output in reversed(self._outputs) if output.kind == kind and not output.complete)
            found = next(growing, None)
        if found is not None and found.kind == kind:
            return found
        return self._add(len(self._outputs) if index is None else int(index), kind, payload.get("item_id"))

    def _begun_call(self, payload: Mapping[str, Any]) -> _Output:
        output = self._output(payload, "function_call")
        if not output.started:
            raise ValueError("arguments of a call that has not begun")
        return output

    def _add(self, index: int, kind: str, item_id: str | None) -> _Output:
        output = _Output(index, kind)
        self._outputs.append(output)
        self._by_index[index] = output
        if item_id:
            self._by_id[item_id] = output
        return output


def _start(output: _Output, item: Mapping[str, Any]) -> Iterator[ToolCallStarted]:
    if output.kind == "function_call" and not output.started:
        output.started = True
        yield ToolCallStarted(output.index, str(item.get("call_id") or item.get("id") or ""), str(item["name"]))


def _delta(payload: Mapping[str, Any]) -> str:
    delta = payload["delta"]
    if not isinstance(delta, str):
        raise TypeError("a piece that is not text")
    return delta


def _usage(usage: Mapping[str, Any]) -> Usage:
    read = counts_of(usage.get("input_tokens_details"))
    written = counts_of(usage.get("output_tokens_details"))
    return Usage(
        input_tokens=token_count(usage.get("input_tokens")),
        output_tokens=token_count(usage.get("output_tokens")),
        cached_tokens=token_count(read.get("cached_tokens")),
        reasoning_tokens=token_count(written.get("reasoning_tokens")),
        written_tokens=token_count(read.get("cache_write_tokens")),
    )
