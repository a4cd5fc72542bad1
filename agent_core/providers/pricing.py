"""What is known of models: windows and prices."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Any, Self

from agent_core.providers.base import CacheTtl, Usage
from agent_core.providers.choice import ModelFacts
from tools.light_dataclass import dataclass

# What is known of hosted models: figures of the shipped data, each with its source; whatever it lacks is unknown.
# `scripts/model_facts.py` writes the data. A service's are read at the first lookup, in about a millisecond.

DATA = Path(__file__).with_name("model_facts.json")
_DATED = re.compile(r"(?:-\d{4}-\d\d-\d\d|[-@]\d{8}|-latest)$")


def facts_of(service: str, model: str) -> ModelFacts:
    """What is known of `model` at the catalog's `service`; the same model at another service has its own facts.

    A name that ends with a date or with `-latest` and is not known itself has the facts of the name without it. No
    other name is like another: variants differ in price and window.
    """
    models = _models(service)
    entry = models.get(model) or models.get(_DATED.sub("", model))
    return ModelFacts() if entry is None else _facts(entry)


def known_models(service: str) -> tuple[str, ...]:
    """The names of all models of `service` that have facts, sorted."""
    return tuple(_models(service))


@functools.lru_cache(maxsize=16)
def _models(service: str) -> Mapping[str, Mapping[str, Any]]:
    # Only the services that are asked for are read, and stay in memory: each is a block of lines of its own.
    data = DATA.read_bytes()
    begin = data.find(f"\n{json.dumps(service)}: {{\n".encode())
    if begin < 0:
        return {}
    begin = data.index(b"{", begin)
    models: Mapping[str, Mapping[str, Any]] = json.loads(data[begin : data.index(b"\n}", begin) + 2])
    return models


def _facts(entry: Mapping[str, Any]) -> ModelFacts:
    return ModelFacts(
        context_length=entry.get("context"),
        max_output=entry.get("output"),
        vision=entry.get("vision"),
        audio=entry.get("audio"),
        reasoning=entry.get("reasoning"),
        input_price=entry.get("in"),
        output_price=entry.get("out"),
        cached_price=entry.get("cached"),
        written_price=entry.get("written"),
        source=entry["source"],
        priced_up_to=entry.get("upto"),
        hour_written_price=entry.get("written_1h"),
    )


# What model requests cost: dollars where every price and count is known, otherwise unknown, never a guess.

_MILLION = 1_000_000
_NOTHING = Usage(0, 0, 0, 0, 0)


def cost_of(usage: Usage, facts: ModelFacts, cache_ttl: CacheTtl = "5m") -> float | None:
    """The price of one request in US dollars; None where a count or a price that matters is unknown.

    A prompt longer than the prices are known for, and tokens that were read from or written to the cache at an
    unknown price, make the cost unknown. Where neither a price nor a count speaks of a cache, there is none.

    Args:
        usage: of one request; prices may depend on its prompt's length, so it must not be a sum.
        cache_ttl: what the request asked for; writing for an hour has a price of its own.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    # A server without a price for them need not count the tokens of its cache.
    cached = 0 if usage.cached_tokens is None and facts.cached_price is None else usage.cached_tokens
    written = 0 if usage.written_tokens is None and facts.written_price is None else usage.written_tokens
    if cached is None or written is None or (plain := usage.input_tokens - cached - written) < 0:
        return None
    if facts.priced_up_to is not None and usage.input_tokens > facts.priced_up_to:
        return None
    cost = 0.0
    for count, price in (
        (plain, facts.input_price),
        (cached, facts.cached_price),
        (written, facts.written_price if cache_ttl == "5m" else facts.hour_written_price),
        (usage.output_tokens, facts.output_price),
    ):
        if count and price is None:
            return None
        cost += count * (price or 0.0)
    return cost / _MILLION


@dataclass(frozen=True, slots=True)
class Certain:
    """What is known of some requests together: sums that one unknown figure does not make unknown.

    Attributes:
        cost: US dollars of the requests whose cost is known.
        unpriced: how many have none.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def add(self, usage: Usage, cost: float | None) -> Self:
        """With one more request."""
        return type(self)(
            self.input_tokens + (usage.input_tokens or 0),
            self.cached_tokens + (usage.cached_tokens or 0),
            self.output_tokens + (usage.output_tokens or 0),
            self.cost + (cost or 0.0),
            self.unpriced + (cost is None),
        )


@dataclass(frozen=True, slots=True)
class Spent:
    """What some requests used and cost together: of a turn, say. One unknown figure makes its sum unknown.

    Attributes:
        cost: US dollars.
        counted: what is known all the same; None where only the sums were kept.
    """

    requests: int = 0
    usage: Usage = _NOTHING
    cost: float | None = 0.0
    counted: Certain | None = field(default=None, compare=False)

    @property
    def certain(self) -> Certain:
        """What is known, though some figures may not be."""
        if self.counted is not None:
            return self.counted
        without_count = Certain(unpriced=self.requests - 1 if self.cost is None else 0)
        return without_count.add(self.usage, self.cost) if self.requests else Certain()

    def add(self, usage: Usage, cost: float | None) -> Self:
        """With one more request. One that reported nothing counts as `Usage()`."""
        sums: dict[str, int | None] = {}
        for each in fields(Usage):
            before, more = getattr(self.usage, each.name), getattr(usage, each.name)
            sums[each.name] = None if before is None or more is None else before + more
        total = None if self.cost is None or cost is None else self.cost + cost
        return type(self)(self.requests + 1, Usage(**sums), total, self.certain.add(usage, cost))
