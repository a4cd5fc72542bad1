"""How much OpenAI's reasoning models can be told to think, by the model's name.

Source: the description of `reasoning.effort` in OpenAI's API reference and the models' pages (developers.openai.com).
"""

from __future__ import annotations

import re

from agent_core.providers.base import ReasoningEffort

_SCALE: tuple[ReasoningEffort, ...] = ("none", "minimal", "low", "medium", "high", "xhigh")
_USUAL: tuple[ReasoningEffort, ...] = ("low", "medium", "high")
_NAME = re.compile(r"(?P<series>o\d|gpt-(?P<major>[3-9])(?:\.(?P<minor>\d+))?)(?P<variant>$|o?(?=[-:]|$).*)")


def efforts_of(model: str) -> tuple[ReasoningEffort, ...] | None:
    """What the model takes, least first: nothing if it does not reason; None if the name is none of OpenAI's."""
    name = _NAME.match(model.rpartition("/")[2])
    if name is None:
        return None
    if name["major"] is None:
        return _USUAL
    version, variant = (int(name["major"]), int(name["minor"] or 0)), name["variant"]
    if version < (5, 0):
        return ()
    if version == (5, 0):
        return _of_the_first_gpt_5(variant)
    if variant.startswith("-chat"):
        return ("medium",)
    least: tuple[ReasoningEffort, ...] = () if "codex" in variant else ("none",)
    most: tuple[ReasoningEffort, ...] = ("xhigh",) if version > (5, 1) or "codex-max" in variant else ()
    return (*least, *_USUAL, *most)


def nearest_effort(model: str, wanted: ReasoningEffort) -> ReasoningEffort:
    """`wanted`, or what this model has instead: the next higher effort, else its highest."""
    known = efforts_of(model)
    if not known or wanted in known:
        return wanted
    rank = _SCALE.index(wanted)
    return next((effort for effort in known if _SCALE.index(effort) > rank), known[-1])


def _of_the_first_gpt_5(variant: str) -> tuple[ReasoningEffort, ...]:
    if variant.startswith("-chat"):
        return ()
    if variant.startswith("-pro"):
        return ("high",)
    return _USUAL if "codex" in variant else ("minimal", *_USUAL)
