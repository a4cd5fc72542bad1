"""A server's answer to `GET /models`, in the forms that servers give it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from agent_core.providers.choice import ModelFacts
from tools.light_dataclass import dataclass

_WINDOWS = ("context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens")
"""The window, as OpenRouter and Together, Groq, vLLM, Mistral and Anthropic call it."""

_OTHER_TYPES = frozenset({"image", "embedding", "moderation", "rerank", "audio", "transcribe", "video"})


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model that a server offers, and what is known of it.

    Attributes:
        created: when it came to be, in seconds since the epoch, where the server says so.
        chats: whether an agent can talk to it and give it tools; None where the server does not say.
    """

    id: str
    facts: ModelFacts
    created: float | None = None
    chats: bool | None = None

    @property
    def context_length(self) -> int | None:
        """The window, in tokens."""
        return self.facts.context_length


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a server's list; `next_after` is the id after which the next part begins, None at the end."""

    models: tuple[ListedModel, ...] = ()
    next_after: str | None = None


class UnreadableList(Exception):
    """An answer is no list of models; the text says in which way."""


def read_page(body: bytes) -> Page:
    """The models in an answer, without those that have no name.

    Raises:
        UnreadableList: it is no list of models.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise UnreadableList("it is not JSON.") from problem
    entries = answer.get("data", answer.get("models")) if isinstance(answer, dict) else answer
    if not isinstance(entries, list):
        raise UnreadableList("the JSON has no list «data».")
    models = tuple(
        ListedModel(entry["id"], _facts(entry), _created(entry), _chats(entry))
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]
    )
    if entries and not models:
        raise UnreadableList("no entry of its list has an «id».")
    more = isinstance(answer, dict) and answer.get("has_more") is True and bool(models)
    return Page(models, models[-1].id if more else None)


def _facts(entry: Mapping[str, Any]) -> ModelFacts:
    window = next((value for name in _WINDOWS if (value := _count(entry.get(name)))), None)
    pricing = entry.get("pricing")
    if not isinstance(pricing, dict) or "overrides" in pricing:  # prices that change with the prompt's length
        return ModelFacts(context_length=window)
    # As OpenRouter gives them, for one token: https://openrouter.ai/docs/api-reference/list-available-models
    return ModelFacts(
        context_length=window,
        input_price=_per_million(pricing.get("prompt")),
        output_price=_per_million(pricing.get("completion")),
        cached_price=_per_million(pricing.get("input_cache_read")),
        written_price=_per_million(pricing.get("input_cache_write")),
    )


def _created(entry: Mapping[str, Any]) -> float | None:
    if seconds := _count(entry.get("created")):  # OpenAI's form
        return float(seconds)
    try:
        return datetime.fromisoformat(str(entry.get("created_at", ""))).timestamp()  # Anthropic's
    except (ValueError, OverflowError, OSError):
        return None


def _chats(entry: Mapping[str, Any]) -> bool | None:
    """What the entry says of its use, in the words of the servers that say it."""
    can, makes = entry.get("capabilities"), _part(entry, "architecture").get("output_modalities")
    takes = entry.get("supported_parameters")
    told = (
        # https://docs.mistral.ai/api/endpoint/models
        *((can.get("completion_chat"), can.get("function_calling")) if isinstance(can, dict) else ()),
        # https://openrouter.ai/docs/api-reference/list-available-models
        "text" in makes if isinstance(makes, list) else None,
        "tools" in takes if isinstance(takes, list) else None,
        # https://docs.fireworks.ai/api-reference/list-models
        entry.get("supports_chat"),
        # https://docs.together.ai/reference/models
        entry.get("type") not in _OTHER_TYPES if isinstance(entry.get("type"), str) else None,
        # https://console.groq.com/docs/models
        entry.get("active"),
    )
    if any(each is False for each in told):
        return False
    return True if any(each is True for each in told) else None


def _part(entry: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = entry.get(name)
    return part if isinstance(part, dict) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _per_million(price: object) -> float | None:
    # OpenRouter writes numbers as text; -1 stands for a price that depends on the model that it chooses.
    if not isinstance(price, str):
        return None
    try:
        value = float(price)
    except ValueError:
        return None
    return round(value * 1_000_000, 6) if math.isfinite(value) and value >= 0 else None
