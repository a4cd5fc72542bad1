"""Everything that `--fix` mends, in the order in which it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.mending.database import mend_database
from acp_adapter.cli.doctor.mending.editors import mend_editors
from acp_adapter.cli.doctor.mending.leftovers import mend_leftovers
from acp_adapter.cli.doctor.mending.mended import Mended, Person
from acp_adapter.cli.doctor.mending.permissions import mend_permissions
from acp_adapter.cli.doctor.mending.typos import mend_typos

Mend = Callable[[Case, Person], Iterator[Mended]]

_MENDERS: Mapping[str, Mend] = {
    "permissions": mend_permissions,
    "leftovers": mend_leftovers,
    "database": mend_database,
    "settings": mend_typos,
    "editor": mend_editors,
}


def mend(case: Case, person: Person) -> Iterator[Mended]:
    """Each thing that is done or left, as it happens."""
    for name, each in _MENDERS.items():
        try:
            yield from each(case, person)
        except Exception as problem:  # noqa: BLE001 - what cannot be mended must not hide the rest
            yield Mended(name, done=False, text=f"{name}: {_told(problem)}", harm=True)


def _told(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)
    return f"this failed, which is a fault of the program: {type(problem).__name__}: {problem}"
