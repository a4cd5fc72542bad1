"""Runs one session's provider on a thread of its own: in order, in the background, its faults kept from turns."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any, TypeVar

from agent_core.memory.provider import MakeProvider, MemoryProvider
from tools.registry import ToolEntry

log = logging.getLogger(__name__)

_T = TypeVar("_T")
_MOST_WAITING = 64


class ProviderHost:
    """Calls a provider. Nothing here raises what the provider raises, and nothing waits longer than it is told to."""

    def __init__(self, name: str, make: MakeProvider, session_id: str, on_trouble: Callable[[str], None]) -> None:
        """Start it.

        Args:
            name: what the settings call it.
            on_trouble: told once that it does not work, in words for the person; from any thread.
        """
        self.name = name
        self._on_trouble = on_trouble
        self._jobs: queue.Queue[Callable[[], None] | None] = queue.Queue(_MOST_WAITING)
        self._provider: MemoryProvider | None = None
        self._told = False
        self._ended = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name=f"memory {name}", daemon=True)
        self._ready: Future[Sequence[ToolEntry]] = self._later(lambda: self._begin(make, session_id), ())
        self._thread.start()

    def tools(self, seconds: float) -> Sequence[ToolEntry]:
        """The tools that it adds; none where it is not ready within `seconds`."""
        try:
            return self._ready.result(seconds)
        except TimeoutError:
            self._trouble(f"was not ready within {seconds:g} s; the session has none of its tools")
            return ()

    def prefetch(self, query: str) -> Future[str]:
        """Begin to recall."""
        return self._later(lambda: _text(self._used().prefetch(query)), "")

    def note_late(self) -> None:
        """It still owes an answer to the prompt before."""
        self._trouble("has not answered yet what it was asked with the prompt before")

    def sync_turn(self, user: str, assistant: str) -> None:
        """Tell it of a turn, in the background."""
        self._later(lambda: self._used().sync_turn(user, assistant), None)

    def flush(self, seconds: float) -> bool:
        """Wait until it has done what it was told of; False where that takes longer than `seconds`."""
        done: Future[bool] = self._later(lambda: True, False, always=True)
        return _within(done, seconds, False)

    def end(self, seconds: float) -> bool:
        """Commit and let go, once; False where that takes longer than `seconds`: then it goes on by itself."""
        with self._lock:
            if self._ended:
                return True
            self._ended = True
        deadline = time.monotonic() + seconds
        try:
            self._jobs.put(self._finish, timeout=seconds)
            self._jobs.put(None, timeout=max(0.0, deadline - time.monotonic()))
        except queue.Full:
            self._trouble("has not ended its session in time; what it was last told may be lost")
            return False
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive():
            self._trouble("has not ended its session in time; what it was last told may be lost")
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def _later(self, work: Callable[[], _T], otherwise: _T, *, always: bool = False) -> Future[_T]:
        future: Future[_T] = Future()

        def job() -> None:
            try:
                value = work() if always or self._is_usable() else otherwise
            except (Exception, SystemExit) as problem:
                # It is code of the user's: it may raise anything, and the turn goes on without it.
                log.warning("the memory provider %s failed", self.name, exc_info=True)
                self._trouble(f"failed ({type(problem).__name__}: {problem})")
                value = otherwise
            _settle(future, value)

        if self._ended:
            future.set_result(otherwise)
            return future
        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            self._trouble("does not keep up; it is not told of some turns")
            future.set_result(otherwise)
        return future

    def _begin(self, make: MakeProvider, session_id: str) -> Sequence[ToolEntry]:
        provider: object = make()
        if not isinstance(provider, MemoryProvider):
            self._trouble(f"has given a {type(provider).__name__}, which is no memory provider: see docs/memory.md")
            return ()
        if not provider.is_available():
            self._trouble("says that it is not available")
            return ()
        provider.begin_session(session_id)
        self._provider = provider
        tools: tuple[object, ...] = tuple(provider.tools())
        entries = tuple(entry for entry in tools if isinstance(entry, ToolEntry))
        if len(entries) < len(tools):
            self._trouble("has given tools that are no ToolEntry; they are left out")
        return entries

    def _finish(self) -> None:
        provider = self._provider
        if provider is None:
            return
        for call in (provider.on_session_end, provider.shutdown):
            try:
                call()
            except (Exception, SystemExit) as problem:
                log.warning("the memory provider %s failed at its end", self.name, exc_info=True)
                self._trouble(f"failed at its end ({type(problem).__name__}: {problem})")

    def _is_usable(self) -> bool:
        return self._provider is not None or not self._ready.done()

    def _used(self) -> MemoryProvider:
        if self._provider is None:
            raise RuntimeError("the provider is not there")
        return self._provider

    def _trouble(self, what: str) -> None:
        with self._lock:
            first, self._told = not self._told, True
        log.warning("the memory provider %s %s", self.name, what)
        if first:
            self._on_trouble(
                f"The memory provider {self.name} {what[:300]}. The session goes on without it where need be."
            )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _within(future: Future[_T], seconds: float, otherwise: _T) -> _T:
    try:
        return future.result(seconds)
    except TimeoutError:
        return otherwise


def _settle(future: Future[Any], value: object) -> None:
    try:
        future.set_result(value)
    except InvalidStateError:  # whoever waited has given it up
        return
