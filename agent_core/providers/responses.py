"""The Responses protocol, streamed: OpenAI's own models and the ChatGPT sign-in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any
from urllib.parse import urlsplit

from agent_core.errors import ProviderProtocolError
from agent_core.messages import Content, Message, Part, ToolCall, parse_arguments, text_of
from agent_core.providers.base import (
    ModelRequest,
    ProviderItem,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from agent_core.providers.catalog import takes_temperature
from agent_core.providers.choice import ModelChoice
from agent_core.providers.http_provider import DONE
from agent_core.providers.protocol import (
    Decoder,
    WireProtocol,
    counts_of,
    efforts_of,
    fitting,
    fitting_id,
    fitting_name,
    key_header,
    nearest_effort,
    token_count,
)
from agent_core.providers.transport_errors import decoded, reported_error
from tools.light_dataclass import dataclass
from tools.quick_json import whole_text

# Messages in the form of the Responses API: `instructions`, and `input` as a list of items.
# Nothing is stored at the server (`store: false`), so that items go without ids: an id there is a reference to
# something stored, and a request with one is refused. Sealed reasoning (`encrypted_content`) needs none.

PARAGRAPH = "\n\n"
"""Stands between the messages of one answer, which the history keeps as one text."""

Item = dict[str, Any]


def to_input(request: ModelRequest, choice: ModelChoice) -> tuple[str, list[Item]]:
    """The system prompt, and the conversation as items. The same message always gives the same items."""
    messages = fitting(request.messages, choice)
    first = messages.pop(0) if messages and messages[0]["role"] == "system" else None
    instructions = text_of(first["content"]) if first else ""
    return instructions, [item for message in messages for item in _items(message, choice)]


def outline_of_message(text: str, phase: str | None) -> Item:
    """What is kept of a message of an answer: its length and phase; the text itself is in the history."""
    return {"type": "message", "characters": len(text)} | ({"phase": phase} if phase else {})


OUTLINE_OF_CALL: Mapping[str, Any] = {"type": "function_call"}
"""What is kept of a tool call of an answer: only its place between the other items."""


def _items(message: Message, choice: ModelChoice) -> list[Item]:
    match message["role"]:
        case "user":
            return [_message("user", _parts(message["content"]))]
        case "system":
            return [_message("developer", _parts(message["content"]))]
        case "tool":
            call_id = fitting_id(message.get("tool_call_id", ""))
            return [{"type": "function_call_output", "call_id": call_id, "output": _output(message["content"])}]
        case "assistant":
            return _answer(message, choice)


def _message(role: str, parts: list[Item]) -> Item:
    return {"type": "message", "role": role, "content": parts}


def _parts(content: Content | None) -> list[Item]:
    if content is None or isinstance(content, str):
        return [{"type": "input_text", "text": content or ""}]
    return [_part(part) for part in content]


def _part(part: Part) -> Item:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    if part["type"] == "image_url":
        return {"type": "input_image", "image_url": part["image_url"]["url"]}
    if part["type"] == "file":
        return {"type": "input_file", **part["file"]}
    return {**part}


def _output(content: Content | None) -> str | list[Item]:
    return _parts(content) if isinstance(content, list) else content or ""


def _answer(message: Message, choice: ModelChoice) -> list[Item]:
    """An answer's items in the order in which the model gave them, if it is known, else in the usual order."""
    text, calls, sealed = text_of(message["content"]), message.get("tool_calls", ()), choice.wrote(message)
    items = _in_its_order(text, calls, sealed) if _fits(text, calls, sealed) else _in_usual_order(text, calls, sealed)
    # The API wants something after reasoning that came out of it.
    while items and items[-1]["type"] == "reasoning":
        items.pop()
    return items


def _fits(text: str, calls: Sequence[ToolCall], sealed: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the outline in `sealed` is one of this text and these calls: an answer may have been mended since."""
    lengths: list[int] = [item["characters"] for item in sealed if item.get("type") == "message"]
    length = sum(lengths) + len(PARAGRAPH) * max(len(lengths) - 1, 0)
    return length == len(text) and len(calls) == sum(item.get("type") == "function_call" for item in sealed)


def _in_its_order(text: str, calls: Sequence[ToolCall], sealed: Sequence[Mapping[str, Any]]) -> list[Item]:
    items: list[Item] = []
    start, remaining = 0, iter(calls)
    for item in sealed:
        if item["type"] == "reasoning":
            items.append(_reasoning(item))
        elif item["type"] == "function_call":
            items.append(_call(next(remaining)))
        else:
            end = start + item["characters"]
            items.append(_said(text[start:end]) | {key: item[key] for key in ("phase",) if key in item})
            start = end + len(PARAGRAPH)
    return items


def _in_usual_order(text: str, calls: Sequence[ToolCall], sealed: Sequence[Mapping[str, Any]]) -> list[Item]:
    reasoning = [_reasoning(item) for item in sealed if item.get("type") == "reasoning"]
    return [*reasoning, *([_said(text)] if text else ()), *(_call(call) for call in calls)]


def _reasoning(item: Mapping[str, Any]) -> Item:
    """A reasoning item as the API wants it back: neither its id nor its status."""
    summary = item.get("summary") or []
    return {"type": "reasoning", "summary": summary, "encrypted_content": item["encrypted_content"]}


def _said(text: str) -> Item:
    return _message("assistant", [{"type": "output_text", "text": text}])


def _call(call: ToolCall) -> Item:
    function = call["function"]
    return {
        "type": "function_call",
        "call_id": fitting_id(call["id"]),
        "name": fitting_name(function["name"]),
        "arguments": _arguments(function["arguments"]),
    }


def _arguments(text: str) -> str:
    """The arguments as they are if they are JSON; mended as the tool understood them; else none."""
    try:
        is_object = isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        is_object = False
    if is_object:
        return text
    try:
        return json.dumps(parse_arguments(text), ensure_ascii=False)
    except ValueError:
        return "{}"


# Reads a streamed answer of the Responses API.
# The answer is a list of output items (reasoning, messages, function calls), each with a number, that grow side by
# side. Servers differ in how they say which item a piece belongs to: by number, by id, or not at all.

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


# The Responses protocol, streamed: OpenAI's own models, the ChatGPT backend, and servers that speak like them.

_LEAST_OUTPUT = 16
_SOME_INSTRUCTIONS = "You are a helpful assistant."


def _encode(request: ModelRequest, choice: ModelChoice) -> dict[str, Any]:
    instructions, items = to_input(request, choice)
    body: dict[str, Any] = {"model": request.model}
    if instructions:
        body["instructions"] = instructions
    body |= {"input": items, "stream": True, "store": False}
    if request.tools:
        body |= {"tools": [*map(_tool, request.tools)], "parallel_tool_calls": True}
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


def _tool(tool: dict[str, Any]) -> Item:
    function = tool["function"]
    known = {key: function[key] for key in ("name", "description", "parameters") if key in function}
    # Unless it is told otherwise, the API makes every parameter of a tool a required one.
    return {"type": "function", **known, "strict": False}


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
