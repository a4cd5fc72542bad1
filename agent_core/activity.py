"""What sessions' agents are doing, and since when: for the editor, and in a small file for `hermes-acp doctor`."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent_core.callbacks import AgentCallbacks, CallFinished, CallRequested, CallRunning, ToolProgress
from agent_core.sessions.leases import is_alive, this_process
from agent_core.sessions.records import Holder
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NOFOLLOW
from tools.redaction import redact

if TYPE_CHECKING:
    from tools.agent_ports import PersonAnswer, PersonPage, PersonQuestion
    from tools.ports import Interrupt
Kind = Literal["idle", "waiting_for_model", "receiving", "running", "asking", "compressing"]

_TELLING = ("command", "goal", "path", "pattern", "query", "url", "urls", "name", "action", "mode")
_MOST_CHARS = 80
_WORDS: Mapping[Kind, str] = {
    "idle": "nothing",
    "waiting_for_model": "waiting for the model",
    "receiving": "receiving the model's answer",
    "running": "running",
    "asking": "waiting for your answer",
    "compressing": "compressing the conversation",
}


@dataclass(frozen=True, slots=True)
class Doing:
    """What is done now.

    Attributes:
        detail: the model, or the tool with its argument in short.
        since: seconds since the epoch.
        turn_since: when the turn began; 0.0 where none runs.
    """

    kind: Kind = "idle"
    detail: str = ""
    since: float = 0.0
    turn_since: float = 0.0

    def text(self, now: float) -> str:
        """A line for people."""
        what = f"{_WORDS[self.kind]}: {self.detail}" if self.detail else _WORDS[self.kind]
        return what if self.kind == "idle" else f"{what}, for {span(now - self.since)}"


@dataclass(frozen=True, slots=True)
class _Call:
    title: str
    since: float
    runs: bool = False


class Activity:
    """Follows the turns of one session. Safe to use from several threads, and nearly free.

    Args:
        clock: seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._doing = Doing(since=clock())
        self._calls: dict[str, _Call] = {}
        self._asking: Doing | None = None
        self._turns = 0
        # Is told, on the turn's thread, that a turn has begun.
        self.on_begin: Callable[[Activity], None] | None = None

    def now(self) -> Doing:
        """What is done now. A call that was requested and does not run yet waits for the person, or soon runs."""
        with self._lock:
            doing, calls = self._doing, list(self._calls.values())
            if self._asking is not None:
                return replace(self._asking, turn_since=doing.turn_since)
        if not calls:
            return doing
        running = [call for call in calls if call.runs]
        oldest = min(running or calls, key=lambda call: call.since)
        more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
        kind: Kind = "running" if running else "asking"
        return Doing(kind, f"{oldest.title}{more}", oldest.since, doing.turn_since)

    def begin(self) -> int:
        """A turn begins; the number by which `end` knows it."""
        now = self._clock()
        with self._lock:
            self._calls.clear()
            self._asking = None
            self._doing = Doing("waiting_for_model", "", now, now)
            self._turns += 1
            number = self._turns
        if self.on_begin is not None:
            self.on_begin(self)
        return number

    def turn(self, kind: Kind, detail: str = "") -> None:
        """The turn's own work is another now."""
        with self._lock:
            if self._doing.kind != kind or self._doing.detail != detail:
                self._doing = Doing(kind, detail, self._clock(), self._doing.turn_since)

    def end(self, number: int) -> None:
        """That turn is over; nothing happens where another has taken its place."""
        with self._lock:
            if number != self._turns:
                return
            self._calls.clear()
            self._asking = None
            self._doing = Doing(since=self._clock())

    def heard(self, callbacks: AgentCallbacks) -> AgentCallbacks:
        """Listeners that tell `callbacks` everything, and follow it here."""
        return replace(
            callbacks,
            stream_delta_callback=self._receiving(callbacks.stream_delta_callback),
            reasoning_callback=self._receiving(callbacks.reasoning_callback),
            tool_progress_callback=self._following(callbacks.tool_progress_callback),
            ask_callback=None if callbacks.ask_callback is None else self._waiting(callbacks.ask_callback),
        )

    def _receiving(self, listener: Callable[[str], None] | None) -> Callable[[str], None]:
        def heard(text: str) -> None:
            # Without the lock: of many pieces only the first changes anything.
            if self._doing.kind != "receiving":
                self.turn("receiving", self._doing.detail)
            if listener is not None:
                listener(text)

        return heard

    def _following(self, listener: Callable[[ToolProgress], None] | None) -> Callable[[ToolProgress], None]:
        def heard(progress: ToolProgress) -> None:
            self._follow(progress)
            if listener is not None:
                listener(progress)

        return heard

    def _waiting(
        self, ask: Callable[[PersonQuestion | PersonPage, Interrupt], PersonAnswer]
    ) -> Callable[[PersonQuestion | PersonPage, Interrupt], PersonAnswer]:
        def asked(question: PersonQuestion | PersonPage, interrupt: Interrupt) -> PersonAnswer:
            with self._lock:
                self._asking = Doing("asking", "", self._clock())
            try:
                return ask(question, interrupt)
            finally:
                with self._lock:
                    self._asking = None

        return asked

    def _follow(self, progress: ToolProgress) -> None:
        match progress:
            case CallRequested(call_id=call_id, name=name, arguments=arguments):
                call = _Call(_title(name, arguments), self._clock())
                with self._lock:
                    self._calls[call_id] = call
            case CallRunning(call_id=call_id):
                with self._lock:
                    if call_id in self._calls:
                        self._calls[call_id] = _Call(self._calls[call_id].title, self._clock(), runs=True)
            case CallFinished(call_id=call_id):
                with self._lock:
                    self._calls.pop(call_id, None)
            case _:
                return


def span(seconds: float) -> str:
    """A length of time for people."""
    whole = max(0, int(seconds))
    if whole < 60:  # noqa: PLR2004
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"  # noqa: PLR2004


def _title(name: str, arguments: Mapping[str, Any]) -> str:
    value = next((arguments[key] for key in _TELLING if arguments.get(key)), "")
    line = " ".join(str(value).split("\n", 1)[0].split())
    short = line if len(line) <= _MOST_CHARS else f"{line[: _MOST_CHARS - 1]}…"
    return f"{name} {short}".rstrip()


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
                process = asdict(replace(this_process(), token=""))
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


# Which session and turn a thread works for, so that each log record can say it.

NOWHERE = "-"
_where: ContextVar[tuple[str, str]] = ContextVar("where", default=(NOWHERE, NOWHERE))


@contextlib.contextmanager
def working_for(session_id: str, turn_id: str) -> Iterator[None]:
    """Until the block is left, this thread's log records are of that turn; who copies its context inherits that."""
    token = _where.set((session_id or NOWHERE, turn_id or NOWHERE))
    try:
        yield
    finally:
        _where.reset(token)


def where() -> tuple[str, str]:
    """Ids of the session and the turn that this thread works for; `-` for none."""
    return _where.get()
