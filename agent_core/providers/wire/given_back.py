"""What a Chat Completions server sends with an answer's text and wants back with it: reasoning and signatures.

Each server has a field of its own for them, and many refuse fields that they do not know. So what came is kept with
the answer by the name of its field, and goes back to the server and model that gave it, to no other. Where nothing
was given (another model wrote the answer, say) models that insist get the placeholder that their maker documents.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_core.messages import Message
from agent_core.providers.base import ProviderItem
from agent_core.providers.choice import ModelChoice

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
_WORDS = frozenset({"role", "content", "refusal"})


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
    found = {name: call[name] for name in CALL_FIELDS if call.get(name)}
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
