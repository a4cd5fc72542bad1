"""How much a model can be told to think: the efforts that make a difference to what its server is sent."""

from __future__ import annotations

import re
from typing import get_args

from agent_core.providers.base import ModelRequest, ReasoningEffort
from agent_core.providers.choice import ModelChoice
from agent_core.providers.resolution.traits import seems_to_reason

_SCALE: tuple[ReasoningEffort, ...] = get_args(ReasoningEffort)
_USUAL: tuple[ReasoningEffort, ...] = ("low", "medium", "high")
# https://ai.google.dev/gemini-api/docs/openai: 2.5 Flash can be told not to think; those before 2.5 do not think.
_GEMINI = r"gemini-(?P<major>\d+)(?:\.(?P<minor>\d+))?(?P<variant>-flash)?"
_FIRST_THINKING_GEMINI = (2, 5)
_FIRST_THINKING_CLAUDE = (3, 7)


def available_efforts(choice: ModelChoice) -> tuple[ReasoningEffort, ...]:
    """What this model takes at this server, least first; nothing if it does not think or cannot be told how much."""
    if choice.facts.reasoning is False:
        return ()
    match choice.api_mode:
        case "anthropic_messages" | "bedrock_converse":
            return _of_messages(choice)
        case "codex_responses":
            return _of_openai(choice.model)
        case "chat_completions":
            return _of_chat(choice)
    return ()


def effort_in_use(
    chosen: ReasoningEffort | None, configured: ReasoningEffort | None, choice: ModelChoice
) -> ReasoningEffort | None:
    """The effort that requests ask for.

    Args:
        chosen: by the person, for the session; it counts only where the model has it.
        configured: what the settings say; requests say the nearest that there is.
    """
    return chosen if chosen is not None and chosen in available_efforts(choice) else configured


def _of_openai(model: str) -> tuple[ReasoningEffort, ...]:
    from agent_core.providers.protocol import efforts_of  # noqa: PLC0415 - for these protocols only

    known = efforts_of(model)
    return _USUAL if known is None else known


def _of_chat(choice: ModelChoice) -> tuple[ReasoningEffort, ...]:
    if choice.dialect.effort == "none":
        return ()
    gemini = re.search(_GEMINI, choice.model)
    if gemini is not None:
        return _of_gemini(gemini)
    return _of_openrouter(choice) if choice.dialect.effort == "openrouter" else _of_openai(choice.model)


def _of_openrouter(choice: ModelChoice) -> tuple[ReasoningEffort, ...]:
    # It says each effort in the model's own words: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens
    from agent_core.providers.anthropic_messages import claude  # noqa: PLC0415 - for its users only
    from agent_core.providers.protocol import efforts_of  # noqa: PLC0415

    known = efforts_of(choice.model)
    if known is not None:
        return known
    one = claude(choice.model)
    thinks = choice.facts.reasoning or seems_to_reason(choice.model)
    return _SCALE if thinks or (one is not None and one.version >= _FIRST_THINKING_CLAUDE) else ()


def _of_gemini(name: re.Match[str]) -> tuple[ReasoningEffort, ...]:
    version = (int(name["major"]), int(name["minor"] or 0))
    if version < _FIRST_THINKING_GEMINI:
        return ()
    off: tuple[ReasoningEffort, ...] = ("none",) if version < (3, 0) and name["variant"] else ()
    return (*off, "minimal", *_USUAL)


def _of_messages(choice: ModelChoice) -> tuple[ReasoningEffort, ...]:
    """Those whose requests differ: of several that say the same, the highest gives its name to it."""
    from agent_core.providers.anthropic_messages import thinking  # noqa: PLC0415 - for this protocol only

    def asked(effort: ReasoningEffort) -> str:
        found = thinking(ModelRequest(choice.model, (), reasoning=effort), choice)
        return f"{found.max_tokens} {found.fields}"

    by_request = {asked(effort): effort for effort in _SCALE}
    return tuple(by_request.values()) if len(by_request) > 1 else ()
