"""Asks about what commands have changed in places that others run later, and puts back what may not stay."""

from __future__ import annotations

from pathlib import Path

from tools.approval.actions import WritePath
from tools.approval.gate import Gate
from tools.environments.kept_places import KeptPlaces, PlaceChange, Snapshot
from tools.errors import Denied


def look_after(places: KeptPlaces, before: Snapshot, gate: Gate) -> tuple[Path, ...]:
    """Ask about each change since `before`; what was put back.

    Raises:
        ToolInterrupted: nobody can be asked any more; that change is put back as well.
    """
    return tuple(change.path for change in places.changed(before) if not _may_stay(places, change, gate))


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
