"""A file for output that is too long to show: made only when it is needed, bounded, for the user's eyes only."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from tools.os_compat import O_CLOEXEC, O_NOFOLLOW
from tools.result import SavedOutput

log = logging.getLogger(__name__)

_MAX_BYTES = 64 * 1024 * 1024


class OutputFile:
    """Takes text until it is full. A disk that takes no more ends the saving, never what is saved.

    Args:
        path: where; its directory is made. What was there is replaced.
        max_bytes: bytes after which nothing more is taken; a last line says so.
    """

    def __init__(self, path: Path, max_bytes: int = _MAX_BYTES) -> None:
        self._path = path
        self._room = max_bytes
        self._size = 0
        self._descriptor = _opened(path)

    def write(self, text: str) -> None:
        """Append `text`, as UTF-8."""
        if self._descriptor is None or self._room <= 0:
            return
        data = text.encode("utf-8", "replace")
        is_full = len(data) > self._room
        if is_full:
            data = data[: self._room] + "\n[… more was printed than is kept …]\n".encode()
        self._room = 0 if is_full else self._room - len(data)
        try:
            _write_all(self._descriptor, data)
        except OSError as problem:
            log.warning("output could not be saved in %s: %s", self._path, problem.strerror)
            self._give_up()
            return
        self._size += len(data)

    def close(self) -> SavedOutput | None:
        """The finished file; None where nothing could be saved."""
        if self._descriptor is None:
            return None
        os.close(self._descriptor)
        self._descriptor = None
        return SavedOutput(self._path, self._size)

    def _give_up(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._path.unlink(missing_ok=True)


def save_text(text: str, path: Path) -> SavedOutput | None:
    """Put `text` into the file `path`; None where that is not possible."""
    file = OutputFile(path)
    file.write(text)
    return file.close()


def _opened(path: Path) -> int | None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | O_NOFOLLOW | O_CLOEXEC
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(path, flags, 0o600)
    except OSError as problem:
        log.warning("output cannot be saved in %s: %s", path, problem.strerror)
        return None


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
