"""A fake editor on an event loop in a thread of its own, and what a session's worker threads call it with."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from acp_adapter.capabilities import ClientCapabilities, read_capabilities
from acp_adapter.client_io.calls import EditorCalls
from acp_adapter.events import Outbox
from acp_adapter.projection import CardFields
from agent_core.events import SessionEvent
from tests.support.agent_end import AgentEnd
from tests.support.editor import JETBRAINS, Editor
from tests.support.editor_frames import Frame
from tests.support.editor_host import Params
from tests.support.editor_profiles import name_of

SESSION = "s"
_T = TypeVar("_T")


class HostedEditor:
    """Everything here may be used from the test's own thread.

    Attributes:
        calls: the session's calls, over a real transport and two pipes.
        client: what the editor has offered.
    """

    def __init__(self, profile: Mapping[str, Any]) -> None:
        self.client: ClientCapabilities = read_capabilities(profile, {"name": name_of(profile)})
        self._profile = profile
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), name="editor")
        self._thread.start()
        assert self._ready.wait(10), "the editor does not start"

    calls: EditorCalls
    editor: Editor
    _loop: asyncio.AbstractEventLoop
    _over: asyncio.Event

    @property
    def files(self) -> Any:
        """How the editor treats files."""
        return self.editor.host.files

    @property
    def terminals(self) -> Mapping[str, Any]:
        """The terminals that are not released."""
        return self.editor.host.terminals

    def methods(self) -> list[str]:
        """What the editor was asked for, in order."""
        return [str(frame.method) for frame in self._requests()]

    def asked(self, method: str) -> list[Params]:
        """The parameters of each request for `method`."""
        return [frame.params for frame in self._requests() if frame.method == method]

    def answer(self, method: str, handler: Callable[[Params], Coroutine[Any, Any, Any]]) -> None:
        """From now on the editor answers `method` with it."""
        self.editor.handlers[method] = handler

    def silence(self, method: str) -> None:
        """From now on the editor never answers `method`."""

        async def never(_: Params) -> Any:
            await asyncio.get_running_loop().create_future()

        self.answer(method, never)

    def on_loop(self, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Run something where the editor lives."""
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result(10)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the editor does not end"

    def _requests(self) -> list[Frame]:
        return [frame for frame in list(self.editor.frames) if not frame.ours and "id" in frame.message]

    async def _live(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        end = AgentEnd()
        end.transport.attach(self._loop)
        answers = asyncio.create_task(_hear(end))
        async with await Editor.over(end.reader, end.writer) as self.editor:
            self.editor.wire.begin(self._profile, SESSION)
            outbox = Outbox(self._loop, _shown_to_nobody, end.transport.once_written)
            self.calls = EditorCalls(end.transport, self._loop, SESSION, outbox, CardFields())
            self._ready.set()
            await self._over.wait()
        await answers
        await asyncio.to_thread(end.close)


@contextmanager
def hosted_editor(profile: Mapping[str, Any] = JETBRAINS) -> Iterator[HostedEditor]:
    """An editor with the capabilities of `profile`; broken rules of the wire show at the end."""
    hosted = HostedEditor(profile)
    with contextlib.closing(hosted):
        yield hosted


async def _hear(end: AgentEnd) -> None:
    while await end.transport.receive() is not None:
        pass


def _shown_to_nobody(_: SessionEvent) -> int:
    return 0
