"""What the person has answered for the rest of a session: exactly as far as the answer said, nothing wider."""

from __future__ import annotations

import threading
from typing import Protocol

from tools.approval.actions import Action
from tools.approval.scopes import Grant, SameThing, same_thing


class PastAnswers(Protocol):
    """Where answers are kept that reach beyond once; safe to use from several threads."""

    def allow(self, grant: Grant) -> None:
        """From now on `grant` is allowed."""
        ...

    def refuse(self, action: Action) -> None:
        """From now on the same thing as `action` is refused."""
        ...

    def allows(self, action: Action, *, is_risky: bool) -> bool:
        """True when an earlier yes reaches this. `is_risky`: the path is sensitive, or the command dangerous."""
        ...

    def refuses(self, action: Action) -> bool:
        """True when an earlier no was for this same thing."""
        ...


class Grants:
    """The answers of one session, in memory. Implements `PastAnswers`."""

    def __init__(self) -> None:
        self._allowed: dict[Grant, None] = {}
        self._refused: set[SameThing] = set()
        self._lock = threading.Lock()

    def allow(self, grant: Grant) -> None:
        """As in `PastAnswers`."""
        with self._lock:
            self._allowed[grant] = None

    def refuse(self, action: Action) -> None:
        """As in `PastAnswers`; what is asked anew each time is not refused for ever."""
        same = same_thing(action)
        if same is not None:
            with self._lock:
                self._refused.add(same)

    def allows(self, action: Action, *, is_risky: bool) -> bool:
        """As in `PastAnswers`."""
        with self._lock:
            allowed = tuple(self._allowed)
        return any(grant.covers(action, is_risky=is_risky) for grant in allowed)

    def refuses(self, action: Action) -> bool:
        """As in `PastAnswers`."""
        with self._lock:
            return same_thing(action) in self._refused
