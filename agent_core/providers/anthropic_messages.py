"""Anthropic's Messages protocol, streamed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from agent_core.errors import ProviderProtocolError
from agent_core.messages import Content, Message, ToolCall, text_of
from agent_core.providers.base import (
    CacheTtl,
    ModelRequest,
    ProviderItem,
    ReasoningDelta,
    ReasoningEffort,
    StreamEvent,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from agent_core.providers.choice import ModelChoice
from agent_core.providers.http_provider import DONE, character_count
from agent_core.providers.protocol import (
    Decoder,
    WireProtocol,
    counts_of,
    fitting,
    fitting_id,
    fitting_name,
    key_header,
    token_count,
)
from agent_core.providers.transport_errors import decoded
from tools.light_dataclass import dataclass
from tools.quick_json import whole_text

# How a model of the Messages protocol is asked to think. Claude's generations differ; of others only facts tell.
# Source: platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting («Thinking support, defaults, and
# rejected configurations by model»), .../effort and .../extended-thinking.
# | Claude            | asked for by                       | thinks unasked | turned off by        | sampling |
# |-------------------|------------------------------------|----------------|----------------------|----------|
# | before 3.7        | –                                  | no             | –                    | yes      |
# | 3.7 to 4.5        | `enabled` and a budget             | no             | leaving it out       | yes      |
# | 4.6               | `adaptive` and an effort, no xhigh | no             | leaving it out       | yes      |
# | 4.7, 4.8          | `adaptive` and an effort           | no             | leaving it out       | no       |
# | Opus 5, Sonnet 5  | the same                           | yes            | `disabled`           | no       |
# | Haiku 5.5         | the same                           | yes            | `disabled`           | no       |
# | Sonnet 5.5        | the same                           | yes            | `between_tools`      | no       |
# | others, and later | the same                           | yes            | nothing; effort low  | no       |

_USUAL_LIMIT = 8192
_LEAST_BUDGET = 1024
_BUDGETS: dict[ReasoningEffort, int] = {
    "minimal": _LEAST_BUDGET,
    "low": 4096,
    "medium": 8192,
    "high": 16384,
    "xhigh": 32768,
}
_THINKS, _ADAPTIVE, _NO_SAMPLING, _UNASKED = (3, 7), (4, 6), (4, 7), (5, 0)
_UNKNOWN = (99, 0)
_OFF = {
    ("opus", (5, 0)): "disabled",
    ("sonnet", (5, 0)): "disabled",
    ("haiku", (5, 5)): "disabled",
    ("sonnet", (5, 5)): "between_tools",
}
_NAME = re.compile(r"claude-(?:([a-z]+)-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)(?:-([a-z]+))?")


@dataclass(frozen=True, slots=True)
class Claude:
    """A model of Anthropic's, as its name tells."""

    family: str
    version: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a request says about thinking.

    Attributes:
        max_tokens: the limit of the answer, its thinking included.
        fields: goes into the request's body.
        sends_back: earlier thinking goes back to the model; without thinking it would be of no use, or be refused.
        sampling: the request may name a temperature.
    """

    max_tokens: int
    fields: Mapping[str, Any] = field(default_factory=dict)
    sends_back: bool = True
    sampling: bool = False


def claude(model: str) -> Claude | None:
    """Which Claude a model's name means; None for other models."""
    name = model.lower()
    if found := _NAME.search(name):
        before, major, minor, after = found.groups()
        return Claude(before or after or "", (int(major), int(minor or 0)))
    return Claude("", _UNKNOWN) if "claude-" in name else None


def thinking(request: ModelRequest, choice: ModelChoice) -> Thinking:
    """What `request` says about thinking."""
    limit = _limit(request, choice)
    model, effort = claude(request.model), request.reasoning
    takes_sampling = model is None or model.version < _NO_SAMPLING
    if choice.facts.reasoning is False or (model is not None and model.version < _THINKS):
        return Thinking(limit, sampling=takes_sampling)
    if model is not None and model.version >= _ADAPTIVE:
        return _adaptive(model, effort, limit, takes_sampling=takes_sampling)
    if model is None and (effort is None or not choice.facts.reasoning):
        return Thinking(limit, sampling=True)
    if effort is not None and effort != "none" and _may_think(request.messages, choice):
        budget, limit = _budget(effort, limit, _ceiling(limit, choice))
        if budget:
            return Thinking(limit, {"thinking": {"type": "enabled", "budget_tokens": budget}})
    off = {"thinking": {"type": "disabled"}} if model is None else {}
    return Thinking(limit, off, sends_back=False, sampling=True)


