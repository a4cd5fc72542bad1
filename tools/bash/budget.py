"""How much may be read of a command before it counts as unreadable."""

from __future__ import annotations

MAX_CHARS = 1 << 16
MAX_DEPTH = 24
MAX_INVOCATIONS = 400
MAX_WORDS = 4000
MAX_EXPANDED = 64
MAX_VALUES = 16
MAX_TEXT = 1 << 17
_STEPS = 60_000


class TooMuch(Exception):
    """The command is longer, deeper or more tangled than anybody writes it."""


class Budget:
    """Steps that are left for one reading, shared by all its nested texts."""

    def __init__(self, steps: int = _STEPS) -> None:
        self._left = steps

    def spend(self, steps: int = 1) -> None:
        """Take steps off.

        Raises:
            TooMuch: none are left.
        """
        self._left -= steps
        if self._left < 0:
            raise TooMuch


def check_depth(depth: int) -> None:
    """Raise `TooMuch` where texts are nested too deeply."""
    if depth > MAX_DEPTH:
        raise TooMuch
