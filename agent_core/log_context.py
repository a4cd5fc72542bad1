"""Which session and turn a thread works for, so that each log record can say it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

NOWHERE = "-"
_where: ContextVar[tuple[str, str]] = ContextVar("where", default=(NOWHERE, NOWHERE))


@contextlib.contextmanager
def working_for(session_id: str, turn_id: str) -> Iterator[None]:
    """Until the block is left, this thread's log records are of that turn; who copies its context inherits that."""
    token = _where.set((session_id or NOWHERE, turn_id or NOWHERE))
    try:
        yield
    finally:
        _where.reset(token)


def where() -> tuple[str, str]:
    """Ids of the session and the turn that this thread works for; `-` for none."""
    return _where.get()
