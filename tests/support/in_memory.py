"""A whole server in the test's own event loop, with a fake editor at the other end of two pipes."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from acp_adapter.server import serve
from acp_adapter.startup import FirstAnswer, Greeting, greet
from acp_adapter.transport import Transport
from agent_core.config import ConfigSource, Overrides
from agent_core.home import Home
from tests.support.agent_end import AgentEnd
from tests.support.editor import PLAIN, Editor, Frame
from tests.support.made_database import put_database

OFFLINE = Overrides(model="offline", provider="offline")

EditorFactory = Callable[..., Awaitable[Editor]]
Serve = Callable[[Transport, ConfigSource, Greeting], Awaitable[None]]


@asynccontextmanager
async def serving(
    home: Path,
    *,
    config: ConfigSource | None = None,
    front_door: bool = False,
    server: Serve = serve,
    check: bool = True,
    memory: Callable[[ConfigSource], FirstAnswer] | None = None,
    transport: type[Transport] = Transport,
) -> AsyncIterator[Editor]:
    """An editor whose agent runs over a real transport. At the end the server must come to its own end.

    Args:
        config: in place of the home's settings with the offline model.
        front_door: let the front door answer first, as the process does.
        server: in place of `serve`.
        memory: what the front door remembers; without it nothing.
        transport: in place of the real one.
    """
    put_database(home)
    end = AgentEnd(transport)
    settings = config or ConfigSource(Home(home), OFFLINE)
    greeted = functools.partial(greet, end.transport, settings.load, memory(settings) if memory else None)
    running = asyncio.create_task(_run(end.transport, settings, server, greeted if front_door else Greeting))
    editor = await Editor.over(end.reader, end.writer, check=check)
    try:
        yield editor
    finally:
        try:
            await editor.close()
        finally:
            await asyncio.wait_for(running, 10)
            await asyncio.to_thread(end.close)
    assert not (check and end.broken_rules), end.broken_rules


async def _run(transport: Transport, settings: ConfigSource, server: Serve, greeted: Callable[[], Greeting]) -> None:
    greeting = await asyncio.to_thread(greeted)
    if not greeting.ended:
        await server(transport, settings, greeting)


async def start_session(start: EditorFactory, workspace: Path) -> tuple[Editor, str]:
    """A plain editor with a session in `workspace`."""
    editor = await start()
    await editor.initialize(PLAIN)
    return editor, await editor.new_session(workspace)


def permission_questions(editor: Editor) -> list[Frame]:
    """The permission questions that the editor was asked."""
    return [frame for frame in editor.frames if frame.method == "session/request_permission"]


def titles_of_questions(editor: Editor) -> list[str]:
    """What the editor was asked to allow."""
    return [frame.params["toolCall"]["title"] for frame in permission_questions(editor)]
