"""Everything that `--fix` mends, in the order in which it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.mending.database import mend_database
from acp_adapter.cli.doctor.mending.editors import mend_editors
from acp_adapter.cli.doctor.mending.leftovers import mend_leftovers
from acp_adapter.cli.doctor.mending.mended import Mended, Person
from acp_adapter.cli.doctor.mending.permissions import mend_permissions
from acp_adapter.cli.doctor.mending.typos import mend_typos

Mend = Callable[[Case, Person], Iterator[Mended]]

_MENDERS: tuple[Mend, ...] = (mend_permissions, mend_leftovers, mend_database, mend_typos, mend_editors)


def mend(case: Case, person: Person) -> Iterator[Mended]:
    """Each thing that is done or left, as it happens."""
    for each in _MENDERS:
        yield from each(case, person)
