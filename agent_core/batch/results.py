"""The directory that a batch writes to: `results.jsonl`, and its runs to train with. It survives any kill.

Only the process that runs the batch writes. A run's trajectory is written before its result, so what a kill leaves
behind is at most one line too many or a part of one, which the next start takes away.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_core.batch.items import BatchError
from agent_core.batch.outcome import Outcome
from tools.os_compat import O_CLOEXEC, O_NOFOLLOW, lock

RESULTS = "results.jsonl"
_LOCK = ".lock"
_TRAJECTORIES = {True: "completed.jsonl", False: "failed.jsonl"}


class Results:
    """The results of one batch so far. `close` lets another process have them."""

    def __init__(self, directory: Path) -> None:
        """Open a directory, made if it is not there.

        Raises:
            BatchError: it cannot be used, another batch writes to it, or what is in it is not a batch's.
        """
        self.directory = directory
        self._refuse_others()
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | O_CLOEXEC, 0o600)
        except OSError as problem:
            raise BatchError(f"{directory} cannot hold results: {problem}. Choose another with --out.") from problem
        try:
            lock(self._lock)
            self._known = {line["id"]: line for line in self._settled()}
        except BlockingIOError as problem:
            os.close(self._lock)
            raise BatchError(
                f"Another batch writes to {directory}. Wait for it, or choose another --out."
            ) from problem
        except BaseException:
            os.close(self._lock)
            raise

    def status(self, item_id: str, digest: str) -> str:
        """How the item ended before; '' where it has not, or was asked in other words."""
        line = self._known.get(item_id)
        return str(line["status"]) if line is not None and line.get("digest") == digest else ""

    def add(self, outcome: Outcome) -> None:
        """Store what came of an item; it is on the disk when this returns.

        Raises:
            BatchError: it could not be written.
        """
        line = outcome.line()
        try:
            if outcome.trajectory:
                name = _TRAJECTORIES[outcome.status == "completed"]
                _append(self.directory / name, outcome.trajectory.rstrip("\n"))
            _append(self.directory / RESULTS, json.dumps(line, ensure_ascii=False))
        except OSError as problem:
            raise BatchError(
                f"The result of {outcome.id} could not be written to {self.directory}: {problem}. Make room, and run "
                "the same command again: what is done is not done again."
            ) from problem
        self._known[outcome.id] = line

    def close(self) -> None:
        """Write no more."""
        os.close(self._lock)

    def _refuse_others(self) -> None:
        """Nothing is taken away from files that no batch has written: where one has, there is its lock."""
        if os.path.lexists(self.directory / _LOCK):
            return
        for name in (RESULTS, *_TRAJECTORIES.values()):
            if os.path.lexists(self.directory / name):
                raise BatchError(_not_ours(self.directory / name))

    def _settled(self) -> Iterator[dict[str, Any]]:
        results = [_read(line, self.directory / RESULTS) for line in _whole_lines(self.directory / RESULTS)]
        told = {line.get("session_id") for line in results}
        for name in _TRAJECTORIES.values():
            path = self.directory / name
            lines = _whole_lines(path)
            if lines and _read(lines[-1], path).get("session_id") not in told:
                os.truncate(path, path.stat().st_size - len(lines[-1]) - 1)
        yield from results


def _whole_lines(path: Path) -> list[bytes]:
    """The lines of a file, after a piece of one at its end was taken away."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise BatchError(f"{path} cannot be read: {problem}.") from problem
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
    return content[:whole].splitlines()


def _read(line: bytes, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict) or (path.name == RESULTS and not {"id", "status"} <= value.keys()):
        raise BatchError(_not_ours(path))
    return value


def _not_ours(path: Path) -> str:
    return f"{path} is not what a batch has written. Move it away, or choose another --out."


def _append(path: Path, line: str) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | O_NOFOLLOW | O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(f"{line}\n".encode("utf-8", "replace"))
        file.flush()
        os.fsync(file.fileno())
