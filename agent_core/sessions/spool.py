"""Files of what could not be stored before a process ended, one for each session: the next start takes them in.

They lie in the home, or, where that cannot be written to, in the directory for temporary files; for the user alone.
A file is locked while its process lives, which may still store what is in it.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import json
import logging
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from agent_core.background_tasks import News, TaskInfo
from agent_core.compaction.engine import Compaction
from agent_core.providers.base import Usage
from agent_core.providers.pricing import Certain, Spent
from agent_core.sessions import operations as ops
from agent_core.sessions.checkpoints.file_states import Change, FileState, path_from, stored_path
from agent_core.sessions.journal import JournalRow, TurnJournal
from agent_core.sessions.records import KeptState, NewSession
from agent_core.sessions.rows import PackedCompaction, PackedMessage, PackedState
from tools.context import TodoItem
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NOFOLLOW, lock, own_user

log = logging.getLogger(__name__)

_NAME_LENGTH = 32


@dataclass(slots=True, eq=False)
class Spooled:
    """A file of what a session has to store. It stays until `remove`; `let_go` leaves it to another process."""

    path: Path
    descriptor: int | None

    def remove(self) -> None:
        """All of it is stored."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        self.let_go()

    def let_go(self) -> None:
        """Whoever starts next may take it in."""
        descriptor, self.descriptor = self.descriptor, None
        if descriptor is not None:
            os.close(descriptor)


class Spool:
    """The files of one database with what could not be stored before the end of a process."""

    def __init__(self, database: Path) -> None:
        digest = hashlib.sha256(os.fsencode(database)).hexdigest()[:_NAME_LENGTH]
        self._places = (
            database.parent / "unsaved",
            Path(tempfile.gettempdir()) / f"hermes-acp-unsaved-{own_user()}-{digest}",
        )

    def write(self, session_id: str, operations: Sequence[ops.Operation]) -> Spooled:
        """Put into a file what a session has to store.

        Raises:
            OSError: there is no place that it could be written to. TypeError, ValueError: it is no JSON.
        """
        text = _coded(session_id, operations)
        try:
            return _written(self._places[0], session_id, text)
        except OSError:
            return _written(self._places[1], session_id, text)

    def take(self) -> Iterator[tuple[Spooled, str, list[ops.Operation]]]:
        """What processes have left that are no more: the file, the session, and what it has to store.

        A file that cannot be read is left where it is, and logged.
        """
        for path in self._files("*.tmp"):  # of a process that was killed at it
            with contextlib.suppress(OSError):
                if (unfinished := _opened(path)) is not None:
                    unfinished.remove()
        for path in self._files("*.json"):
            spooled = None
            try:
                if (spooled := _opened(path)) is not None:
                    yield (spooled, *_decoded(_read(spooled)))
            except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError) as problem:
                log.error("%s, a part of a conversation, cannot be read: %s", path, problem)  # noqa: TRY400 - it says all
                if spooled is not None:
                    spooled.let_go()

    def drop(self, session_id: str) -> None:
        """A session is deleted: nothing of it stays here."""
        for path in self._files(f"{_name(session_id)}-*"):
            with contextlib.suppress(OSError):
                path.unlink()

    def _files(self, pattern: str) -> list[Path]:
        return sorted(path for place in self._places if _is_own(place) for path in place.glob(pattern))


def _name(session_id: str) -> str:
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:_NAME_LENGTH]


def _is_own(place: Path) -> bool:
    """Whether it is a directory of this user's: others may write to the one for temporary files."""
    try:
        facts = place.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == own_user()


def _written(place: Path, session_id: str, text: bytes) -> Spooled:
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_own(place):
        raise PermissionError(f"{place} is not this user's.")
    path = place / f"{_name(session_id)}-{secrets.token_hex(4)}.json"
    unfinished = path.with_suffix(".tmp")
    descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    try:
        _is_locked(descriptor)
        left = memoryview(text)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
        unfinished.replace(path)
    except BaseException:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise
    return Spooled(path, descriptor)


