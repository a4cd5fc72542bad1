"""How many model requests one turn may make."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class IterationBudget:
    """Counts a turn's model requests against `limit`."""

    limit: int
    used: int = 0

    def spend(self) -> bool:
        """Take one request; False when none is left."""
        if self.used >= self.limit:
            return False
        self.used += 1
        return True
