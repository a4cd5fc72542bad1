"""The messages of a connection, as the SDK's sessions take them: over a child's pipes, and with an end to be seen."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from agent_core.mcp.child import Child
from agent_core.mcp.errors import McpFailure

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from mcp.shared.message import SessionMessage

log = logging.getLogger(__name__)

Message = Any
"""A `SessionMessage` of the SDK, or an exception of its transports."""


def too_long(most: int) -> McpFailure:
    """What is said of a message of more than `most` bytes."""
    return McpFailure(f"It sent a message of more than {most // 1024 // 1024} MB.")


class Lines:
    """Cuts bytes into lines of at most `longest` bytes."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their ends.

        Raises:
            McpFailure: a line is too long.
        """
        *ended, rest = data.split(b"\n")
        lines = []
        for end in ended:
            lines.append(b"".join([*self._parts, end]))
            self._parts, self._length = [], 0
        if rest:
            self._parts.append(rest)
            self._length += len(rest)
        if self._length > self._longest:
            raise too_long(self._longest)
        return lines


class WatchedStream:
    """What a server sends, passed on.

    Args:
        on_end: called when nothing more comes.
        explain: what becomes of each message.
    """

    def __init__(
        self, inner: Any, on_end: Callable[[], None], explain: Callable[[Message], Message] = lambda message: message
    ) -> None:
        self._inner = inner
        self._on_end = on_end
        self._explain = explain

    @property
    def last_context(self) -> Any:
        """The context in which the last message was sent, where the transport knows it."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        try:
            message: SessionMessage | Exception = self._explain(await self._inner.receive())
        except Exception:
            # However it says so: this was the last.
            self._on_end()
            raise
        return message

    async def aclose(self) -> None:
        """Close it."""
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            message: SessionMessage | Exception = self._explain(await self._inner.__anext__())
        except StopAsyncIteration:
            self._on_end()
            raise
        return message

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


@asynccontextmanager
async def child_streams(
    child: Child, longest: int, on_failure: Callable[[McpFailure], None], on_noise: Callable[[str], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """The messages from and to a child, one a line of JSON.

    Args:
        longest: bytes of one message.
        on_failure: told why reading was given up.
        on_noise: told of each line that is no message.
    """
    import anyio  # noqa: PLC0415 - loaded with the SDK
    from mcp.shared.message import SessionMessage  # noqa: PLC0415

    from agent_core.mcp.message_reader import MessageReader  # noqa: PLC0415

    reader = MessageReader(on_noise, longest)
    arriving, to_read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_write, leaving = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        lines = Lines(longest)
        async with arriving:
            while data := await child.read():
                try:
                    complete = lines.add(data)
                except McpFailure as problem:
                    on_failure(problem)
                    return
                for line in complete:
                    for message in reader.read(line):
                        await arriving.send(SessionMessage(message))
            reader.end()

    async def write() -> None:
        async for item in leaving:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            reader.sent(item.message)
            await child.write(text.encode() + b"\n")

    async def carry(work: Callable[[], Any]) -> None:
        # A closed pipe or stream is how a connection ends: whoever reads sees it.
        with suppress(OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            await work()

    tasks = [asyncio.create_task(carry(read)), asyncio.create_task(carry(write))]
    try:
        yield to_read, to_write
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (arriving, to_read, to_write, leaving):
            stream.close()
