"""Keeps a session from being compressed again and again for nothing."""

from __future__ import annotations

from agent_core.context.engine import CompressionRequest

_LEAST_GAIN = 0.10
_GROWTH = 1.10
_PASSES = 2
_HALTED = (
    "Compressing gains almost nothing any more ({before:,} → {after:,} tokens), so it is not done by itself from now "
    "on. Start a new session, or choose a model with a larger window; /compact still works."
)


class Effort:
    """How much the last compressions have gained.

    A pass that gained little is not repeated before the history has grown; after two in a row it is over, until one
    gains more or another model is asked.
    """

    def __init__(self) -> None:
        self._idle = 0
        self._size = 0
        self.halted = ""

    def is_worth(self, tokens: int) -> bool:
        """Whether a request of so many tokens should be compressed ahead."""
        return not self.halted and (not self._idle or tokens >= _GROWTH * self._size)

    def see(self, request: CompressionRequest, after: int) -> bool:
        """What a pass came to, in tokens of the whole request; whether it should be used."""
        before = request.use.tokens
        if before and (before - after) / before >= _LEAST_GAIN:
            self._idle, self.halted = 0, ""
            return True
        if request.reason != "preflight":
            return after < before
        self._idle, self._size = self._idle + 1, before
        if self._idle < _PASSES:
            return False
        self.halted = _HALTED.format(before=before, after=after)
        # Used although it gains little: with it goes the word to the person.
        return after < before
