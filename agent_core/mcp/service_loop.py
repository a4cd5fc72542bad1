"""One thread with an event loop, for async work with scopes of its own; it starts when it is first used."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from agent_core.mcp.program_loop import ProgramLoop

_T = TypeVar("_T")
_END_SECONDS = 5.0


class ServiceLoop:
    """An event loop on a daemon thread; one for a process. Safe to use from several threads.

    Nothing may block it: what waits for a turn or an editor does so on its own thread.
    """

    def __init__(self, name: str = "services") -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Run `work` as a task of the loop; cancelling the future cancels the task."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def stop(self) -> None:
        """Cancel what is left and end the thread; a later `submit` starts another."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_END_SECONDS)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = ProgramLoop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name=self._name, daemon=True)
                self._thread.start()
            return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()
