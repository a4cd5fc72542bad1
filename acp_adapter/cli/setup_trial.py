"""Asks a model one short question, to see whether the settings are right before they are written."""

from __future__ import annotations

import threading

from agent_core.errors import HermesError
from agent_core.messages import user_message
from agent_core.providers.base import Finished, ModelRequest
from agent_core.providers.choice import ModelChoice
from agent_core.providers.make import make_provider

TRIAL_SECONDS = 60.0
_LONGEST_ANSWER = 64


def try_model(choice: ModelChoice, *, seconds: float = TRIAL_SECONDS) -> str:
    """Why the model does not answer, and what to do; '' if it does."""
    try:
        provider = make_provider(choice)
    except HermesError as problem:
        return problem.public
    request = ModelRequest(
        choice.model,
        [user_message("Answer with the single word: ready")],
        max_tokens=_LONGEST_ANSWER,
        cache_ttl=None,
    )
    stream = provider.stream(request)
    late = threading.Event()

    def give_up() -> None:
        late.set()
        stream.close()

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    problem_text = f"{choice.name} did not answer within {seconds:g} s. Try again, or choose another model."
    try:
        ended = any(isinstance(event, Finished) for event in stream)
    except HermesError as problem:
        return problem_text if late.is_set() else problem.public
    finally:
        timer.cancel()
        stream.close()
        provider.close()
    # An answer that was given up may look like one that ended.
    return "" if ended and not late.is_set() else problem_text
