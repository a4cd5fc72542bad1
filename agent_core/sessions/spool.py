"""Files of what could not be stored before a process ended, one for each session: the next start takes them in.

They lie in the home, or, where that cannot be written to, in the directory for temporary files; for the user alone.
A file is locked while its process lives, which may still store what is in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

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
        self.places = (
            database.parent / "unsaved",
            Path(tempfile.gettempdir()) / f"hermes-acp-unsaved-{own_user()}-{digest}",
        )

    def write(self, session_id: str, text: bytes) -> Spooled:
        """Put into a file what a session has to store, as JSON.

        Raises:
            OSError: there is no place that it could be written to.
        """
        try:
            path, descriptor = _written(self.places[0], session_id, text)
        except OSError:
            path, descriptor = _written(self.places[1], session_id, text)
        return Spooled(path, descriptor)

    def take(self) -> Iterator[tuple[Spooled, bytes]]:
        """What processes have left that are no more. A file that cannot be read is left where it is, and logged."""
        for path in self._files("*.tmp"):
            _drop_unfinished(path)
        for path in self._files("*.json"):
            try:
                if (taken := _taken(path)) is not None:
                    yield taken
            except OSError as problem:
                log.error("%s, a part of a conversation, cannot be read: %s", path, problem)  # noqa: TRY400 - it says all

    def drop(self, session_id: str) -> None:
        """A session is deleted: nothing of it stays here."""
        for path in self._files(f"{_name(session_id)}-*"):
            with contextlib.suppress(OSError):
                path.unlink()

    def _files(self, pattern: str) -> list[Path]:
        return sorted(path for place in self.places if _is_own(place) for path in place.glob(pattern))


def _name(session_id: str) -> str:
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:_NAME_LENGTH]


def _is_own(place: Path) -> bool:
    """Whether it is a directory of this user's: others may write to the one for temporary files."""
    try:
        facts = place.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == own_user()


def _written(place: Path, session_id: str, text: bytes) -> tuple[Path, int]:
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
    return path, descriptor


def _taken(path: Path) -> tuple[Spooled, bytes] | None:
    """None where its process lives, or another takes it in."""
    try:
        descriptor = os.open(path, os.O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    except FileNotFoundError:
        return None
    text = None
    try:
        # One that was stored and removed in the moment before it was locked is not taken.
        if _is_locked(descriptor) and path.exists():
            text = _read(path, descriptor)
    finally:
        if text is None:
            os.close(descriptor)
    return None if text is None else (Spooled(path, descriptor), text)


def _drop_unfinished(path: Path) -> None:
    """Remove a file that a process was writing when it was killed."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        try:
            if _is_locked(descriptor):
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    """Whether the lock is ours now, or nobody can have one."""
    try:
        lock(descriptor)
    except BlockingIOError:
        return False
    except OSError:  # then storing the same twice does no harm
        return True
    return True


def _read(path: Path, descriptor: int) -> bytes:
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != own_user():
        raise PermissionError(f"{path} is not this user's.")
    with open(descriptor, "rb", closefd=False) as stream:
        return stream.read()
