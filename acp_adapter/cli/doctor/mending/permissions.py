"""Takes other users' permissions from the home and from what is private in it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.mending.mended import Mended, Person
from acp_adapter.cli.doctor.private import close, open_places

_NAME = "permissions"


def mend_permissions(case: Case, _: Person) -> Iterator[Mended]:
    """The home first: with that alone nobody else gets in."""
    if os.name == "nt":
        return
    for path in tuple(open_places(case.home)):
        try:
            done = close(path)
        except OSError as problem:
            yield Mended(_NAME, done=False, text=f"{path}: {problem.strerror}", harm=True)
            continue
        if done:
            yield Mended(_NAME, done=True, text=f"{path} is for you alone now")
        else:
            yield Mended(_NAME, done=False, text=f"{path} is a link, or another user's: it was left as it is")
