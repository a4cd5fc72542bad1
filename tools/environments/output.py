"""The output of commands: its beginning and its end in bounded memory, and a file for all of it."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from tools.os_compat import O_CLOEXEC, O_NOFOLLOW
from tools.result import MAX_SHOWN_CHARS, SavedOutput
from tools.text.terminal_output import Overwritten

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


class OutputBuffer:
    """Collects text; past `limit` characters the middle is dropped.

    Of a line that a program writes over and over, only the last state is kept: an hour of a progress bar would push
    out everything else. The file has all of them.

    Args:
        limit: characters kept in all.
        head_share: the part of them, from 0 to 1, that is kept from the beginning.
        save_to: the file for all of the text, which is made once it is longer than what is kept or shown of it.
    """

    def __init__(self, limit: int, head_share: float, save_to: Path | None = None) -> None:
        self._save_to = save_to
        self._short = min(limit, MAX_SHOWN_CHARS)
        self._file: OutputFile | None = None
        self._unsaved: list[str] = []
        self._given = 0
        self._overwritten = Overwritten()
        self._head_limit = int(limit * head_share)
        self._tail_limit = limit - self._head_limit
        self._head: list[str] = []
        self._head_length = 0
        self._tail = ""
        self._total = 0

    def add(self, text: str) -> None:
        """Append `text`."""
        self._save(text)
        self._keep(self._overwritten.settled(text))

    def _keep(self, text: str) -> None:
        self._total += len(text)
        room = self._head_limit - self._head_length
        if room > 0:
            taken = text[:room]
            self._head.append(taken)
            self._head_length += len(taken)
            text = text[room:]
        self._tail += text
        # Cut at twice the limit, not at each call: many small pieces then cost little.
        if len(self._tail) > 2 * self._tail_limit:
            self._tail = self._kept_tail()

    @property
    def truncated_chars(self) -> int:
        """How many characters `text` leaves out."""
        self._keep(self._overwritten.rest())
        return self._total - self._head_length - len(self._kept_tail())

    def text(self) -> str:
        """What was kept; a line in the middle tells how much is missing."""
        missing = self.truncated_chars
        head = "".join(self._head)
        if not missing:
            return head + self._tail
        return f"{head}\n[… {missing} characters left out …]\n{self._kept_tail()}"

    def close(self) -> SavedOutput | None:
        """The file with all of the text, complete; None where the text was short or there is none."""
        return None if self._file is None else self._file.close()

    def _save(self, text: str) -> None:
        if self._save_to is None:
            return
        self._given += len(text)
        if self._file is None:
            self._unsaved.append(text)
            if self._given <= self._short:
                return
            self._file = OutputFile(self._save_to)
            text = "".join(self._unsaved)
            self._unsaved.clear()
        self._file.write(text)

    def _kept_tail(self) -> str:
        return self._tail[max(0, len(self._tail) - self._tail_limit) :]
