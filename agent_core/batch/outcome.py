"""What came of one prompt of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from tools.light_dataclass import dataclass

Status = Literal["completed", "stopped", "failed", "timed_out", "cancelled"]
"""`stopped`: at a limit or by a refusal, as `stop_reason` says; `cancelled`: by whoever ran the batch."""

FINAL: frozenset[str] = frozenset({"completed", "stopped", "failed", "timed_out"})
"""What is not tried again by itself."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an item ended.

    Attributes:
        digest: of the item, as it was asked.
        error: for a failure: what was tried, what happened, what to do.
        session_id: the stored session; '' where it did not come to one.
        cost: US dollars; None where it is not known.
        finished_at: seconds since the epoch.
        trajectory: the run as a line of JSON to train with; '' where it came to nothing.
    """

    id: str
    digest: str
    status: Status
    answer: str = ""
    stop_reason: str = ""
    error: str = ""
    session_id: str = ""
    cwd: str = ""
    model: str = ""
    seconds: float = 0.0
    api_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    finished_at: float = 0.0
    more: Mapping[str, Any] = field(default_factory=dict)
    trajectory: str = ""

    def line(self) -> dict[str, Any]:
        """What stands in `results.jsonl`."""
        names = (name for name in self.__dataclass_fields__ if name not in {"trajectory", "cost", "more"})
        return {**{name: getattr(self, name) for name in names}, "cost_usd": self.cost, "item": dict(self.more)}
