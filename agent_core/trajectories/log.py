"""Finished turns as trajectories, a line each, in two files of the home; written in the background."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from agent_core.messages import Message
from agent_core.trajectories.sharegpt import conversations
from agent_core.turn.result import TurnUsage
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NOFOLLOW, alone_in
from tools.redaction import Redact, redact

log = logging.getLogger(__name__)

COMPLETED, FAILED = "completed", "failed"
_MAX_BYTES = 64 * 1024 * 1024
_OLDER = 3
_MOST_WAITING = 50


@dataclass(frozen=True, slots=True)
class Run:
    """One turn that is over.

    Attributes:
        messages: the whole conversation up to its end, also what the model was not shown any more.
        system: the system prompt, without the text that is never stored; None where there was none.
        tools: the tool definitions, as they were sent.
        outcome: the stop reason, or «error».
        note: for an error, what the person was told.
        began, ended: seconds since the epoch.
        cost: US dollars; None where it is not known.
    """

    session_id: str
    turn_id: str
    cwd: str
    model: str
    messages: Sequence[Message]
    system: str | None
    tools: Sequence[Mapping[str, Any]] | None
    outcome: str
    note: str
    began: float
    ended: float
    api_calls: int
    usage: TurnUsage
    cost: float | None

    @property
    def completed(self) -> bool:
        """Whether the model came to an end by itself."""
        return self.outcome == "end_turn"


class Runs(Protocol):
    """Whoever takes runs that are over."""

    def add(self, run: Run) -> None:
        """Take one; must be short, and not raise."""
        ...


class TrajectoryLog:
    """Appends runs to `completed.jsonl` and `failed.jsonl`. Safe to use from several threads and processes.

    Args:
        directory: is made with the first run, for the user alone.
        redactor: what takes secrets out of texts; asked for once for each run.
        max_bytes: of one file; a fuller one becomes `NAME.1.jsonl`, and the oldest of four goes.
    """

    def __init__(
        self, directory: Path, redactor: Callable[[], Redact] = lambda: redact, max_bytes: int = _MAX_BYTES
    ) -> None:
        self._directory = directory
        self._redactor = redactor
        self._max_bytes = max_bytes
        self._waiting: queue.Queue[Run | None] = queue.Queue(_MOST_WAITING)
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None

    def add(self, run: Run) -> None:
        """Have a run written soon; takes no time. What cannot be written is in the log, and fails nobody's turn."""
        with self._lock:
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="trajectories", daemon=True)
                self._worker.start()
            try:
                self._waiting.put_nowait(run)
            except queue.Full:
                log.warning("the disk is too slow: the trajectory of turn %s is not kept", run.turn_id)

    def close(self, timeout: float = 5.0) -> None:
        """Wait until what was added is written, so many seconds at most; the next run begins anew."""
        with self._lock:
            worker, self._worker = self._worker, None
            if worker is None:
                return
            with contextlib.suppress(queue.Full):
                self._waiting.put(None, timeout=timeout)
            worker.join(timeout)

    def _work(self) -> None:
        while (run := self._waiting.get()) is not None:
            try:
                self._write(COMPLETED if run.completed else FAILED, line_of(run, self._redactor()))
            except Exception:  # a run that cannot be told must not end the telling of those after it
                log.exception("the trajectory of turn %s could not be written to %s", run.turn_id, self._directory)

    def _write(self, name: str, line: bytes) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with alone_in(self._directory):
            path = self._directory / f"{name}.jsonl"
            if path.exists() and path.stat().st_size + len(line) > self._max_bytes:
                self._rotate(name)
            file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
            try:
                _append(file, line)
            finally:
                os.close(file)

    def _rotate(self, name: str) -> None:
        for number in range(_OLDER, 0, -1):
            newer = self._directory / (f"{name}.{number - 1}.jsonl" if number > 1 else f"{name}.jsonl")
            with contextlib.suppress(FileNotFoundError):
                newer.replace(self._directory / f"{name}.{number}.jsonl")


def line_of(run: Run, redacting: Redact) -> bytes:
    """The run as a line of JSON, with its line feed."""
    line = {
        "conversations": conversations(run.messages, run.system, run.tools, redacting),
        "timestamp": datetime.fromtimestamp(run.ended, UTC).isoformat(),
        "model": run.model,
        "completed": run.completed,
        "outcome": run.outcome,
        "note": redacting(run.note),
        "session_id": run.session_id,
        "turn_id": run.turn_id,
        "cwd": run.cwd,
        "seconds": round(run.ended - run.began, 3),
        "api_calls": run.api_calls,
        "input_tokens": run.usage["input_tokens"],
        "output_tokens": run.usage["output_tokens"],
        "cost_usd": run.cost,
    }
    return f"{json.dumps(line, ensure_ascii=False)}\n".encode("utf-8", "replace")


def _append(file: int, line: bytes) -> None:
    """Write a line behind the last whole one: half a line, of who was killed while it wrote, would spoil this one.

    Raises:
        OSError: there is no room; the file is as it was.
    """
    end = _end_of_lines(file)
    os.ftruncate(file, end)
    left = memoryview(line)
    try:
        while left:
            left = left[os.write(file, left) :]
    except OSError:
        os.ftruncate(file, end)
        raise


def _end_of_lines(file: int) -> int:
    with open(file, "rb", closefd=False) as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - 1, 0))
        if stream.read() in {b"", b"\n"}:
            return size
        stream.seek(0)
        return stream.read().rfind(b"\n") + 1
