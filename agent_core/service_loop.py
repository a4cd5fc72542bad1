"""One thread with an event loop, for async work with scopes of its own: MCP and language servers, the browser."""

from __future__ import annotations

import asyncio
import os
import threading
from asyncio import SubprocessTransport
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

# Its event loop, for packages that start a program by themselves and leave nobody a say in what variables it gets.

if TYPE_CHECKING:
    _Loop = asyncio.SelectorEventLoop
else:
    # On Windows, only the proactor starts programs.
    _Loop = getattr(asyncio, "ProactorEventLoop", asyncio.SelectorEventLoop)

_Protocol = TypeVar("_Protocol", bound=asyncio.BaseProtocol)
_given: ContextVar[Mapping[str, str] | None] = ContextVar("variables_of_programs", default=None)


class ProgramLoop(_Loop):
    """What a task starts within `programs_get` gets those variables in place of this process's."""

    async def subprocess_exec(
        self, protocol_factory: Callable[[], _Protocol], program: Any, *args: Any, **kwargs: Any
    ) -> tuple[SubprocessTransport, _Protocol]:
        """As every loop's."""
        if (given := _given.get()) is not None:
            kwargs["env"] = {**given, **_added(kwargs.get("env"))}
        return await super().subprocess_exec(protocol_factory, program, *args, **kwargs)


@contextmanager
def programs_get(variables: Mapping[str, str]) -> Iterator[None]:
    """Programs that this task, and the tasks that it begins, start meanwhile get these; and what is added for them.

    Raises:
        RuntimeError: the task runs on a loop that does not see to it.
    """
    sees_to_it = isinstance(asyncio.get_running_loop(), ProgramLoop)
    if not sees_to_it:
        raise RuntimeError("programs that are started on this loop would get all variables of this process")
    token = _given.set(variables)
    try:
        yield
    finally:
        _given.reset(token)


def _added(wanted: Mapping[str, str] | None) -> dict[str, str]:
    """What whoever starts the program has added to this process's variables."""
    return {name: value for name, value in (wanted or {}).items() if os.environ.get(name) != value}


# The thread; it starts when it is first used.

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
