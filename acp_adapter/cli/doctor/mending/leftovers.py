"""Removes what killed processes left."""

from __future__ import annotations

from collections.abc import Iterator

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.leftovers import leftovers
from acp_adapter.cli.doctor.mending.mended import Mended, Person

_NAME = "leftovers"


def mend_leftovers(case: Case, _: Person) -> Iterator[Mended]:
    """Nothing in these files can be used any more."""
    for path in leftovers(case.home):
        try:
            path.unlink(missing_ok=True)
        except OSError as problem:
            yield Mended(_NAME, done=False, text=f"{path}: {problem.strerror}", harm=True)
        else:
            yield Mended(_NAME, done=True, text=f"removed {path}")
