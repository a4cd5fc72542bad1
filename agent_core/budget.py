"""How many model requests one turn may make."""

from __future__ import annotations

import threading
from dataclasses import field

from tools.light_dataclass import dataclass

PROGRAMMATIC = frozenset({"execute_code"})
"""Tools whose calls are programs that call other tools: an answer of nothing else gives its request back."""

_LAST_PART = 10


@dataclass(slots=True)
class IterationBudget:
    """Counts a turn's model requests against `limit`. Safe to use from several threads."""

    limit: int
    used: int = 0
    _refunded: int = 0
    _has_warned: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def left(self) -> int:
        """Requests that may still be made."""
        return self.limit - self.used

    def spend(self) -> bool:
        """Take one request; False when none is left."""
        with self._lock:
            if self.used >= self.limit:
                return False
            self.used += 1
            return True

    def refund(self) -> bool:
        """Give a request back that was spent; False, and nothing happens, where none was, or `limit` were given back.

        So a turn ends, whatever is given back: after twice `limit` requests at the latest.
        """
        with self._lock:
            if not self.used or self._refunded >= self.limit:
                return False
            self.used -= 1
            self._refunded += 1
            return True

    def warning(self) -> str:
        """What the model is to be told once, when a tenth of the requests is left; else ''."""
        with self._lock:
            left = self.limit - self.used
            if self._has_warned or not 0 < left <= self.limit // _LAST_PART:
                return ""
            self._has_warned = True
        are = "request is" if left == 1 else "requests are"
        return (
            f"{left} of this turn's {self.limit} model {are} left. Finish what you have begun, leave nothing half "
            "changed, and tell the user what remains to be done."
        )
