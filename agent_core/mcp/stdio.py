"""The process of a stdio server: started in a group of its own, heard on its pipes, and gone at the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from agent_core.mcp.specs import McpFailure, McpHopeless, ServerSpec
from tools.environments.child_env import child_environment
from tools.environments.command_watch import open_exit_watch
from tools.environments.guardian import GO, Guardian, kill_marked, signal_group, start_waiting
from tools.environments.program_finder import PROGRAMS
from tools.os_compat import SIGKILL

if TYPE_CHECKING:
    from types import TracebackType

    from mcp.shared.message import SessionMessage


_READ_BYTES = 64 * 1024
_TAIL_CHARS = 4_000
_KILL_SECONDS = 2.0
_LAST_WORDS_SECONDS = 0.5


class Child:
    """A running server. Made by `start` and used on the service loop only, except `kill`.

    Attributes:
        output: what it writes to its standard output.
        exited: set when its process has ended.
    """

    def __init__(self, process: subprocess.Popen[bytes], guardian: Guardian, mark: str) -> None:
        self._process = process
        self._mark = mark
        self._guardian = guardian
        self._tail = ""
        self._stdin: asyncio.StreamWriter | None = None
        self.output = asyncio.StreamReader(limit=_READ_BYTES)
        self._transports: list[asyncio.BaseTransport] = []
        # Those that have no transport yet to close them.
        self._unopened = [pipe for pipe in (process.stdin, process.stderr, process.stdout) if pipe is not None]
        self._hearing: asyncio.Task[None] | None = None
        self._watch = open_exit_watch(process)
        self.exited = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._watch, self._note_exit)

    @classmethod
    async def start(cls, spec: ServerSpec, cwd: Path, guardian: Guardian, base: Mapping[str, str]) -> Child:
        """Start the server's program in `cwd`, not through a shell's parsing.

        Args:
            base: the variables of this process; the child gets them filtered, with those of the spec.

        Raises:
            McpHopeless: the program is not there or cannot be started.
        """
        env = child_environment(base, {"PWD": str(cwd), **dict(spec.env)})
        program = _program(spec, env)
        # What a server starts by name, as `#!/usr/bin/env node` does, must not come from a workspace either.
        beside = os.path.dirname(program)  # noqa: PTH120 - what it needs is often next to it, as node to npx
        env["PATH"] = f"{beside}{os.pathsep}{PROGRAMS.search_path(env.get('PATH', os.defpath))}"
        try:
            process, mark = start_waiting((program, *spec.args), guardian, cwd=cwd, env=env)
        except (OSError, ValueError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else str(problem)
            raise McpHopeless(f"{program} could not be started in {cwd}: {spec.hide(str(reason))}.") from problem
        child = cls(process, guardian, mark)
        try:
            await child._open_pipes()
        except BaseException:
            await child.end(0)
            raise
        return child

    @property
    def pid(self) -> int:
        """The process id, which is the number of its group."""
        return self._process.pid

    def last_words(self) -> str:
        """The last lines that it wrote to its standard error."""
        return self._tail.strip()

    def ended_how(self) -> str:
        """Its end in words, once it has exited: «exited with status 1»."""
        status = self._process.poll()
        if status is None:
            return "closed its output"
        if status >= 0:
            return f"exited with status {status}"
        return f"was ended by {_signal_name(-status)}"

    def kill(self) -> None:
        """Kill the whole group now; from any thread."""
        if self._process.returncode is None:
            signal_group(self.pid, SIGKILL)

    async def read_line(self, longest: int) -> bytes:
        """The next line of its standard output, with its end; b'' at the end.

        Raises:
            McpFailure: the line has more than `longest` bytes.
        """
        parts: list[bytes] = []
        while sum(map(len, parts)) <= longest:
            try:
                return b"".join([*parts, await self.output.readuntil(b"\n")])
            except asyncio.LimitOverrunError as problem:
                parts.append(await self.output.readexactly(problem.consumed))
            except asyncio.IncompleteReadError:
                return b""
        raise too_long(longest)

    async def write(self, data: bytes) -> None:
        """Write to its standard input.

        Raises:
            OSError: it does not read any more.
        """
        if self._stdin is None:
            raise BrokenPipeError("the input is not open")
        self._stdin.write(data)
        await self._stdin.drain()

    async def end(self, grace: float) -> None:
        """Close its input, give it `grace` seconds, then end it with all that it has started; all bounded."""
        if self._stdin is not None:
            self._stdin.close()
        if not await self.exits_in(grace):
            signal_group(self.pid, signal.SIGTERM)
            if not await self.exits_in(grace):
                self.kill()
                await self.exits_in(_KILL_SECONDS)
        self._process.poll()
        self._guardian.discard(self.pid)
        await self._let_go()
        # What has left its group, a browser for one.
        await asyncio.to_thread(kill_marked, self._mark)

    async def exits_in(self, seconds: float) -> bool:
        """Whether it exits within so many seconds, or has."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.exited.wait()
        return self.exited.is_set()

    async def _open_pipes(self) -> None:
        await self._connect(self.output, self._unopened.pop())
        errors = asyncio.StreamReader(limit=_READ_BYTES)
        await self._connect(errors, self._unopened.pop())
        transport, protocol = await self._loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), self._unopened.pop()
        )
        self._transports.append(transport)
        self._stdin = asyncio.StreamWriter(transport, protocol, None, self._loop)
        self._hearing = asyncio.create_task(self._hear(errors))
        self._stdin.write(GO)

    async def _connect(self, reader: asyncio.StreamReader, pipe: IO[bytes]) -> None:
        transport, _ = await self._loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        self._transports.append(transport)

    async def _hear(self, errors: asyncio.StreamReader) -> None:
        while data := await errors.read(_READ_BYTES):
            self._tail = (self._tail + data.decode("utf-8", "replace"))[-_TAIL_CHARS:]

    def _note_exit(self) -> None:
        self._loop.remove_reader(self._watch)
        # What it left behind would hold its pipes open. It is not reaped yet: the group's number is still its own.
        self.kill()
        self.exited.set()

    async def _let_go(self) -> None:
        self._loop.remove_reader(self._watch)
        os.close(self._watch)
        if self._hearing is not None:
            # Its group is gone, so this normally ends by itself; the last words come last.
            await asyncio.wait({self._hearing}, timeout=_LAST_WORDS_SECONDS)
            self._hearing.cancel()
            await asyncio.gather(self._hearing, return_exceptions=True)
        if self._stdin is not None and self._stdin.transport.get_write_buffer_size():
            self._stdin.transport.abort()  # a mere close would wait until all is read
        for transport in self._transports:
            transport.close()
        for pipe in self._unopened:
            pipe.close()


