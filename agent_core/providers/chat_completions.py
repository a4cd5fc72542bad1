"""The Chat Completions protocol, streamed: messages, and what a server wants back with them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from agent_core.errors import ProviderProtocolError
from agent_core.messages import Content, Message, ToolCall, text_of
from agent_core.providers.base import (
    CacheTtl,
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
    fitting,
    fitting_name,
    id_of_nine,
    key_header,
    nearest_effort,
    token_count,
    usual_id,
)
from agent_core.providers.transport_errors import decoded, reported_error

# What a Chat Completions server sends with an answer's text and wants back with it: reasoning and signatures.
# Each server has a field of its own for them, and many refuse fields that they do not know. So what came is kept with
# the answer by the name of its field, and goes back to the server and model that gave it, to no other. Where nothing
# was given (another model wrote the answer, say) models that insist get the placeholder that their maker documents.

Fields = dict[str, Any]

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""Where servers write reasoning as text: DeepSeek and most others, OpenRouter and vLLM, GitHub Copilot."""

SEALED_FIELDS = ("reasoning_details", "thinking_blocks", "reasoning_opaque", "extra_content")
"""Where they write what only they understand: OpenRouter, LiteLLM (Claude's blocks), GitHub Copilot, Google."""

CALL_FIELDS = ("extra_content", "provider_specific_fields")
"""Where they write it in a tool call: Google and those who pass it on, LiteLLM."""

NO_REASONING = " "
"""In place of reasoning that is not there: servers that insist on it refuse '' as well."""

# https://ai.google.dev/gemini-api/docs/thought-signatures: for calls that Gemini has not made itself.
NO_SIGNATURE: Fields = {"google": {"thought_signature": "skip_thought_signature_validator"}}

# LiteLLM hides Gemini's signature in the call's id, for clients that keep nothing else; ids are shortened here.
_IN_ID = "__thought__"
_LISTS = ("reasoning_details", "thinking_blocks")
_TEXTS = ("text", "summary", "thinking")
_WORDS = frozenset({"role", "content", "refusal", "tool_calls"})


class GivenFields:
    """Gathers what one answer's deltas hold apart from its text."""

    __slots__ = ("_sealed", "_text_field")

    def __init__(self) -> None:
        self._text_field = ""
        self._sealed: Fields = {}

    def see(self, delta: Mapping[str, Any]) -> None:
        """Take the fields of one delta; what belongs to a call is `of_call`'s."""
        if delta.keys() <= _WORDS:
            return
        if not self._text_field:
            self._text_field = next((name for name in REASONING_FIELDS if delta.get(name)), "")
        for name in SEALED_FIELDS:
            match delta.get(name):
                case list(pieces) if name in _LISTS:
                    known = self._sealed.setdefault(name, [])
                    for piece in pieces:
                        _add_piece(known, dict(piece))
                case str(text) if text:
                    self._sealed[name] = text
                case dict(found) if found:
                    self._sealed[name] = {**self._sealed.get(name, {}), **found}

    def items(self) -> list[ProviderItem]:
        """All of it, once; nothing where nothing was given."""
        field, sealed = self._text_field, self._sealed
        self._text_field, self._sealed = "", {}
        items = [ProviderItem({"reasoning_in": field})] if field else []
        return [*items, ProviderItem({"fields": sealed})] if sealed else items


def of_call(index: int, call: Mapping[str, Any]) -> list[ProviderItem]:
    """What a delta adds to a tool call."""
    found: Fields = {}
    for name in CALL_FIELDS:
        if given := call.get(name):
            found[name] = given
    inside = (call.get("function") or {}).get("provider_specific_fields")
    if "provider_specific_fields" not in found and (inside := inside or _signature_in(str(call.get("id") or ""))):
        found["provider_specific_fields"] = inside
    return [ProviderItem({"fields": found}, index)] if found else []


def given_back(message: Message, sent: Mapping[str, Any], choice: ModelChoice) -> Fields:
    """The fields that an answer goes back with.

    Args:
        sent: the answer in the protocol's form, without them.
    """
    demand = choice.dialect.reasoning_back
    if demand == "none":
        return {}
    items = choice.wrote(message)
    fields = _of_message(message, items)
    if demand == "reasoning_content" and ("reasoning" in message or "tool_calls" in message):
        has_text = any(name in fields for name in REASONING_FIELDS)
        fields |= {} if has_text else {"reasoning_content": NO_REASONING}
    calls = sent.get("tool_calls")
    if calls:
        signed = _signed(calls, message, items, is_due=demand == "thought_signature")
        fields |= {} if signed is None else {"tool_calls": signed}
    return fields


def _of_message(message: Message, items: Iterable[Mapping[str, Any]]) -> Fields:
    fields: Fields = {}
    field = ""
    for item in items:
        if "reasoning_in" in item:
            field = item["reasoning_in"]
        elif "fields" in item and "call" not in item:
            fields |= item["fields"]
    # The lists hold the same text.
    if field and "reasoning" in message and not any(name in fields for name in _LISTS):
        fields[field] = message["reasoning"]
    return fields


def _signed(
    calls: Sequence[Mapping[str, Any]], message: Message, items: Iterable[Mapping[str, Any]], *, is_due: bool
) -> list[Fields] | None:
    """The calls with what was given with them; None where there is nothing.

    Google signs the first call of an answer only, and looks for no more.
    """
    places: dict[Any, int] = {call["id"]: place for place, call in enumerate(message.get("tool_calls", ()))}
    signed = [dict(call) for call in calls]
    known = False
    for item in items:
        if (place := places.get(item.get("call"))) is not None:
            signed[place] |= item["fields"]
            known = True
    if is_due and not known:
        signed[0]["extra_content"] = NO_SIGNATURE
    return signed if known or is_due else None


