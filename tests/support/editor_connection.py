"""Raw JSON-RPC over two pipe ends: requests, answers, and waiting for what arrives."""
# ruff: noqa: ASYNC109 - a test says at each place how long it waits

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

from tests.support.editor_frames import Frame, summary
from tests.support.editor_host import EditorHost, Handler, RpcError
from tests.support.editor_pipes import Inbox, Outbox
from tests.support.waiting import PATIENCE
from tests.support.wire import WireInvariants, WireViolation, parse_line

T = TypeVar("T")


class AgentGone(ConnectionError):
    """The agent closed its output while something still waited for it."""


class Connection:
    """One connection to one agent.

    Attributes:
        frames: every message of both directions, in order.
        handlers: the methods the editor offers, by name; a test may replace any.
        host: the editor's files and terminals behind those.
        wire: what the invariants know about the connection.
    """

    def __init__(self, inbox: Inbox, outbox: Outbox, *, check: bool = True) -> None:
        self.frames: list[Frame] = []
        self.host = EditorHost()
        self.handlers: dict[str, Handler] = self.host.handlers()
        self.wire = WireInvariants()
        self._inbox = inbox
        self._outbox = outbox
        self._check = check
        self._failure: Exception | None = None
        self._reported = False
        self._ended = False
        self._ids = count(1)
        self._pending: dict[str, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiters: list[asyncio.Future[None]] = []
        inbox.listen(self._on_line, self._on_end)

    def begin(self, method: str, params: Any = None) -> asyncio.Future[Any]:
        """Send a request now; the future holds its result, or raises what `request` raises."""
        request_id = next(self._ids)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        # An answer that nobody waits for any more is no accident in these tests.
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._pending[json.dumps(request_id)] = answer
        self._send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}})
        if self._ended or self._failure is not None:
            self._fail_pending(self._failure or self._gone())
        return answer

    async def request(self, method: str, params: Any = None, timeout: float = PATIENCE) -> Any:
        """Send a request and wait for its result.

        Raises:
            RpcError: the agent answered with an error.
            AgentGone: the agent left first.
            WireViolation: the agent broke a rule of the wire.
            AssertionError: no answer in `timeout` seconds.
        """
        return await self.answer(self.begin(method, params), method, timeout)

    async def answer(self, begun: asyncio.Future[Any], what: str = "the request", timeout: float = PATIENCE) -> Any:
        """The result of a request that `begin` sent; raises like `request`."""
        done, _ = await asyncio.wait([begun], timeout=timeout)
        if not done:
            raise AssertionError(f"no answer to {what} in {timeout} s. {self._state()}")
        self._report()
        return begun.result()

    def notify(self, method: str, params: Any = None) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def send_raw(self, data: bytes) -> None:
        """Write bytes as they are; lines that are messages are noted like any other."""
        for line in data.split(b"\n"):
            with contextlib.suppress(ValueError, RecursionError):
                message = json.loads(line)
                if isinstance(message, dict):
                    self._sent(message)
        self._outbox.write(data)

    async def until(
        self, condition: Callable[[], T | None], timeout: float = PATIENCE, what: str = "the condition"
    ) -> T:
        """Wait until `condition()` is true, asked again after each message; what it gave."""
        try:
            async with asyncio.timeout(timeout):
                while True:
                    self._report()
                    if found := condition():
                        return found
                    if self._ended:
                        raise self._gone()
                    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiters.append(waiter)
                    await waiter
        except TimeoutError:
            raise AssertionError(f"{what} did not come in {timeout} s. {self._state()}") from None

    async def wait_for(
        self,
        predicate: Callable[[Frame], bool],
        timeout: float = PATIENCE,
        *,
        since: int = 0,
        what: str = "the message",
    ) -> Frame:
        """The first of `frames[since:]` that fits, now or later."""
        position = since

        def next_fitting() -> Frame | None:
            nonlocal position
            while position < len(self.frames):
                position += 1
                if predicate(self.frames[position - 1]):
                    return self.frames[position - 1]
            return None

        return await self.until(next_fitting, timeout, what)

    def pause_reading(self) -> None:
        """Leave what the agent writes in the pipe."""
        self._inbox.pause()

    def resume_reading(self) -> None:
        self._inbox.resume()

    @property
    def ended(self) -> bool:
        """Whether the agent has closed its output, and all of it was read."""
        return self._ended

    def close_stdin(self) -> None:
        """The agent sees the end of its input, after what was sent before."""
        self._outbox.finish()

    def close_stdout(self) -> None:
        """The agent's next write fails."""
        self._inbox.close()

    async def stdout_closed(self) -> None:
        """Wait until `close_stdout` has had its effect."""
        await self._inbox.closed()

    async def _let_go(self) -> None:
        await self.host.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._outbox.closed()
        await self._inbox.closed()

    def _on_line(self, line: bytes) -> None:
        try:
            message = parse_line(line)
        except WireViolation as violation:
            self._break(violation)
            return
        self.frames.append(Frame.received(message))
        try:
            self.wire.received(message)
        except WireViolation as violation:
            self._break(violation)
        if "method" not in message:
            self._settle(message)
        elif "id" in message:
            self._called(message)
        self._wake()

    def _on_end(self) -> None:
        self._ended = True
        self._fail_pending(self._gone())

    def _settle(self, message: dict[str, Any]) -> None:
        answer = self._pending.pop(json.dumps(message.get("id")), None)
        if answer is None or answer.done():
            return
        if "error" in message:
            error = message["error"]
            answer.set_exception(RpcError(error["code"], error["message"], error.get("data")))
        else:
            answer.set_result(message.get("result"))

    def _called(self, message: dict[str, Any]) -> None:
        """The agent asks something of the editor."""
        self._start(self._serve(message))

    def _start(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        return task

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self._break(error)
        self._wake()  # what it has done may be what somebody waits for

    async def _serve(self, message: dict[str, Any]) -> None:
        handler = self.handlers.get(message["method"], _unknown)
        try:
            result = await handler(message.get("params") or {})
        except RpcError as error:
            self._send({"jsonrpc": "2.0", "id": message["id"], "error": error.as_json()})
        else:
            self._answer(message["id"], result)

    def _answer(self, request_id: Any, result: Any) -> None:
        self._send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def _send(self, message: dict[str, Any]) -> None:
        self._sent(message)
        self._outbox.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    def _sent(self, message: dict[str, Any]) -> None:
        self.frames.append(Frame.sent(message))
        self.wire.sent(message)

    def _break(self, failure: Exception) -> None:
        """Something went wrong that the test must hear of; the first such thing is what it hears."""
        if self._check and self._failure is None:
            self._failure = failure
            self._fail_pending(failure)

    def _fail_pending(self, error: Exception) -> None:
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(error)
        self._pending.clear()
        self._wake()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _report(self) -> None:
        if self._failure is not None:
            self._reported = True
            raise self._failure

    def _gone(self) -> AgentGone:
        return AgentGone(f"the agent closed its output. {self._state()}")

    def _state(self) -> str:
        return summary(self.frames)


async def _unknown(params: dict[str, Any]) -> Any:
    raise RpcError(-32601, "Method not found")