def _adaptive(model: Claude, effort: ReasoningEffort | None, limit: int, *, takes_sampling: bool) -> Thinking:
    # Later models keep their thoughts to themselves unless they are asked for the summary.
    asked: dict[str, Any] = {"thinking": {"type": "adaptive", "display": "summarized"}}
    unasked = model.version >= _UNASKED
    if effort is None and unasked:
        return Thinking(limit, asked)
    if effort is None or (effort == "none" and not unasked):
        return Thinking(limit, sends_back=False, sampling=takes_sampling)
    if effort == "none" and (off := _OFF.get((model.family, model.version))):
        return Thinking(limit, {"thinking": {"type": off}}, sends_back=off != "disabled")
    return Thinking(limit, {**asked, "output_config": {"effort": _level(effort, model)}})


def _level(effort: ReasoningEffort, model: Claude) -> str:
    if effort in {"none", "minimal"}:
        return "low"
    knows_xhigh = _NO_SAMPLING <= model.version < _UNKNOWN
    return "max" if effort == "xhigh" and not knows_xhigh else effort


def _budget(effort: ReasoningEffort, limit: int, ceiling: int) -> tuple[int, int]:
    """Tokens for thinking (0: there is no room), and the limit of the answer with them."""
    wanted = _BUDGETS[effort]
    if limit < 2 * wanted:
        limit = min(limit + wanted, ceiling)
    budget = max(_LEAST_BUDGET, min(wanted, limit // 2))
    return (budget if budget < limit else 0), limit


def _may_think(messages: Sequence[Message], choice: ModelChoice) -> bool:
    """With a fixed budget, a model that is given tool results must find its thinking before the calls."""
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    return last is None or not last.get("tool_calls") or bool(choice.wrote(last))


def _limit(request: ModelRequest, choice: ModelChoice) -> int:
    limit = request.max_tokens or choice.facts.max_output or _USUAL_LIMIT
    return min(limit, _window(choice) or limit)


def _ceiling(limit: int, choice: ModelChoice) -> int:
    most = choice.facts.max_output or limit
    return max(limit, min(most, _window(choice) or most))


def _window(choice: ModelChoice) -> int | None:
    return choice.context_length or choice.facts.context_length


# Messages as the Messages protocol takes them: a system prompt in blocks, then user and assistant in turn.
# The same messages always become the same blocks, and more messages only add blocks at the end: adjacent user
# messages (tool results are user messages here) become one, and between two of the assistant's stands a short one of
# the user's. Source: platform.claude.com/docs/en/api/messages.

Block = dict[str, Any]
Items = Sequence[dict[str, object]]

AFTER_TEXT, AFTER_CALLS = "after_text", "after_calls"
"""Where a sealed item of ours stands in its answer: after so many characters of text and so many calls.

The API wants each answer back in the order in which it gave it. These keys are taken out before anything is sent."""

_MARKED_MESSAGES = 3
_UNMARKED = {"thinking", "redacted_thinking"}
_GO_ON: Block = {"role": "user", "content": [{"type": "text", "text": "Go on."}]}


def in_turn(messages: Sequence[Message], sealed: Callable[[Message], Items]) -> tuple[list[Block], list[Block]]:
    """The blocks of the system prompt, and the messages.

    Args:
        sealed: the items of an answer that go back to the model.
    """
    first = next((at for at, message in enumerate(messages) if message["role"] != "system"), len(messages))
    system = [block for message in messages[:first] for block in _content(message["content"])]
    sent: list[Block] = []
    results: list[Block] = []
    others: list[Block] = []
    for message in messages[first:]:
        if message["role"] == "tool":
            results.append(_result(message))
        elif message["role"] != "assistant":
            others += _content(message["content"])
        elif blocks := _answer(message, sealed(message)):
            # Results come before all else in a message. Two answers need something between them, and a conversation
            # begins with the user's side.
            between = [*results, *others]
            sent.append({"role": "user", "content": between} if between else _GO_ON)
            sent.append({"role": "assistant", "content": blocks})
            results, others = [], []
    # Newer models refuse to continue an answer of their own, and no conversation may be empty.
    sent.append({"role": "user", "content": [*results, *others]} if results or others else _GO_ON)
    return system, sent


def mark(system: list[Block], messages: list[Block], ttl: CacheTtl) -> None:
    """Ask the server to keep the prefix up to the system prompt's end and up to each of the last three messages."""
    marker = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
    if system:
        system[-1] = {**system[-1], "cache_control": marker}
    marked = 0
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        blocks = message["content"]
        at = next((at for at in range(len(blocks) - 1, -1, -1) if blocks[at]["type"] not in _UNMARKED), None)
        if at is not None:
            marked_blocks = [*blocks[:at], {**blocks[at], "cache_control": marker}, *blocks[at + 1 :]]
            messages[place] = {**message, "content": marked_blocks}
            marked += 1
        if marked == _MARKED_MESSAGES:
            return


def _answer(message: Message, items: Items) -> list[Block]:
    text, calls = text_of(message["content"]), message.get("tool_calls", [])
    blocks: list[Block] = []
    text_at = calls_at = 0
    for item in items:
        text_to, calls_to = _place(item, AFTER_TEXT), _place(item, AFTER_CALLS)
        blocks += [*_texts(text[text_at:text_to]), *map(_call, calls[calls_at:calls_to])]
        text_at, calls_at = max(text_at, text_to), max(calls_at, calls_to)
        blocks.append({key: value for key, value in item.items() if key not in {AFTER_TEXT, AFTER_CALLS}})
    return [*blocks, *_texts(text[text_at:]), *map(_call, calls[calls_at:])]


def _place(item: dict[str, object], key: str) -> int:
    value = item.get(key, 0)
    return value if isinstance(value, int) else 0


def _call(call: ToolCall) -> Block:
    function = call["function"]
    name = fitting_name(function["name"])
    return {"type": "tool_use", "id": fitting_id(call["id"]), "name": name, "input": _input(function["arguments"])}


def _finite(number: str) -> float:
    """What Python reads as a number may be none in JSON."""
    if not math.isfinite(value := float(number)):
        raise ValueError(number)
    return value


_READ = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_finite).decode


def _input(arguments: str) -> dict[str, Any]:
    try:
        value = _READ(arguments)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _result(message: Message) -> Block:
    result: Block = {"type": "tool_result", "tool_use_id": fitting_id(message.get("tool_call_id", ""))}
    content = message["content"]
    if said := content if isinstance(content, str) and content.strip() else _content(content):
        result["content"] = said
    return result


def _content(content: Content | None) -> list[Block]:
    if content is None or isinstance(content, str):
        return _texts(content or "")
    return [block for part in content for block in _part(part)]


def _part(part: Any) -> list[Block]:
    match part["type"]:
        case "text":
            return _texts(part["text"])
        case "image_url":
            return [{"type": "image", "source": _source(part["image_url"]["url"])}]
        case "file":
            file = part["file"]
            return [{"type": "document", "source": _source(file["file_data"]), "title": file["filename"]}]
    return []


def _source(url: str) -> Block:
    if not url.startswith("data:"):
        return {"type": "url", "url": url}
    head, _, data = url.removeprefix("data:").partition(",")
    return {"type": "base64", "media_type": head.partition(";")[0], "data": data}


def _texts(text: str) -> list[Block]:
    # A block of nothing but white space is refused.
    return [{"type": "text", "text": text}] if text.strip() else []


# Reads an answer of the Messages protocol, event by event.
# Source: platform.claude.com/docs/en/build-with-claude/streaming.

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


# The Messages protocol, streamed: Anthropic and every server that speaks like it.
# Source: platform.claude.com/docs/en/api/messages.

# The one that every server knows; a newer one can be set in the headers of a provider's settings.
_VERSION = "2023-06-01"
_HOTTEST = 1.0


def _headers(choice: ModelChoice) -> Mapping[str, str]:
    return {"anthropic-version": _VERSION, **key_header(choice)}


def _encode(request: ModelRequest, choice: ModelChoice) -> dict[str, Any]:
    plan = thinking(request, choice)
    sealed = choice.wrote if plan.sends_back else lambda _: ()
    system, messages = in_turn(fitting(request.messages, choice), sealed)
    if request.cache_ttl is not None:
        mark(system, messages, request.cache_ttl)
    body: dict[str, Any] = {"model": request.model, "max_tokens": plan.max_tokens, "stream": True}
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [*map(_tool, request.tools)]
    if request.temperature is not None and plan.sampling:
        body["temperature"] = min(request.temperature, _HOTTEST)
    return {**body, **plan.fields, "messages": messages}


def _tool(definition: Mapping[str, Any]) -> Block:
    function = definition["function"]
    tool = {"name": function["name"], "input_schema": function.get("parameters") or {"type": "object"}}
    return tool | ({"description": function["description"]} if function.get("description") else {})


ANTHROPIC_MESSAGES = WireProtocol("Anthropic Messages", "/messages", _headers, _encode, MessagesDecoder, root="/v1")