def _opened(path: Path) -> Spooled | None:
    """The file, locked; None where its process lives, or another takes it in."""
    try:
        descriptor = os.open(path, os.O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    except FileNotFoundError:
        return None
    # One that was stored and removed in the moment before it was locked is not taken.
    if _is_locked(descriptor) and path.exists():
        return Spooled(path, descriptor)
    os.close(descriptor)
    return None


def _is_locked(descriptor: int) -> bool:
    """Whether the lock is ours now, or nobody can have one."""
    try:
        lock(descriptor)
    except BlockingIOError:
        return False
    except OSError:  # then storing the same twice does no harm
        return True
    return True


def _read(spooled: Spooled) -> bytes:
    descriptor = -1 if spooled.descriptor is None else spooled.descriptor
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != own_user():
        raise PermissionError(f"{spooled.path} is not this user's.")
    with open(descriptor, "rb", closefd=False) as stream:
        return stream.read()


# Operations of a session's queue as JSON and back.

_FORMAT = 1
_OF_TURN = ("id", "session_id", "began_at", "number", "messages", "visible", "compactions")


@functools.cache
def _types() -> Mapping[str, type]:
    # What commands and tools change is loaded with the first tool call.
    from agent_core.sessions.checkpoints import versions  # noqa: PLC0415

    kinds = (
        *(ops.CreateSession, ops.BeginTurn, ops.AddMessage, ops.AddEvents, ops.Withdraw, ops.AddCompaction),
        *(ops.CloseTurn, ops.TellLeft, ops.LeaveOut, ops.Keep, ops.NameSession, ops.KeepNews, ops.DropNews),
        *(ops.KeepTask, versions.CallOfTurn, versions.NoteChanges, versions.EndCommand, versions.TakeBackChanges),
        *(NewSession, PackedMessage, PackedCompaction, Compaction, PackedState, KeptState, TodoItem),
        *(Spent, Certain, Usage, News, TaskInfo, JournalRow, Change, FileState),
    )
    return {kind.__name__: kind for kind in kinds}


def _coded(session_id: str, operations: Sequence[ops.Operation]) -> bytes:
    turns: list[ops.LiveTurn] = []  # which several operations share
    found = [_as_json(operation, turns) for operation in operations]
    told = []
    for turn in turns:
        rows = turn.journal.take()
        turn.journal.put_back(rows)
        events = [_as_json(row, turns) for row in rows]
        told.append({name: getattr(turn, name) for name in _OF_TURN} | {"events": events})
    return json.dumps({"format": _FORMAT, "session": session_id, "turns": told, "operations": found}).encode()


def _decoded(text: bytes) -> tuple[str, list[ops.Operation]]:
    """The session's id, and what it has to store.

    Raises:
        ValueError, TypeError, KeyError, IndexError, AttributeError: it was not made by `_coded`.
    """
    file = json.loads(text)
    if file["format"] != _FORMAT:
        raise ValueError(f"its format is {file['format']!r}, this program knows {_FORMAT}")
    turns: list[ops.LiveTurn] = []
    for told in file["turns"]:
        journal = TurnJournal.of([_from_json(row, turns) for row in told.pop("events")])
        turns.append(ops.LiveTurn(**told, journal=journal, stored=None))
    return file["session"], [_from_json(operation, turns) for operation in file["operations"]]


def _as_json(value: Any, turns: list[ops.LiveTurn]) -> Any:
    match value:
        case None | str() | int() | float():
            return value
        case list():
            return [_as_json(one, turns) for one in value]
        case ops.LiveTurn():
            if value not in turns:
                turns.append(value)
            return {"turn": turns.index(value)}
        case tuple():
            return {"tuple": [_as_json(one, turns) for one in value]}
        case set() | frozenset():
            return {"set": [_as_json(one, turns) for one in value]}
        case Mapping():
            return {"map": [[_as_json(name, turns), _as_json(one, turns)] for name, one in value.items()]}
        case bytes():
            return {"bytes": base64.b64encode(value).decode("ascii")}
        case Path():
            return {"path": stored_path(value)}
    kind = type(value).__name__
    if not is_dataclass(value) or kind not in _types():
        raise TypeError(f"{kind} cannot be put into a file")
    return {kind: {each.name: _as_json(getattr(value, each.name), turns) for each in fields(value)}}


def _from_json(value: Any, turns: list[ops.LiveTurn]) -> Any:
    if isinstance(value, list):
        return [_from_json(one, turns) for one in value]
    if not isinstance(value, dict):
        return value
    [(kind, held)] = value.items()
    match kind:
        case "turn":
            return turns[held]
        case "tuple":
            return tuple(_from_json(one, turns) for one in held)
        case "set":
            return frozenset(_from_json(one, turns) for one in held)
        case "map":
            return {_from_json(name, turns): _from_json(one, turns) for name, one in held}
        case "bytes":
            return base64.b64decode(held)
        case "path":
            return path_from(held)
    made_of = _types()[kind]
    names = {each.name for each in fields(made_of)}  # earlier programs told more of some
    made = made_of(**{name: _from_json(one, turns) for name, one in held.items() if name in names})
    if hasattr(made, "was_tried"):
        made.was_tried = True
    return made
