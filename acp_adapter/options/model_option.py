"""The option `model`: the models of every provider that is set up, grouped by provider."""

from __future__ import annotations

import functools

from agent_core.options import Choice, ChoiceGroup, Option
from agent_core.providers.available_models import (
    OfferedModel,
    OfferedModels,
    OfferedProvider,
    PresentModel,
    shortened,
    with_model,
)

MODEL = "model"

_THOUSAND, _MILLION = 1_000, 1_000_000


def model_option(present: PresentModel, known: OfferedModels, *, everything: bool = False) -> Option | None:
    """The option with `present` as its value, which is added where the lists do not have it; None without a model.

    Args:
        everything: all known models, not only as many as a list for the editor has.
    """
    if not present.name:
        return None
    text = "Which model answers, from its next request on."
    if present.choice is None:
        text = f"The present one cannot be used now: {present.problem}"
    offered = with_model(known, present.provider, present.model)
    shown = offered if everything else shortened(offered, present.provider, present.model)
    if shown is not offered:
        text += f" Shown are {_models(shown)} of {_models(offered)} models; /model with a part of a name finds all."
    return Option(MODEL, "Model", text, "model", present.name, groups=tuple(map(_group, shown)))


def _models(offered: OfferedModels) -> str:
    return f"{sum(len(provider.models) for provider in offered):,}"


@functools.lru_cache(maxsize=32)
def _group(provider: OfferedProvider) -> ChoiceGroup:
    # Every answer about options has the whole list, which hardly ever changes.
    choices = (Choice(provider.value(model), model.name, _told(model)) for model in provider.models)
    return ChoiceGroup(provider.name, provider.title, tuple(choices))


def _told(model: OfferedModel) -> str:
    """The window, and what a million tokens in and out cost, as far as they are known."""
    window = f"{_count(model.context_length)} tokens" if model.context_length else ""
    return ", ".join(text for text in (window, _price(model)) if text)


def _price(model: OfferedModel) -> str:
    if model.input_price is None or model.output_price is None:
        return ""
    if model.input_price == 0 == model.output_price:
        return "free"
    return f"${model.input_price:g} in, ${model.output_price:g} out"


def _count(tokens: int) -> str:
    if tokens >= _MILLION:
        return f"{round(tokens / _MILLION, 1):g}M"
    return f"{round(tokens / _THOUSAND)}k" if tokens >= _THOUSAND else str(tokens)
