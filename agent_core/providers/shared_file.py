"""A JSON file that several processes read and change: locked, replaced whole, readable by its owner alone."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agent_core.errors import HermesError
from tools.light_dataclass import dataclass
from tools.locked_file import MODE, hold, open_regular, replace_file, unusable
from tools.os_compat import sync_directory

log = logging.getLogger(__name__)

# A file may change twice within one tick of its clock; a younger file's stamp proves nothing.
_CLOCK_TICK = 100_000_000


class SharedFileError(HermesError):
    """The file cannot be used now; the text says which, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The file's content while its lock is held: change `content`, then `save`."""

    content: dict[str, Any]
    save: Callable[[], None]
    """Puts the content in the file's place. Raises SharedFileError; the old content is then still there."""


class SharedFile:
    """The file at `path`; safe for threads and processes.

    Args:
        version: of the format; the file of a newer one is neither read nor written.
        durable: a save waits until the disk has it.
    """

    def __init__(self, path: Path, version: int = 1, *, durable: bool) -> None:
        self._path = path
        self._version = version
        self._durable = durable
        self._cache_lock = threading.Lock()
        self._stamp: tuple[int, ...] | None = None
        self._content: Mapping[str, Any] = {}

    def __str__(self) -> str:
        return str(self._path)

    def read(self) -> Mapping[str, Any]:
        """The content now, not to be changed; empty where the file is missing or is not ours to understand.

        Raises:
            SharedFileError: it cannot be read, or a newer version of the program wrote it.
        """
        with self._cache_lock:
            try:
                facts = self._path.stat()
                stamp = facts.st_mtime_ns, facts.st_size, facts.st_ino
                if stamp != self._stamp:
                    is_young = time.time_ns() - facts.st_mtime_ns < _CLOCK_TICK
                    self._content, self._stamp = self._load(self._path), None if is_young else stamp
            except (FileNotFoundError, NotADirectoryError):
                return {}
            except OSError as problem:
                raise unusable(self._path, "read", problem, SharedFileError) from problem
            except ValueError:
                return {}  # the next change moves it aside
            return self._content

    @contextlib.contextmanager
    def locked(self, timeout: float, cancelled: Callable[[], bool] | None = None) -> Iterator[Draft]:
        """Hold the file's lock, with the content as it is under the lock.

        Args:
            timeout: seconds to wait for whoever holds the lock.
            cancelled: ends the wait.

        Raises:
            SharedFileError: lock or file cannot be had.
            TurnInterrupted: it was cancelled while it waited.
        """
        # A link leads to the file itself, and stays.
        target = Path(os.path.realpath(self._path))
        with hold(self._path, target, timeout, SharedFileError, cancelled):
            try:
                content = self._load_or_set_aside(target)
            except OSError as problem:
                raise unusable(self._path, "read", problem, SharedFileError) from problem
            yield Draft(content, lambda: self._replace(target, content))

    def _load(self, path: Path) -> dict[str, Any]:
        """The content of the file at `path`.

        Raises:
            ValueError: it is no content. OSError. SharedFileError: a newer version wrote it.
        """
        try:
            with open_regular(path) as stream:
                content = _parsed(stream.read())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        version = content.get("version", self._version)
        if isinstance(version, bool) or not isinstance(version, int):
            raise ValueError("no version")  # noqa: TRY004 - one error for all that is no content
        if version > self._version:
            raise SharedFileError(
                f"{self._path} was written by a newer version of this program and is left alone. Update this program."
            )
        return content

    def _load_or_set_aside(self, target: Path) -> dict[str, Any]:
        try:
            return self._load(target)
        except ValueError:
            aside = target.with_name(f"{target.name}.corrupt")
            target.replace(aside)
            aside.chmod(MODE)
            log.warning("%s could not be understood; it was moved to %s and is begun anew", self._path, aside)
            return {}

    def _replace(self, target: Path, content: dict[str, Any]) -> None:
        data = json.dumps({**content, "version": self._version}, indent=1).encode()
        try:
            replace_file(target, data, durable=self._durable)
            if self._durable:
                sync_directory(target.parent)
        except OSError as problem:
            raise unusable(self._path, "written", problem, SharedFileError) from problem


def number_in(value: object) -> float | None:
    """A finite number, also where it is written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except RecursionError as problem:
        raise ValueError("nested too deeply") from problem
    if not isinstance(content, dict):
        raise ValueError("not an object")  # noqa: TRY004 - one error for all that is no content
    return content
