"""Reading a session of which rows may be damaged: they are set aside first, and the person is told."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from agent_core.errors import StoreError
from agent_core.sessions.database import Database

log = logging.getLogger(__name__)

_Read = TypeVar("_Read")


def read_sound(database: Database, session_id: str, read: Callable[[], _Read]) -> _Read:
    """What `read` reads of a session. Where rows of it are damaged they are set aside, and it is read again.

    Raises:
        StoreError: it cannot be read all the same. Also what else `read` raises.
    """
    try:
        return read()
    except StoreError as problem:
        if problem.kind != "corrupt" or not set_session_aside(database, session_id):
            raise
    return read()


def set_session_aside(database: Database, session_id: str) -> bool:
    """Set aside what is damaged of a session, and leave word of it for its next turn; whether there was anything."""
    from agent_core.sessions.damaged_rows import named, set_aside  # noqa: PLC0415 - hardly ever

    try:
        with database.write() as connection:
            found = set_aside(connection, session_id, database.clock())
    except StoreError:
        log.warning("what is damaged of session %s cannot be set aside", session_id, exc_info=True)
        return False
    if found:
        log.warning("set aside of session %s: %s", session_id, found)
        database.set_aside.setdefault(session_id, []).append(
            f"Parts of this session were damaged where they are stored, and have been set aside: {named(found)}. The "
            "session goes on without them. They are kept as they were found (table damaged_rows of the database)."
        )
    return bool(found)
