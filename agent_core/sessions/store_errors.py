"""What an SQLite or file error means for the store, told so that a person can act on it; waiting while it is busy."""

from __future__ import annotations

import errno
import os
import random
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from agent_core.errors import StoreError

READING_FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged database raises: SQLite's words on it may quote text that is damaged itself."""

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
# After these a connection is not to be trusted any more, and the file may be another one.
_FATAL = frozenset(
    {
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_MISUSE,
    }
)
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOT_WRITABLE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_NO_TEXT = "Could not decode to UTF-8"
_LITTLE_SPACE = 256 * 1024


def is_busy(problem: sqlite3.Error) -> bool:
    """True if another connection was in the way and the same may work in a moment."""
    return primary_code(problem) in _BUSY


def is_fatal(problem: sqlite3.Error) -> bool:
    """True if the connection should be given up."""
    return primary_code(problem) in _FATAL


def store_error(problem: sqlite3.Error | UnicodeDecodeError | OSError, path: Path) -> StoreError:
    """The error to raise for `problem` with the database at `path`."""
    if isinstance(problem, UnicodeDecodeError):
        return corrupt_error(path, "it holds text that is none")
    return _from_os(problem, path) if isinstance(problem, OSError) else _from_sqlite(problem, path)


def busy_error(path: Path, seconds: float) -> StoreError:
    """The error for a database that stayed locked for `seconds`."""
    return StoreError(
        f"{path} has been locked for {seconds:.3g} s: another program holds it (a backup, a database browser, or "
        "another hermes-acp that hangs), or other work of this one takes long. Try again, or end that program.",
        kind="busy",
    )


def foreign_error(path: Path, what: str) -> StoreError:
    """The error for a file that is not this program's."""
    return StoreError(
        f"{path} is not a database of hermes-acp ({what}). It was left alone. Move it away, or choose another home "
        "with HERMES_HOME.",
        kind="foreign",
    )


def newer_error(path: Path, version: int, ours: int) -> StoreError:
    """The error for a file that a later program wrote."""
    return StoreError(
        f"{path} was written by a newer hermes-acp (its format is {version}, this program knows up to {ours}). It "
        "was left alone. Update hermes-acp.",
        kind="newer",
    )


def corrupt_error(path: Path, what: str) -> StoreError:
    """The error for a damaged file."""
    return StoreError(
        f"{path} is damaged ({what}). Run `hermes-acp doctor --fix`: it saves what can be read and keeps the damaged "
        "file.",
        kind="corrupt",
    )


def _from_os(problem: OSError, path: Path) -> StoreError:
    where = Path(os.fsdecode(problem.filename)) if isinstance(problem.filename, str | bytes) else path
    said = problem.strerror or type(problem).__name__
    if problem.errno in _NO_SPACE:
        return _full(path, said)
    if problem.errno in _NOT_WRITABLE:
        return _read_only(path, f"{where}: {said}")
    return StoreError(
        f"{path} could not be opened ({where}: {said}). Check that {path.parent} is a directory of yours.",
    )


def _from_sqlite(problem: sqlite3.Error, path: Path) -> StoreError:
    primary, said = primary_code(problem), str(problem) or type(problem).__name__
    if primary in _BUSY:
        return StoreError(
            f"{path} is locked by another program ({said}). Try again, or end that program.", kind="busy"
        )
    if primary == sqlite3.SQLITE_FULL or (primary == sqlite3.SQLITE_IOERR and _is_full(path)):
        return _full(path, said)
    if primary == sqlite3.SQLITE_READONLY:
        return _read_only(path, said)
    if primary == sqlite3.SQLITE_CANTOPEN and not os.access(path.parent, os.W_OK):
        return _read_only(path, f"{path.parent} may not be written")
    if primary in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB} or said.startswith(_NO_TEXT):
        return corrupt_error(path, said)
    if primary == sqlite3.SQLITE_IOERR:
        return StoreError(
            f"{path} could not be read or written ({said}). Check that the disk is there, healthy and not over its "
            "quota; then run `hermes-acp doctor`.",
        )
    return StoreError(f"{path} could not be used ({said}). Run `hermes-acp doctor` to have it examined.")


def _full(path: Path, said: str) -> StoreError:
    return StoreError(
        f"{path} could not be written: there is no space left ({said}). Free some space on that disk.", kind="full"
    )


def _read_only(path: Path, said: str) -> StoreError:
    return StoreError(
        f"{path} could not be written ({said}). Make the file and {path.parent} writable for your user, or choose "
        "another home with HERMES_HOME.",
        kind="read-only",
    )


def _is_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _LITTLE_SPACE
    except OSError:
        return False


def primary_code(problem: sqlite3.Error) -> int:
    """SQLite's primary result code; SQLITE_ERROR for errors of the Python module itself."""
    code = getattr(problem, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else sqlite3.SQLITE_ERROR


# Trying again while another process is writing: short random waits, so that nobody starves.

_SHORTEST = 0.0002
_LONGEST_AT_FIRST = 0.005
_LONGEST = 0.025
_GROWTH = 1.25

Result = TypeVar("Result")


def pauses() -> Iterator[float]:
    """Seconds to wait before each next try, without an end."""
    longest = _LONGEST_AT_FIRST
    while True:
        yield random.uniform(_SHORTEST, longest)  # noqa: S311 - no secret
        longest = min(longest * _GROWTH, _LONGEST)


def retried(action: Callable[[], Result], deadline: float) -> Result:
    """What `action` returns, tried again while the database is busy.

    Args:
        deadline: on `time.monotonic`; it is tried once at least.

    Raises:
        sqlite3.Error: what the last try raised.
    """
    for pause in pauses():
        try:
            return action()
        except sqlite3.OperationalError as problem:
            left = deadline - time.monotonic()
            if not is_busy(problem) or left <= 0:
                raise
        time.sleep(min(pause, left))
    raise AssertionError  # the pauses have no end
