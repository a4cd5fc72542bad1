"""Which tool calls of one answer may run at the same time."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.light_dataclass import dataclass
from tools.registry import Parallel

_TALKING = frozenset({"clarify", "exit_plan_mode"})
"""Tools that talk with the person: an answer that calls one is done step by step, so that they see what led to it."""

Place = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """What planning needs of a call.

    Attributes:
        parallel: its tool's classification.
        paths: what it works on, symbolic links resolved. A call that changes paths and names none may change any.
    """

    name: str
    parallel: Parallel
    paths: tuple[Path, ...] = ()


def plan_batches(calls: Sequence[PlannedCall]) -> list[list[int]]:
    """Split calls, in order, into batches of positions; the calls of a batch may run side by side.

    A call joins the batch before it unless one of the two is «never» parallel, or one of them changes a path that
    the other works on, above or below. Paths that differ only in case or in how a letter is composed count as the
    same, since they are on some disks.
    """
    if any(call.name in _TALKING for call in calls):
        return [[position] for position in range(len(calls))]
    batches: list[list[int]] = []
    places = [tuple(map(_place, call.paths)) for call in calls]
    for position, call in enumerate(calls):
        current = batches[-1] if batches else []
        if current and all(_compatible(calls[other], places[other], call, places[position]) for other in current):
            current.append(position)
        else:
            batches.append([position])
    return batches


def are_compatible(one: PlannedCall, other: PlannedCall) -> bool:
    """Whether two calls may run at the same time."""
    return _compatible(one, tuple(map(_place, one.paths)), other, tuple(map(_place, other.paths)))


def _compatible(one: PlannedCall, its: Sequence[Place], other: PlannedCall, others: Sequence[Place]) -> bool:
    if "never" in {one.parallel, other.parallel}:
        return False
    if "paths" not in {one.parallel, other.parallel}:
        return True
    if any(call.parallel == "paths" and not call.paths for call in (one, other)):
        return False
    return not any(_overlap(place, another) for place in its for another in others)


def _overlap(one: Place, other: Place) -> bool:
    shared = min(len(one), len(other))
    return one[:shared] == other[:shared]


def _place(path: Path) -> Place:
    return tuple(_folded(path.parts))


def _folded(parts: Iterable[str]) -> Iterable[str]:
    return (unicodedata.normalize("NFC", part).casefold() for part in parts)
