"""How a model of the Messages protocol is asked to think. Claude's generations differ; of others only facts tell.

Source: platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting («Thinking support, defaults, and
rejected configurations by model»), .../effort and .../extended-thinking.

| Claude            | asked for by                       | thinks unasked | turned off by        | sampling |
|-------------------|------------------------------------|----------------|----------------------|----------|
| before 3.7        | –                                  | no             | –                    | yes      |
| 3.7 to 4.5        | `enabled` and a budget             | no             | leaving it out       | yes      |
| 4.6               | `adaptive` and an effort, no xhigh | no             | leaving it out       | yes      |
| 4.7, 4.8          | `adaptive` and an effort           | no             | leaving it out       | no       |
| Opus 5, Sonnet 5  | the same                           | yes            | `disabled`           | no       |
| Haiku 5.5         | the same                           | yes            | `disabled`           | no       |
| Sonnet 5.5        | the same                           | yes            | `between_tools`      | no       |
| others, and later | the same                           | yes            | nothing; effort low  | no       |
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from agent_core.messages import Message
from agent_core.providers.base import ModelRequest, ReasoningEffort
from agent_core.providers.choice import ModelChoice
from tools.light_dataclass import dataclass

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
