"""A memory file on disk: read with care, locked by every process that changes it, replaced whole."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK, own_user, set_mode

LARGEST = 256 * 1024
"""Bytes; a file that is larger is none of ours."""

_MODE = 0o600
_KEPT = "surrogateescape"  # damaged bytes stay as they are
_LOCK_SECONDS = 5.0

Stamp = tuple[int, ...]


class MemoryUnusable(Exception):
    """A memory file cannot be read or written; the text says which, why, and what to do."""


class MemoryGarbled(MemoryUnusable):
    """What is there is the user's own, but no text of entries: it can be put aside."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was read. `stamp` changes when the file does; None where there is none."""

    text: str
    stamp: Stamp | None = None


def real_path(path: Path, home: Path) -> Path:
    """The file that `path` means, links followed; none may lead out of the home.

    Raises:
        MemoryUnusable: one does.
    """
    real, root = Path(os.path.realpath(path)), Path(os.path.realpath(home))
    if root not in real.parents:
        raise MemoryUnusable(
            f"{path} is a link that leads out of {home}, to {real}. It is not followed: put the file itself there."
        )
    return real


def read(path: Path, home: Path) -> Found:
    """The file's text; '' where there is none. Never waits for a pipe's writer.

    Bytes that are no UTF-8 are lone surrogates in it (`is_sound`), so that they stay what they are.

    Raises:
        MemoryUnusable: it cannot be read, or others may have written it.
        MemoryGarbled: it is too large, or a binary file.
    """
    try:
        # O_NOFOLLOW: a link that comes in its place just now is not followed either.
        flags = os.O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW
        descriptor = os.open(real_path(path, home), flags)
    except (FileNotFoundError, NotADirectoryError):
        return Found("")
    except OSError as problem:
        raise _unusable(path, "read", problem) from problem
    try:
        facts = os.fstat(descriptor)
        _check(path, facts)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(LARGEST + 1)
    except OSError as problem:
        raise _unusable(path, "read", problem) from problem
    finally:
        os.close(descriptor)
    if len(data) > LARGEST:
        size = f"{LARGEST // 1024} KiB"
        raise MemoryGarbled(f"{path} has more than {size}, and is no list of short entries. Shorten it.")
    if b"\0" in data:
        raise MemoryGarbled(f"{path} is a binary file. Move it away.")
    return Found(data.decode(errors=_KEPT), _stamp(facts))


def is_sound(text: str) -> bool:
    """Whether a text that was read holds no bytes that are no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextlib.contextmanager
def locked(path: Path, home: Path) -> Iterator[Path]:
    """Hold the file's lock, as every process does that changes it; gives the file that is meant.

    Raises:
        MemoryUnusable: it cannot be had.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - takes a tenth of a second to load

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = real_path(path, home)
        lock = FileLock(f"{target}.lock", mode=_MODE, fallback_to_soft=False)
        lock.acquire(timeout=_LOCK_SECONDS, poll_interval=0.02)
    except Timeout as problem:
        raise MemoryUnusable(
            f"{path} could not be locked within {_LOCK_SECONDS:g} s: another process holds {path}.lock. Try again."
        ) from problem
    except OSError as problem:
        raise _unusable(path, "locked", problem) from problem
    try:
        yield target
    finally:
        lock.release()


def replace(target: Path, text: str, previous: Stamp | None) -> bool:
    """Put the text in the file's place, whole and for its owner alone. The lock is held.

    Args:
        previous: the stamp of what it is based on; None for a missing file.

    Returns:
        False, and nothing is changed, where somebody without the lock has changed the file since.

    Raises:
        MemoryUnusable: it could not be written; what was there still is.
    """
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        for leftover in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):  # a lock's holder was killed
            leftover.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_CLOEXEC | O_NOFOLLOW
        with os.fdopen(os.open(temporary, flags, _MODE), "wb") as stream:
            set_mode(stream.fileno(), _MODE)  # the umask may have taken from the mode
            stream.write(text.encode(errors=_KEPT))
            stream.flush()
            os.fsync(stream.fileno())
        if _stamp_of(target) != previous:
            return False
        if previous is not None:
            _check_writable(target.stat())
        temporary.replace(target)
    except OSError as problem:
        raise _unusable(target, "written", problem) from problem
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return True


def put_aside(target: Path) -> Path:
    """Move a file that is no memory file out of the way; gives where it is now. The lock is held.

    Raises:
        MemoryUnusable: it could not be moved.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1, 100):
        backup = target.with_name(f"{target.name}.bak.{stamp}" + (f"-{number}" if number > 1 else ""))
        try:
            # Unlike a rename, a link never takes the place of an earlier backup.
            os.link(target, backup, follow_symlinks=False)
            target.unlink()
        except FileExistsError:
            continue
        except OSError as problem:
            raise _unusable(target, "moved away", problem) from problem
        return backup
    raise MemoryUnusable(f"{target} could not be moved away: there are too many backups of it. Remove some.")


def _check(path: Path, facts: os.stat_result) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if facts.st_uid != own_user() or facts.st_mode & stat.S_IWOTH:
        raise MemoryUnusable(
            f"{path} belongs to, or may be changed by, other users, so nothing in it counts. Look it through, then "
            f"make it yours alone: chmod 600 {path}"
        )


def _check_writable(facts: os.stat_result) -> None:
    """A rename would not mind."""
    if not facts.st_mode & stat.S_IWUSR:
        raise OSError(errno.EACCES, "it is read-only")


def _stamp_of(path: Path) -> Stamp | None:
    try:
        return _stamp(path.lstat())
    except FileNotFoundError:
        return None


def _stamp(facts: os.stat_result) -> Stamp:
    return facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino


def _unusable(path: Path, tried: str, problem: OSError) -> MemoryUnusable:
    said = problem.strerror or type(problem).__name__
    return MemoryUnusable(f"{path} could not be {tried}: {said}. Check that it is a file of yours.")
