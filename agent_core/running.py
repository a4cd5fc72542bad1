"""What the sessions of a process are doing, in a small file that `hermes-acp doctor` reads from outside."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from agent_core.activity import Activity, Doing, span
from agent_core.sessions.leases import ProcessIdentity, is_alive
from agent_core.sessions.records import Holder
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NOFOLLOW
from tools.redaction import redact

log = logging.getLogger(__name__)

STALE_AFTER = 60.0
"""Seconds without a word of a process that lives after which it counts as hung."""

_PAUSE = 2.0
_REPEAT = 10.0
_LONG = 600.0


@dataclass(frozen=True, slots=True)
class RunningSession:
    """A session in whose turn something is done, as its process told it."""

    id: str
    cwd: str
    doing: Doing


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A process with turns that run. `told` is when it said so last, in seconds since the epoch."""

    holder: Holder
    told: float
    sessions: tuple[RunningSession, ...]


class RunReport:
    """Tells of the turns of this process while any runs. Safe to use from several threads.

    Args:
        directory: where `PID.json` goes, for the user alone; it is removed when no turn runs any more.
        pause: seconds between two looks.
    """

    def __init__(self, directory: Path, pause: float = _PAUSE) -> None:
        self._file = directory / f"{os.getpid()}.json"
        self._pause = pause
        self._lock = threading.Lock()
        self._followed: dict[str, tuple[str, Activity]] = {}
        self._worker: threading.Thread | None = None
        self._ended = threading.Event()
        self._warned: dict[str, float] = {}

    def follow(self, session_id: str, cwd: str, activity: Activity) -> None:
        """A turn of the session has begun; it is told of until it is over."""
        with self._lock:
            self._followed[session_id] = (cwd, activity)
            if self._worker is None and not self._ended.is_set():
                self._worker = threading.Thread(target=self._work, name="run-report", daemon=True)
                self._worker.start()

    def close(self) -> None:
        """Tell no more."""
        self._ended.set()
        with self._lock:
            worker = self._worker
        if worker is not None:
            worker.join(self._pause + 1.0)
        self._remove()

    def _work(self) -> None:
        before, written = "", 0.0
        process: dict[str, Any] | None = None
        # A turn that is over at once leaves nothing to be told; and its request is not to wait for what is done here.
        while not self._ended.wait(self._pause):
            sessions = self._look()
            if sessions is None:
                self._remove()
                return
            if process is None:
                _drop_left(self._file.parent)
                process = asdict(replace(ProcessIdentity.current().holder(0.0), token=""))
            now, text = time.time(), json.dumps(sessions)
            self._warn_of_long(now, sessions)
            if text != before or now - written >= _REPEAT:
                before, written = text, now
                self._write({"process": process, "told": now, "sessions": sessions})

    def _look(self) -> list[dict[str, Any]] | None:
        """What is done in each session; None, and the worker's end, where no turn runs."""
        with self._lock:
            found = {name: (cwd, activity.now()) for name, (cwd, activity) in self._followed.items()}
            for name, (_, doing) in found.items():
                if doing.kind == "idle":
                    del self._followed[name]
            if not self._followed:
                self._worker = None
                return None
        return [
            {"id": name, "cwd": cwd, **asdict(doing), "detail": redact(doing.detail)}
            for name, (cwd, doing) in found.items()
            if doing.kind != "idle"
        ]

    def _warn_of_long(self, now: float, sessions: list[dict[str, Any]]) -> None:
        for each in sessions:
            is_new = self._warned.get(each["id"]) != each["since"]
            if each["kind"] != "asking" and now - each["since"] >= _LONG and is_new:
                self._warned[each["id"]] = each["since"]
                log.warning(
                    "session %s: %s %s for %s now",
                    each["id"],
                    each["kind"],
                    each["detail"],
                    span(now - each["since"]),
                )

    def _write(self, value: Mapping[str, Any]) -> None:
        new = self._file.with_suffix(".new")
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
                json.dump(value, file)
            new.replace(self._file)
        except OSError as problem:
            log.info("what runs cannot be told in %s: %s", self._file, problem.strerror)

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            self._file.unlink()


def _drop_left(directory: Path) -> None:
    """Remove the files of processes that were killed: a living one would have written its own again."""
    with contextlib.suppress(OSError):
        for file in directory.iterdir():
            if file.suffix in {".json", ".new"} and time.time() - file.stat().st_mtime > STALE_AFTER:
                process = _read(file) if file.suffix == ".json" else None
                if process is None or not is_alive(process.holder, time.time()):
                    file.unlink(missing_ok=True)


def running_processes(directory: Path) -> Iterator[RunningProcess]:
    """The processes that tell of turns and live; files of others are passed over."""
    for file in sorted(directory.glob("*.json")):
        process = _read(file)
        if process is not None and is_alive(process.holder, time.time()):
            yield process


def _read(file: Path) -> RunningProcess | None:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        sessions = tuple(
            RunningSession(
                str(each["id"]),
                str(each["cwd"]),
                Doing(each["kind"], str(each["detail"]), float(each["since"]), float(each["turn_since"])),
            )
            for each in value["sessions"]
        )
        return RunningProcess(Holder(**value["process"]), float(value["told"]), sessions)
    except (OSError, ValueError, KeyError, TypeError):  # half a file, or one of another version
        return None
