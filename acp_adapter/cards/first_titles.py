"""Cards of clients that keep the first title: they are not made before the title says what the call is about."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping

from acp_adapter.cards.looks import look_of

LONGEST_HOLD = 0.3
"""Seconds that a card is held; then it is made with the name of its tool alone, so that the person sees it coming."""

_LONGEST_BEGINNING = 64 * 1024

Hold = Callable[[Callable[[], None]], Callable[[], None]]
"""Calls a function when a card has been held for long enough, on any thread; what it returns takes that back."""


def for_a_moment(show: Callable[[], None]) -> Callable[[], None]:
    """Hold a card for as long as is right for a person."""
    timer = threading.Timer(LONGEST_HOLD, show)
    timer.daemon = True
    timer.start()
    return timer.cancel


class HeldCall:
    """A tool call that the model is writing, and whose card is held.

    Attributes:
        arguments: those that its title needs, once they are known.
        forget: takes back the call of `Hold`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.forget: Callable[[], None] = lambda: None
        self.arguments: Mapping[str, str] = {}
        self._key = look_of(name).named_by
        self._written = ""

    def is_named_by(self, more: str) -> bool:
        """Whether its title is known, now that the model has written `more` of its arguments."""
        if not self._key or self.arguments or len(self._written) > _LONGEST_BEGINNING:
            return bool(self.arguments)
        self._written += more
        value = _text_of(self._key, self._written)
        if value:
            self.arguments = {self._key: value}
        return bool(value)


def _text_of(key: str, beginning: str) -> str:
    """The text that JSON, of which this is the beginning, has for a key; '' where it is not there, or not whole."""
    found = re.search(rf'"{key}"\s*:\s*("(?:[^"\\]|\\.)*")', beginning)
    if found is None:
        return ""
    try:
        return str(json.loads(found[1]))
    except ValueError:
        return ""
