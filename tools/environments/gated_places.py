"""Asks about what commands have changed in places that others run later, and puts back what may not stay."""

from __future__ import annotations

from pathlib import Path

from tools.approval.actions import WritePath
from tools.approval.gate import Gate
from tools.environments.kept_places import KeptPlaces, PlaceChange, Snapshot
from tools.errors import Denied

_MOST_LOOKS = 4


def look_after(places: KeptPlaces, before: Snapshot, gate: Gate) -> tuple[Path, ...]:
    """Ask about each change since `before`; what was put back.

    Raises:
        ToolInterrupted: nobody can be asked any more; that change is put back as well.
    """
    found: list[Path] = []
    for _ in range(_MOST_LOOKS):
        put_back = [change.path for change in places.changed(before) if not _may_stay(places, change, gate)]
        found += put_back
        if not put_back:
            break
        # Settings that are back may name places that nobody has looked at: new since the last look, so they count.
        before = places.before(keep=True)
    return tuple(found)


def _may_stay(places: KeptPlaces, change: PlaceChange, gate: Gate) -> bool:
    try:
        gate.authorize(WritePath(change.path, change.before, change.after, shown=change.path))
    except Denied:
        places.put_back(change)
        return False
    except BaseException:
        # Nobody can say yes any more: the turn is over.
        places.put_back(change)
        raise
    return True
