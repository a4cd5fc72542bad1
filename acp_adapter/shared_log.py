"""A log file that several processes write to; whichever finds it full moves it aside for all of them."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from tools.os_compat import O_CLOEXEC


class SharedLog(logging.Handler):
    """Writes each record as a whole to the end of `path`; `path.1` and so on are the ones before, for the user alone.

    A record that cannot be written, on a full disk say, is lost, and nobody is told on stderr.
    """

    def __init__(self, path: Path, most_bytes: int, kept: int) -> None:
        super().__init__()
        self._path = path
        self._most = most_bytes
        self._kept = kept
        self._file: int | None = None
        self._is_cut = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        try:
            data = f"{self.format(record)}\n".encode(errors="backslashreplace")
        except Exception:  # noqa: BLE001 - as every handler does: this is for who wrote the call
            self.handleError(record)
            return
        try:
            self._write(data)
        except OSError:
            return

    def close(self) -> None:
        """Nothing more is written."""
        self.acquire()
        try:
            self._leave()
        finally:
            self.release()
        super().close()

    def _write(self, data: bytes) -> None:
        file = self._current()
        size = os.fstat(file).st_size
        if size and size + len(data) > self._most and self._move_aside(file):
            self._leave()
            file = self._current()
        self._append(file, b"\n" + data if self._is_cut else data)

    def _append(self, file: int, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(file, left) :]
        finally:
            # Half a record, on a disk that was full then, must not have the next one on its line.
            self._is_cut = bool(left) and (len(left) < len(data) or self._is_cut)

    def _current(self) -> int:
        """The file that has the name now: another process may have moved ours aside."""
        if self._file is not None and not self._has_name(self._file):
            self._leave()
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | O_CLOEXEC, 0o600)
        return self._file

    def _has_name(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except FileNotFoundError:
            return False

    def _move_aside(self, file: int) -> bool:
        """Whether it is done, here or elsewhere; False while another process is at it, who may take long."""
        from tools.os_compat import lock  # noqa: PLC0415 - few records find it full

        try:
            lock(file)
        except BlockingIOError:
            return False
        if self._has_name(file):
            for number in range(self._kept, 0, -1):
                before = self._numbered(number - 1)
                if before.exists():
                    before.replace(self._numbered(number))
        return True  # closing the file lets go of the lock

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path

    def _leave(self) -> None:
        file, self._file, self._is_cut = self._file, None, False
        if file is not None:
            os.close(file)
