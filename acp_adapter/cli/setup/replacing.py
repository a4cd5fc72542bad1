"""Several files get new contents, all of them or none, and what was there stays beside."""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent_core.own_files import read_file
from tools.os_compat import set_mode, set_owner_like

PRIVATE = 0o600

_MARK = ".hermes-"
_OLD = 60.0  # seconds: no setup takes that long between staging and renaming


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file as it is to be. `backup` is where its old content goes."""

    path: Path
    text: str
    mode: int
    backup: Path | None = None


def replace_files(files: Collection[NewFile]) -> None:
    """Put the files into their places. They are complete on the disk before the first is put there.

    Raises:
        OSError: it could not be done, and nothing was.
    """
    with contextlib.ExitStack() as stack, _undisturbed():
        ready = [(_staged(stack, file.path, file.text.encode(), file.mode), file.path) for file in files]
        backups = [
            (_staged(stack, file.backup, file.path.read_bytes(), file.mode), file.backup)
            for file in files
            if file.backup
        ]
        for temporary, path in (*backups, *ready):
            temporary.replace(_target(path))


def mode_of(path: Path, otherwise: int = PRIVATE) -> int:
    """A file's permissions; `otherwise` where there is none."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return otherwise


def free_backup(path: Path, suffix: str) -> Path:
    """A name beside the file for what it is now: what stands there under an earlier one is not written over.

    Raises:
        OSError: the file cannot be read.
    """
    content = path.read_bytes()
    names = (path.with_name(f"{path.name}{suffix}{number or ''}") for number in itertools.count())
    return next(name for name in names if not os.path.lexists(name) or _holds(name, content))


def _holds(path: Path, content: bytes) -> bool:
    try:
        return not path.is_symlink() and read_file(path) == content
    except OSError:
        return False


def _target(path: Path) -> Path:
    """Where the file really is: a link to it stays one."""
    return Path(os.path.realpath(path))


def _staged(stack: contextlib.ExitStack, path: Path, content: bytes, mode: int) -> Path:
    """The content in a new file beside `path`'s place, which goes away if it is not used."""
    target = _target(path)
    _drop_left(target)
    descriptor, name = tempfile.mkstemp(prefix=f"{target.name}{_MARK}", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    stack.callback(temporary.unlink, missing_ok=True)
    with os.fdopen(descriptor, "wb") as stream:
        set_owner_like(stream.fileno(), target if target.exists() else target.parent)
        set_mode(stream.fileno(), mode)
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    return temporary


def _drop_left(target: Path) -> None:
    """Remove what a setup that was killed has left beside the file: it may hold keys."""
    for left in target.parent.glob(f"{glob.escape(target.name)}{_MARK}*.tmp"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _OLD:
                left.unlink()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C does nothing for this moment: between two files they would be of two minds."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