def _add_piece(known: list[Fields], piece: Fields) -> None:
    """Put a piece of a list to those before it: texts that go on are one.

    OpenRouter numbers its pieces (https://openrouter.ai/docs/guides/best-practices/reasoning-tokens); where a server
    does not, a piece continues the last one. A signature ends what it signs.
    """
    before = _goes_on(known, piece)
    if before is None:
        if piece not in known:
            known.append(piece)
        return
    for name, value in piece.items():
        if name in _TEXTS and isinstance(value, str):
            before[name] = (before.get(name) or "") + value
        elif value is not None:
            before[name] = value


def _goes_on(known: Sequence[Fields], piece: Fields) -> Fields | None:
    if not any(name in piece for name in (*_TEXTS, "signature")):
        return None
    if piece.get("index") is None:
        last = known[-1] if known else {}
        return last if last.get("type") == piece.get("type") and not last.get("signature") else None
    same = (each for each in known if (each.get("index"), each.get("type")) == (piece["index"], piece.get("type")))
    return next(same, None)


def _signature_in(call_id: str) -> Fields | None:
    _, found, text = call_id.partition(_IN_ID)
    try:
        return {"thought_signature": base64.urlsafe_b64decode(text).decode()} if found and text else None
    except ValueError:
        return None


# Messages in the form that Chat Completions servers take: only fields the protocol knows.

_MARKED_MESSAGES = 3
_BETWEEN = "Before I go on, I look at what comes next."

Marker = dict[str, str]


def to_wire(request: ModelRequest, choice: ModelChoice) -> list[Fields]:
    """The request's messages without what is only ours; earlier reasoning where this server wants it back."""
    ttl = request.cache_ttl if choice.dialect.cache_markers else None
    wire = [_message(message, choice, ttl) for message in fitting(request.messages, choice)]
    if choice.dialect.nine_in_ids:
        wire = _in_mistrals_order(wire)
    if ttl is not None:
        _mark_last(wire, _marker(ttl))
    return wire


def _in_mistrals_order(messages: Sequence[Fields]) -> list[Fields]:
    """The messages as Mistral takes them: it refuses a user's right behind a tool's.

    Its error 3230 says so (https://github.com/BerriAI/litellm/issues/17761). Such a pair comes from words for a
    running turn, from images of results, and from a turn that ended with results. What is put between depends on the
    two alone, so that every later request begins as this one does. The person's words stay a message of their own:
    within a result they would look like a tool's, and a tool could write such ones.
    """
    ordered: list[Fields] = []
    for message in messages:
        if ordered and ordered[-1]["role"] == "tool" and message["role"] == "user":
            ordered.append({"role": "assistant", "content": _BETWEEN})
        ordered.append(message)
    return ordered


def _message(message: Message, choice: ModelChoice, ttl: CacheTtl | None) -> Fields:
    role, content, dialect = message["role"], _plain(message["content"]), choice.dialect
    identify = id_of_nine if dialect.nine_in_ids else usual_id
    if role == "tool":
        return {"role": role, "tool_call_id": identify(message.get("tool_call_id", "")), "content": content}
    sent: dict[str, Any] = {"role": role, "content": content}
    if role == "assistant":
        if "tool_calls" in message:
            sent["tool_calls"] = [_call(call, identify) for call in message["tool_calls"]]
        sent.update(given_back(message, sent, choice))
    elif role == "system":
        if dialect.developer_role:
            sent["role"] = "developer"
        if ttl is not None:
            sent = _marked(sent, _marker(ttl))
    return sent


def _call(call: ToolCall, identify: Callable[[str], str]) -> dict[str, Any]:
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    function = {"name": fitting_name(name), "arguments": arguments}
    return {"id": identify(call["id"]), "type": "function", "function": function}


def _plain(content: Content | None) -> Content | None:
    """Nothing but texts as one text: servers that take neither images nor documents may take no parts at all."""
    if not isinstance(content, list) or any(part["type"] != "text" for part in content):
        return content
    return text_of(content)


def _mark_last(wire: list[Fields], marker: Marker) -> None:
    """Mark the last messages; the system prompt is marked already."""
    carriers = (at for at in range(len(wire) - 1, -1, -1) if wire[at]["role"] != "system" and wire[at].get("content"))
    for at in islice(carriers, _MARKED_MESSAGES):
        wire[at] = _marked(wire[at], marker)


def _marked(message: dict[str, Any], marker: Marker) -> dict[str, Any]:
    parts = message["content"]
    if isinstance(parts, str):
        parts = [{"type": "text", "text": parts}]
    return {**message, "content": [*parts[:-1], {**parts[-1], "cache_control": marker}]}


def _marker(ttl: CacheTtl) -> Marker:
    return {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}


# The Chat Completions protocol, streamed: OpenAI and every server that speaks like it.


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
        if (usage := payload.get("usage")) and (counts := counts_of(usage)):
            events.append(UsageReport(_usage(counts)))
        return events


def _encode(request: ModelRequest, choice: ModelChoice) -> dict[str, Any]:
    dialect = choice.dialect
    body: dict[str, Any] = {"model": request.model, "messages": to_wire(request, choice), "stream": True}
    if dialect.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = request.tools
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
    if reasoning := next(filter(None, map(delta.get, REASONING_FIELDS)), None):
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
    for value in values:
        if (count := token_count(value)) is not None:
            return count
    return None
