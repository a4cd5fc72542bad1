"""The config options and permission modes that a session offers."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acp_adapter.capabilities import ClientCapabilities
from agent_core.errors import RequestError
from agent_core.providers.available_models import (
    OfferedModel,
    OfferedModels,
    OfferedProvider,
    PresentModel,
    present_model,
    shortened,
    with_model,
)
from agent_core.providers.resolve import available_efforts
from agent_core.settings.options import Choice, ChoiceGroup, Option

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.providers.base import ReasoningEffort
    from agent_core.settings.options import SessionChoices
    from tools.approval.policy import Mode


# Permission modes, as ACP modes and as choices of the option `mode`.

MODES: Mapping[Mode, Choice] = {
    "plan": Choice(
        "plan", "Plan first", "Nothing is changed: the agent reads, and ends with a plan for you to approve."
    ),
    "default": Choice(
        "default", "Ask before edits", "Edits and risky commands are shown first and wait for your answer."
    ),
    "accept_edits": Choice(
        "accept_edits", "Accept edits", "Files of the session are edited without asking; risky commands ask."
    ),
    "dont_ask": Choice(
        "dont_ask", "Run everything without asking", "Edits and commands run at once, risky ones too."
    ),
}
"""The most careful one first."""


def mode_state(current: Mode) -> dict[str, Any]:
    """ACP `SessionModeState`."""
    available = [{"id": mode, "name": each.name, "description": each.description} for mode, each in MODES.items()]
    return {"currentModeId": current, "availableModes": available}


def parse_mode(value: object) -> Mode:
    """The mode of that id.

    Raises:
        RequestError: there is none.
    """
    for mode in MODES:
        if value == mode:
            return mode
    raise RequestError(f"There is no mode {str(value)[:40]!r}. Choose one of: {', '.join(MODES)}.")


# The option `model`: the models of every provider that is set up, grouped by provider.

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


# The complete list with its present values, the weightiest first.

MODE, EFFORT, EDITS, THOUGHTS, EDITOR_TERMINALS = "mode", "thought_level", "edits", "thoughts", "editor_terminals"
AS_CONFIGURED = "settings"
"""The value of `thought_level` that leaves it to the settings."""

EDIT_POLICIES = (
    Choice("mode", "Edits: as the mode says", "The permission mode decides whether an edit is asked about."),
    Choice("ask", "Edits: show every one first", "Each edit waits for your answer, in every mode."),
)
_EFFORT_NAMES: dict[ReasoningEffort, tuple[str, str]] = {
    "none": ("Thinking: off", "Answers at once."),
    "minimal": ("Thinking: minimal", "Hardly thinks."),
    "low": ("Thinking: low", "Thinks little: quick and cheap."),
    "medium": ("Thinking: medium", "Thinks for a while."),
    "high": ("Thinking: high", "Thinks long."),
    "xhigh": ("Thinking: highest", "Thinks as long as it can: slow and dear."),
}


def offered_options(
    choices: SessionChoices,
    config: Configuration,
    known: OfferedModels,
    client: ClientCapabilities,
    used: str = "",
    *,
    everything: bool = False,
) -> tuple[Option, ...]:
    """Every option of a session. No value is ever one that is not among its choices.

    Args:
        choices: what was chosen for the session.
        known: the models that can be chosen; the present one is added.
        client: what can have no effect with this client is left out.
        used: provider:model that the session used last; '' before its first turn.
        everything: all models, however many; else as many as are shown in a list.
    """
    present = present_model(config, choices.model, used)
    options = (
        Option(
            MODE, "Permissions", "When the agent asks before it acts.", "mode", choices.mode, tuple(MODES.values())
        ),
        model_option(present, known, everything=everything),
        _effort_option(choices, config, present),
        Option(EDITS, "Edits", "Whether edits are shown before they are made.", "", choices.edits, EDIT_POLICIES),
        Option(THOUGHTS, "Show thinking", "Show the model's reasoning.", "", choices.thoughts),
        _terminals_option(choices, client),
    )
    return tuple(option for option in options if option is not None)


def _effort_option(choices: SessionChoices, config: Configuration, present: PresentModel) -> Option | None:
    efforts = () if present.choice is None else available_efforts(present.choice)
    if len(efforts) < 2:  # noqa: PLR2004 - of one there is nothing to choose
        return None
    configured = config.settings.agent.reasoning_effort
    own = f"agent.reasoning_effort is {configured}." if configured else "It is left to the model's server."
    levels = (
        Choice(AS_CONFIGURED, "Thinking: as in the settings", own),
        *(Choice(each, *_EFFORT_NAMES[each]) for each in efforts),
    )
    value = choices.effort if choices.effort in efforts else AS_CONFIGURED
    return Option(EFFORT, "Thinking", "How much the model thinks.", "thought_level", value or AS_CONFIGURED, levels)


def _terminals_option(choices: SessionChoices, client: ClientCapabilities) -> Option | None:
    if not client.terminals:
        return None
    text = "Run commands in the editor's own terminals."
    return Option(EDITOR_TERMINALS, "Editor terminals", text, "", choices.editor_terminals)


# Options as ACP config options (ACP v1, session config options).

Json = dict[str, Any]


def option_list(options: Sequence[Option], client: ClientCapabilities) -> list[Json]:
    """The complete list, in its order; switches only for a client that shows them."""
    shown = (option for option in options if client.boolean_options or not isinstance(option.value, bool))
    return [_option(option) for option in shown]


def _option(option: Option) -> Json:
    named: Json = {"id": option.id, "name": option.name}
    if option.description:
        named["description"] = option.description
    if option.category:
        named["category"] = option.category
    if isinstance(option.value, bool):
        return {**named, "type": "boolean", "currentValue": option.value}
    grouped = [
        {"group": group.id, "name": group.name, "options": [_choice(choice) for choice in group.choices]}
        for group in option.groups
    ]
    flat = [_choice(choice) for choice in option.choices]
    return {**named, "type": "select", "currentValue": option.value, "options": grouped or flat}


def _choice(choice: Choice) -> Json:
    more = {"description": choice.description} if choice.description else {}
    return {"value": choice.value, "name": choice.name, **more}
