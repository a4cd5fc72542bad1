"""What is known of hosted models: figures of the shipped data, each with its source; whatever it lacks is unknown.

`scripts/model_facts.py` writes the data. A service's are read at the first lookup, in about a millisecond.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_core.providers.choice import ModelFacts

_DATA = Path(__file__).with_name("model_facts.json")
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
    data = _DATA.read_bytes()
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
