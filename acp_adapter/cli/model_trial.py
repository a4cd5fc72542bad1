"""A model is asked one question, without a retry and bounded in time, to see whether it works."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from agent_core.errors import HermesError, TurnInterrupted
from agent_core.messages import user_message
from agent_core.model_request.fallback_chain import make_provider
from agent_core.providers.base import Finished, ModelRequest, StreamEvent
from agent_core.providers.choice import ModelChoice


@dataclass(frozen=True, slots=True)
class Asked:
    """What came back.

    Attributes:
        error: what the server or its address is to blame for; None where there is an answer, or time ran out.
        late: the time was over before the answer was.
        seconds: how long it took.
    """

    events: tuple[StreamEvent, ...] = ()
    error: HermesError | None = None
    late: bool = False
    seconds: float = 0.0

    @property
    def ended(self) -> bool:
        """Whether the answer is whole."""
        # One that was given up may look like one that ended.
        return not self.late and any(isinstance(event, Finished) for event in self.events)


def ask(choice: ModelChoice, request: ModelRequest, seconds: float) -> Asked:
    """Ask once, without a retry, for at most `seconds`. No failure raises."""
    begun = time.monotonic()
    try:
        provider = make_provider(choice)
    except HermesError as problem:
        return Asked(error=problem)
    stream = provider.stream(request)
    late = threading.Event()

    def give_up() -> None:
        late.set()
        stream.close()

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    events: list[StreamEvent] = []
    error: HermesError | None = None
    try:
        events.extend(stream)
    except TurnInterrupted:  # given up before it was begun
        late.set()
    except HermesError as problem:
        error = None if late.is_set() else problem
    finally:
        timer.cancel()
        stream.close()
        provider.close()
    return Asked(tuple(events), error, late.is_set(), time.monotonic() - begun)


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
