"""A batch: its prompts, what came of each, the directory of its results, and running them in an executor."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from agent_core.errors import RequestError
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NOFOLLOW, lock

# The prompts of a batch: a line of JSON each.

_OWN = ("id", "prompt", "cwd", "model")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class BatchError(RequestError):
    """A batch cannot be begun; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Item:
    """One prompt.

    Attributes:
        id: names it in the batch; letters, digits, `.`, `_` and `-`.
        cwd: the directory it works in, absolute; None: an empty one of its own.
        model: provider:model; '' is the settings' choice.
        more: whatever else stood in its line; it comes back with the result.
    """

    id: str
    prompt: str
    cwd: Path | None = None
    model: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Tells apart what is asked: another prompt, directory or model under the same id is another item."""
        asked = json.dumps([self.prompt, str(self.cwd or ""), self.model])
        return hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()[:16]


def read_items(lines: Iterable[str], name: str, default_cwd: Path | None = None) -> list[Item]:
    """The items of a JSONL file; empty lines are passed over.

    A line is an object with `prompt` and, where wanted, `id` (its number otherwise), `cwd` and `model`; or just a
    text, which is the prompt.

    Args:
        name: of the file, for errors.
        default_cwd: where items work that do not say it; relative directories start there, or where we are.

    Raises:
        BatchError: a line is no item, or two have one id. Nothing was begun.
    """
    items: dict[str, Item] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        item = _item(line, number, f"{name}, line {number}", default_cwd)
        if item.id in items:
            raise BatchError(f"{name}, line {number}: the id {item.id!r} is taken by an earlier line. Rename one.")
        items[item.id] = item
    if not items:
        raise BatchError(f'{name} has no prompts. Write one a line, as {{"id": "a", "prompt": "…"}}.')
    return list(items.values())


def _item(line: str, number: int, where: str, default_cwd: Path | None) -> Item:
    try:
        value = json.loads(line)
    except ValueError as problem:
        raise BatchError(f"{where}: not JSON ({problem}). Each line is one JSON object.") from problem
    if isinstance(value, str):
        value = {"prompt": value}
    if not isinstance(value, dict):
        raise BatchError(f"{where}: an object or a text is wanted, not {type(value).__name__}.")
    prompt = _text(value, "prompt", where)
    if not prompt.strip():
        raise BatchError(f'{where}: it has no "prompt".')
    name = str(value.get("id", number))
    if not _ID.fullmatch(name):
        raise BatchError(f"{where}: the id {name!r} must be 1 to 100 letters, digits, '.', '_' or '-'.")
    more = {key: each for key, each in value.items() if key not in _OWN}
    return Item(name, prompt, _directory(_text(value, "cwd", where), where, default_cwd), _model(value, where), more)


def _text(value: Mapping[str, Any], key: str, where: str) -> str:
    found = value.get(key, "")
    if not isinstance(found, str):
        raise BatchError(f'{where}: "{key}" must be a text, not {type(found).__name__}.')
    return found


def _model(value: Mapping[str, Any], where: str) -> str:
    model = _text(value, "model", where)
    if model and ":" not in model:
        raise BatchError(f'{where}: "model" is written provider:model, not {model!r}.')
    return model


def _directory(given: str, where: str, default: Path | None) -> Path | None:
    if not given:
        return default
    path = ((default or Path.cwd()) / Path(given).expanduser()).resolve()
    if not path.is_dir():
        raise BatchError(f'{where}: there is no directory {str(path)!r} ("cwd").')
    return path


# What came of one prompt of a batch.

Status = Literal["completed", "stopped", "failed", "timed_out", "cancelled"]
"""`stopped`: at a limit or by a refusal, as `stop_reason` says; `cancelled`: by whoever ran the batch."""

FINAL: frozenset[str] = frozenset({"completed", "stopped", "failed", "timed_out"})
"""What is not tried again by itself."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an item ended.

    Attributes:
        digest: of the item, as it was asked.
        error: for a failure: what was tried, what happened, what to do.
        session_id: the stored session; '' where it did not come to one.
        cost: US dollars; None where it is not known.
        finished_at: seconds since the epoch.
        trajectory: the run as a line of JSON to train with; '' where it came to nothing.
    """

    id: str
    digest: str
    status: Status
    answer: str = ""
    stop_reason: str = ""
    error: str = ""
    session_id: str = ""
    cwd: str = ""
    model: str = ""
    seconds: float = 0.0
    api_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    finished_at: float = 0.0
    more: Mapping[str, Any] = field(default_factory=dict)
    trajectory: str = ""

    def line(self) -> dict[str, Any]:
        """What stands in `results.jsonl`."""
        names = (name for name in self.__dataclass_fields__ if name not in {"trajectory", "cost", "more"})
        return {**{name: getattr(self, name) for name in names}, "cost_usd": self.cost, "item": dict(self.more)}


# The directory that a batch writes to: `results.jsonl`, and its runs to train with. It survives any kill.
# Only the process that runs the batch writes. A run's trajectory is written before its result, so what a kill leaves
# behind is at most one line too many or a part of one, which the next start takes away.

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


# Runs the items in an executor, so many at a time, and stores each result as it comes.

Run = Callable[[Item], Outcome]

_LOOK_AGAIN = 0.5


@dataclass(slots=True)
class Batch:
    """One batch on its way. `stop` may come from any thread, or a signal handler.

    Attributes:
        run: runs one item; what an executor of processes is given must be picklable.
        make_executor: makes who runs it; once more after an executor broke, as one does whose process was killed.
        workers: so many items run at the same time.
        on_done: is told of each result, once it is stored.
    """

    results: Results
    run: Run
    make_executor: Callable[[], Executor]
    workers: int
    on_done: Callable[[Outcome], None] = lambda _: None
    _stopped: threading.Event = field(default_factory=threading.Event)
    _running: dict[Future[Outcome], Item] = field(default_factory=dict)

    def stop(self) -> None:
        """Begin no more items; those that run come to their end."""
        self._stopped.set()

    def go(self, items: Sequence[Item]) -> int:
        """Run `items`; returns how many were not begun, or have to be run again.

        Raises:
            BatchError: a result could not be stored; the rest was not begun.
        """
        waiting, suspects = deque(items), deque[Item]()
        executor = self.make_executor()
        try:
            while not self._stopped.is_set() or self._running:
                usable = self._submit(executor, waiting, suspects)
                if usable and not self._running:
                    break
                broken = self._gather()
                if broken or not usable:
                    executor.shutdown(wait=False, cancel_futures=True)
                    executor = self.make_executor()
                    self._blame(broken, suspects)
        except BaseException:
            self.stop()
            raise
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
        return len(waiting) + len(suspects)

    def _submit(self, executor: Executor, waiting: deque[Item], suspects: deque[Item]) -> bool:
        """Begin as many as may run; False where the executor takes none any more."""
        while not self._stopped.is_set():
            # Whose process died beside others runs alone: so it is known who killed it.
            queue, most = (suspects, 1) if suspects else (waiting, self.workers)
            if not queue or len(self._running) >= most:
                break
            try:
                future = executor.submit(self.run, queue[0])
            except BrokenExecutor:
                return False
            self._running[future] = queue.popleft()
        return True

    def _gather(self) -> list[Item]:
        """Store what is done; the items whose executor broke, if it did."""
        done, _ = wait(self._running, timeout=_LOOK_AGAIN, return_when=FIRST_COMPLETED)
        if any(isinstance(_problem(future), BrokenExecutor) for future in done):
            done, _ = wait(self._running)  # all of them break together
        broken = []
        for future in done:
            item = self._running.pop(future)
            match _problem(future):
                case None:
                    self._store(future.result())
                case BrokenExecutor():
                    broken.append(item)
                case problem:
                    self._store(_failed(item, f"It could not be run: {type(problem).__name__}: {problem}"))
        return broken

    def _blame(self, broken: list[Item], suspects: deque[Item]) -> None:
        if len(broken) == 1 and not self._stopped.is_set():
            self._store(_failed(broken[0], "The process that ran it died (killed, or out of memory). Try it alone."))
        else:
            suspects.extend(broken)

    def _store(self, outcome: Outcome) -> None:
        if outcome.status in FINAL:
            self.results.add(outcome)
        self.on_done(outcome)


def _problem(future: Future[Outcome]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as problem:
        return problem


def _failed(item: Item, error: str) -> Outcome:
    return Outcome(item.id, item.digest, "failed", error=error, cwd=str(item.cwd or ""), more=item.more)