def _program(spec: ServerSpec, env: Mapping[str, str]) -> str:
    if os.sep in spec.command and not os.path.isabs(spec.command):  # noqa: PTH117
        raise McpHopeless(f"The command {spec.command!r} is a relative path. Give its absolute path.")
    if found := PROGRAMS.find(spec.command, env.get("PATH", os.defpath)):
        return found
    if os.path.isabs(spec.command):  # noqa: PTH117
        raise McpHopeless(f"There is no program {spec.command}. Install it, or correct its path in the settings.")
    raise McpHopeless(PROGRAMS.missing(spec.command, env.get("PATH", os.defpath)))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# Its messages, as the SDK's sessions take them, with an end to be seen.

log = logging.getLogger(__name__)

Message = Any
"""A `SessionMessage` of the SDK, or an exception of its transports."""


def too_long(most: int) -> McpFailure:
    """What is said of a message of more than `most` bytes."""
    return McpFailure(f"It sent a message of more than {most // 1024 // 1024} MB.")


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

    reader = MessageReader(on_noise)
    arriving, to_read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_write, leaving = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with arriving:
            try:
                while line := await child.read_line(longest):
                    for message in reader.read(line):
                        await arriving.send(SessionMessage(message))
            except McpFailure as problem:
                on_failure(problem)

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
