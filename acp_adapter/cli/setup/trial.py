"""Asks a model one short question, to see whether the settings are right before they are written."""

from __future__ import annotations

from acp_adapter.cli.asking import ask
from agent_core.messages import user_message
from agent_core.providers.base import ModelRequest
from agent_core.providers.choice import ModelChoice

TRIAL_SECONDS = 60.0
_LONGEST_ANSWER = 64


def try_model(choice: ModelChoice, *, seconds: float = TRIAL_SECONDS) -> str:
    """Why the model does not answer, and what to do; '' if it does."""
    request = ModelRequest(
        choice.model,
        [user_message("Answer with the single word: ready")],
        max_tokens=_LONGEST_ANSWER,
        cache_ttl=None,
    )
    asked = ask(choice, request, seconds)
    if asked.error is not None:
        return asked.error.public
    if asked.ended:
        return ""
    return f"{choice.name} did not answer within {seconds:g} s. Try again, or choose another model."
