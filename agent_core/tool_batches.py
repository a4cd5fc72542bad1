"""Which tool calls of one answer may run at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.registry import Parallel


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """What planning needs of a call: its tool's classification and the path it works on, if it has one."""

    parallel: Parallel
    path: Path | None


def plan_batches(calls: Sequence[PlannedCall], largest: int = 8) -> list[list[int]]:
    """Split calls, in order, into batches of positions; the calls of a batch may run side by side.

    A call joins the batch before it unless one of the two is «never» parallel, or one of them changes a path that
    the other works on, above or below.
    """
    batches: list[list[int]] = []
    for position, call in enumerate(calls):
        current = batches[-1] if batches else []
        if current and len(current) < largest and all(_compatible(calls[other], call) for other in current):
            current.append(position)
        else:
            batches.append([position])
    return batches


def _compatible(one: PlannedCall, other: PlannedCall) -> bool:
    if "never" in (one.parallel, other.parallel):
        return False
    if "paths" not in (one.parallel, other.parallel):
        return True
    if one.path is None or other.path is None:
        return False
    return not (one.path == other.path or one.path in other.path.parents or other.path in one.path.parents)
