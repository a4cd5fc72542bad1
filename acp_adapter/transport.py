"""The connection to the client: the `Transport` that the protocol SDK reads from and writes to.

It answers by itself what is no valid message, keeps one outgoing FIFO for the SDK's messages and ours, knows which
requests are unanswered, and tells when stdin ends or stdout breaks. Until `attach`, it is used without an event loop.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from acp_adapter.jsonrpc import (
    INVALID_REQUEST,
    ClientGone,
    Incoming,
    LineReader,
    LineWriter,
    OutgoingRequests,
    Rejected,
    RequestId,
    WireError,
    encode,
    is_id,
    make_error,
    parse_line,
    sanitised,
    wrap_meta,
)
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    import asyncio

    from acp_adapter.export.recording import Tap
    from acp_adapter.wsl import Wsl, WslPaths


# The paths of a message as the editor has them, and as we have them: the same, but for a Windows editor and WSL.
# The mapping begins with the first directory that is a path of Windows. An editor that speaks Linux paths, as one
# does that has a helper of its own inside WSL, never sees any of it.


class EditorPaths:
    """Maps the paths of one connection. `incoming` and `outgoing` may run on different threads."""

    def __init__(self, find: Callable[[], Wsl | None] | None = None) -> None:
        """`find` tells which WSL we are in; the machine's own when None."""
        self._find = find
        self._mapping: WslPaths | None = None
        self._looked = False

    def incoming(self, message: dict[str, Any]) -> dict[str, Any]:
        """A message of the editor, with our paths."""
        params = message.get("params")
        if not isinstance(params, dict):
            return message
        if not self._looked and isinstance(cwd := params.get("cwd"), str) and _is_of_windows(cwd):
            self._mapping = self._begun(cwd)
            self._looked = True
        return message if self._mapping is None else {**message, "params": self._mapping.ours(params)}

    def outgoing(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """A message of ours, with the editor's paths."""
        return message if self._mapping is None else self._mapping.theirs(message)

    def _begun(self, first: str) -> WslPaths | None:
        from acp_adapter.wsl import WslPaths, find_wsl  # noqa: PLC0415 - few editors need it

        wsl = (self._find or find_wsl)()
        return None if wsl is None else WslPaths(wsl, first)


def _is_of_windows(path: str) -> bool:
    return path[1:3] in {":", ":\\", ":/"} or path[:2] in {"\\\\", "//"}


# Messages on their way from the reader thread to whoever takes them: first the front door, then the event loop.


class Inbox:
    """A queue with a blocking and an awaiting end; at most one of the two is used at a time.

    `put` blocks the reader thread while `bound` messages wait, or have more than `most_bytes` together, so that a
    flood stays in the pipe.
    """

    def __init__(self, bound: int = 1000, most_bytes: int = 64 << 20) -> None:
        self._bound = bound
        self._most_bytes = most_bytes
        self._condition = threading.Condition()
        self._queue: deque[tuple[Incoming | None, int]] = deque()
        self._bytes = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiter: asyncio.Future[None] | None = None

    def put(self, message: Incoming | None, size: int = 0) -> None:
        """Add a message of `size` bytes; None says that no more will come."""
        with self._condition:
            while message is not None and not self._has_room(size):
                self._condition.wait()
            self._queue.append((message, size))
            self._bytes += size
            self._condition.notify_all()
            loop, waiter, self._waiter = self._loop, self._waiter, None
        if loop is not None and waiter is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the process is ending
                loop.call_soon_threadsafe(_wake, waiter)

    def put_back(self, message: Incoming) -> None:
        """Return a message that was taken, to be taken first again."""
        with self._condition:
            self._queue.appendleft((message, 0))

    def take(self) -> Incoming | None:
        """Wait for the next message, without an event loop."""
        with self._condition:
            self._condition.wait_for(lambda: self._queue)
            return self._first()

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on messages are awaited on `loop`."""
        with self._condition:
            self._loop = loop

    async def receive(self) -> Incoming | None:
        """Wait for the next message, on the loop."""
        await self._until_more(0)
        with self._condition:
            return self._first()

    async def peek(self) -> Incoming | None:
        """The same, and it stays the next one."""
        await self._until_more(0)
        return self._queue[0][0]

    async def waiting(self, beyond: int) -> tuple[Incoming | None, ...]:
        """Wait for more than so many messages; those behind them, which stay."""
        await self._until_more(beyond)
        with self._condition:
            return tuple(message for message, _ in islice(self._queue, beyond, None))

    async def _until_more(self, than: int) -> None:
        """What is there then, only the loop takes."""
        while True:
            with self._condition:
                if len(self._queue) > than:
                    return
                assert self._loop is not None, "attach comes first"  # noqa: S101
                waiter = self._waiter = self._loop.create_future()
            await waiter

    def _has_room(self, size: int) -> bool:
        return not self._queue or (len(self._queue) < self._bound and self._bytes + size <= self._most_bytes)

    def _first(self) -> Incoming | None:
        message, size = self._queue.popleft()
        self._bytes -= size
        self._condition.notify_all()
        return message


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


# The client's requests while they are unanswered, and how much of them and of their answers there may be.
# Whoever sends faster than we work is read more slowly; whoever reads no answers is not read on. What comes without
# an id (a cancel) and the client's answers to us are never held up here: a client that reads comes through with both.

_PROMPT = "session/prompt"
_LOOK_SECONDS = 0.5
_ANSWER_OVERHEAD = 100
_BUSY = "Too much waits for an answer: {}. Wait for some of it{}, then send this again."


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be under way.

    Attributes:
        requests, request_bytes: what is unanswered, but for prompts; beyond that reading waits. One is always let in.
        patience: seconds that it waits for an answer to any of them; then requests are refused.
        prompts, prompt_bytes: unanswered prompts; more are refused. Reading must not wait for these, because they may
            wait for what the client says next.
        unread_bytes: answers that the client has not read; beyond that its requests are not read either.
    """

    requests: int = 256
    request_bytes: int = 64 << 20
    patience: float = 10.0
    prompts: int = 1024
    prompt_bytes: int = 256 << 20
    unread_bytes: int = 16 << 20


class IncomingRequests:
    """What the client has asked and was not answered, by id. Safe for threads; one of them reads, and may be held."""

    def __init__(self, is_hung_up: Callable[[], bool], limits: Limits | None = None) -> None:
        """Make it.

        Args:
            is_hung_up: whether the client will send nothing any more. Then nothing is held: what is left is little,
                and behind it stands the end.
        """
        self._is_hung_up = is_hung_up
        self._limits = limits or Limits()
        self._condition = threading.Condition()
        self._open: dict[RequestId, tuple[bool, int]] = {}
        self._counts, self._bytes = [0, 0], [0, 0]  # of others, of prompts
        self._cancelled: set[RequestId] = set()
        self._after_answer: dict[RequestId, list[Callable[[], None]]] = {}
        self._unread: deque[tuple[int, int]] = deque()
        self._unread_bytes = 0
        self._is_stuck = False
        self._is_over = False

    @property
    def is_empty(self) -> bool:
        """Whether all is answered."""
        return not self._open

    def open(self, request_id: RequestId, method: str, size: int) -> Rejected | None:
        """Let a request of `size` bytes in, once there is room for it; else how it is to be answered."""
        is_prompt = method == _PROMPT
        with self._condition:
            if request_id in self._open:
                return Rejected(request_id, INVALID_REQUEST, "The id is in use by a request that is still running.")
            refused = self._refuse_prompt(size) if is_prompt else self._wait_for_place(size)
            if refused is not None:
                return Rejected(request_id, INVALID_REQUEST, refused)
            self._open[request_id] = is_prompt, size
            self._counts[is_prompt] += 1
            self._bytes[is_prompt] += size
        return None

    def wait_for_reader(self) -> None:
        """Wait while the client leaves too many answers unread. What makes another answer comes behind this."""
        if self._unread_bytes <= self._limits.unread_bytes:
            return
        with self._condition:
            self._held(lambda: self._unread_bytes <= self._limits.unread_bytes)

    def note_answer(self, end: int, size: int) -> None:
        """An answer of `size` bytes is queued, up to the position `end` of what is written."""
        with self._condition:
            self._unread.append((end, size + _ANSWER_OVERHEAD))
            self._unread_bytes += size + _ANSWER_OVERHEAD

    def note_written(self, reached: float) -> None:
        """All up to a position is written."""
        if not self._unread:
            return
        with self._condition:
            while self._unread and self._unread[0][0] <= reached:
                self._unread_bytes -= self._unread.popleft()[1]
            self._condition.notify_all()

    def settle(self, request_id: RequestId) -> list[Callable[[], None]]:
        """A request is answered; what is to be called now."""
        with self._condition:
            known = self._open.pop(request_id, None)
            if known is not None:
                is_prompt, size = known
                self._counts[is_prompt] -= 1
                self._bytes[is_prompt] -= size
                self._is_stuck = self._is_stuck and is_prompt
                self._condition.notify_all()
            self._cancelled.discard(request_id)
            return self._after_answer.pop(request_id, [])

    def after_answer(self, request_id: RequestId, callback: Callable[[], None]) -> bool:
        """Have `settle` return `callback`; False where no such request is unanswered."""
        with self._condition:
            if request_id not in self._open:
                return False
            self._after_answer.setdefault(request_id, []).append(callback)
            return True

    def cancel(self, request_id: RequestId) -> bool:
        """Remember that the client has cancelled it; False where that is known, or it is answered."""
        with self._condition:
            if request_id not in self._open or request_id in self._cancelled:
                return False
            self._cancelled.add(request_id)
            return True

    def is_cancelled(self, request_id: RequestId) -> bool:
        """Whether the client has cancelled it, and it is not answered."""
        return request_id in self._cancelled

    def end(self) -> None:
        """The connection is over: nobody is held any more."""
        with self._condition:
            self._is_over = True
            self._condition.notify_all()

    def _refuse_prompt(self, size: int) -> str | None:
        count, limits = self._counts[True], self._limits
        if not count or (count < limits.prompts and self._bytes[True] + size <= limits.prompt_bytes):
            return None
        return _BUSY.format(f"{count} prompts of {self._bytes[True]:,} bytes", ", or cancel some")

    def _wait_for_place(self, size: int) -> str | None:
        limits = self._limits

        def has_place() -> bool:
            count = self._counts[False]
            return not count or (count < limits.requests and self._bytes[False] + size <= limits.request_bytes)

        if has_place() or (not self._is_stuck and self._held(has_place, limits.patience)):
            return None
        self._is_stuck = True
        return _BUSY.format(f"{self._counts[False]} requests, and none was answered for long", "")

    def _held(self, is_free: Callable[[], bool], patience: float = float("inf")) -> bool:
        """Wait until it is free; whether to go on."""
        waited = 0.0
        while not (self._condition.wait_for(lambda: is_free() or self._is_over, _LOOK_SECONDS) or self._is_hung_up()):
            waited += _LOOK_SECONDS
            if waited >= patience:
                return False
        return True


log = logging.getLogger(__name__)

_POURED_BYTES = 1024 * 1024
_POURED_AT_ONCE = 32
_RECEIVED_AT_ONCE = 32
# Methods of the protocol that the SDK does not route come to the agent as methods of our own would.
_EXTRA_METHODS = frozenset({"session/delete", "logout"})


@dataclass(frozen=True, slots=True)
class Stdio:
    """Private descriptors of the editor's pipes. No child process inherits them."""

    reader: int
    writer: int


class Transport:
    """One client connection.

    Attributes:
        inbox: what the client has sent and nobody has taken; once there is a loop, `receive` takes it.
        requests: what it has asked and was not answered.
        on_cancel_request: gets the id of each `$/cancel_request`, on the loop.
    """

    def __init__(
        self,
        stdio: Stdio,
        *,
        finish_before_end: bool = False,
        on_over: Callable[[], None] = lambda: None,
        tap: Tap | None = None,
        paths: EditorPaths | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Make it; `start` begins to read and write.

        Args:
            finish_before_end: the end of input ends the connection only after every request is answered (for
                input from a regular file, where the end does not mean that the client left).
            on_over: called once, on any thread, when nothing more will be received.
            tap: gets each line in either direction, in its order.
            paths: maps those of a Windows editor; None looks by itself whether there is one.
            limits: how much may be unanswered, and unread.
        """
        self.inbox = Inbox()
        self._reader = LineReader(stdio.reader, self._on_line)
        self._writer = LineWriter(stdio.writer, self._on_written, self._on_broken)
        self._finish_before_end = finish_before_end
        self._on_over = on_over
        self._over = False
        self._tap = tap
        self._paths = paths or EditorPaths()
        self._putting = threading.Lock()
        self._finishing = threading.Lock()
        self.requests = IncomingRequests(self._reader.is_hung_up, limits)
        self._outgoing = OutgoingRequests()
        self._received_in_a_row = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: list[tuple[int, Callable[[], None]]] = []
        self._waiting_lock = threading.Lock()
        self._ended = False
        self.on_cancel_request: Callable[[RequestId], None] = lambda _: None
        self.on_end: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Begin to read and write."""
        self._reader.start()
        self._writer.start()

    def answer(self, request_id: RequestId, *, result: Any = None, error: WireError | None = None) -> None:
        """Answer a request at once, from any thread."""
        outcome = {"result": result} if error is None else {"error": error}
        self._put_answer({"jsonrpc": "2.0", "id": request_id, **outcome})

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on the event loop receives and sends."""
        self._loop = loop
        self.inbox.attach(loop)

    async def receive(self) -> Incoming | None:
        """The next message for the SDK; None when the connection is over.

        Answers to requests of ours are handed on here: in their order among the client's other messages.
        """
        await self._give_way()
        while (message := await self.inbox.receive()) is not None and "method" not in message:
            self._outgoing.settle(message)
            await self._give_way()
        return message

    async def peek(self) -> Incoming | None:
        """The same, and it stays the next message: for `inbox.take`, or for `receive`."""
        await self._give_way()
        while (message := await self.inbox.peek()) is not None and "method" not in message:
            self.inbox.take()
            self._outgoing.settle(message)
            await self._give_way()
        return message

    async def _give_way(self) -> None:
        """In a flood there is always a next message: what is to be done about them must have its turn too."""
        self._received_in_a_row += 1
        if self._received_in_a_row % _RECEIVED_AT_ONCE == 0:
            import asyncio  # noqa: PLC0415 - it is loaded by now

            await asyncio.sleep(0)

    async def send(self, message: dict[str, Any]) -> None:
        """Send one message of the SDK. Until it is written nobody waits but for what is no answer: a task for each
        answer that the client does not read would be dearer than the answers.

        Raises:
            ClientGone: it is a request, and the client can no longer answer.
        """
        if "method" in message and "id" in message and self._ended:
            raise ClientGone("The client has closed its end; nothing can be asked any more.")
        if "error" in message:
            message = {**message, "error": sanitised(message["error"])}
        if "method" not in message:
            self._put_answer(message)
            return
        await self._written(self._put(message))

    def pour(self, method: str, all_params: Iterable[Mapping[str, Any]]) -> None:
        """Tell from a worker thread what was, because of a load; it waits while the client does not read."""
        waited_at = 0
        for some in _in_growing_parts(all_params):
            messages = ({"jsonrpc": "2.0", "method": method, "params": params} for params in some)
            position = self._put_lines([encode(self._paths.outgoing(message)) for message in messages])
            if position - waited_at > _POURED_BYTES:
                while not self._writer.wait_written(1.0):
                    pass
                waited_at = position

    def notify(self, method: str, params: Mapping[str, Any]) -> int:
        """Queue one notification of ours; the position of its end, for `once_written`."""
        return self._put({"jsonrpc": "2.0", "method": method, "params": params})

    def once_written(self, position: int, callback: Callable[[], None]) -> bool:
        """Whether all up to `position` is written; if not, `callback` is called on the loop once it is.

        Any thread may ask.
        """
        if self._writer.written >= position or self._writer.broken:
            return True
        with self._waiting_lock:
            self._waiting.append((position, callback))
        # The writer may have passed the position before it could see who waits.
        if self._is_written(position):
            self._on_written()
        return False

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Ask the client something and wait for the result; whoever is cancelled meanwhile withdraws the request.

        Raises:
            ClientRefused: it answered with an error. ClientGone: it cannot answer any more.
        """
        assert self._loop is not None, "attach comes first"  # noqa: S101
        answer: asyncio.Future[Any] = self._loop.create_future()
        request_id = self._outgoing.open(answer)
        try:
            self._put({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
            return await answer
        finally:
            if self._outgoing.forget(request_id):
                gone = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": request_id}}
                self._put(gone)

    def after_answer(self, request_id: RequestId, callback: Callable[[], None]) -> None:
        """Run `callback` right after the answer to `request_id` is in the FIFO (at once if it has none pending)."""
        if not self.requests.after_answer(request_id, callback):
            callback()

    async def close(self) -> None:
        """Nothing is read any more; what is queued still goes out."""
        self._ended = True

    def end(self, timeout: float) -> bool:
        """Write what is queued, at most `timeout` seconds, and nothing after it; whether it all went out in time."""
        return self._writer.end(timeout)

    def _put(self, message: Mapping[str, Any]) -> int:
        return self._put_lines([encode(self._paths.outgoing(message))])

    def _put_answer(self, message: Mapping[str, Any]) -> None:
        """Queue an answer to a request that is open."""
        line = encode(self._paths.outgoing(message))
        self._note_answer(self._put_lines([line]), len(line))
        request_id = message.get("id")
        callbacks = self.requests.settle(request_id)
        if self._ended and self._finish_before_end and self.requests.is_empty:
            self._finish()
        for callback in callbacks:
            callback()

    def _note_answer(self, position: int, size: int) -> None:
        if not self._is_written(position):
            self.requests.note_answer(position, size)
            # It may have gone out meanwhile, and nobody would tell of it any more.
            self._note_written()

    def _put_lines(self, lines: Sequence[bytes]) -> int:
        """Several are written at once; the tap gets them in the order in which the client does."""
        if self._tap is None:
            return self._writer.put(b"".join(lines))
        with self._putting:
            for line in lines:
                self._tap("in", line)
            return self._writer.put(b"".join(lines))

    def _on_line(self, line: bytes | None) -> None:
        """On the reader's thread."""
        if line is None:
            self._end_of_input()
            return
        if self._tap is not None:
            self._tap("out", line)
        if line is LineReader.OVERSIZED:
            parsed: Incoming | Rejected | None = Rejected(None, INVALID_REQUEST, "The message is larger than 64 MiB.")
        else:
            parsed = parse_line(line)
        if isinstance(parsed, dict):
            parsed = self._paths.incoming(parsed)
            if "method" in parsed:
                parsed = self._request(parsed, len(line)) if "id" in parsed else self._notification(parsed)
        if isinstance(parsed, Rejected):
            self._send_error(parsed)
        elif parsed is not None:
            self.inbox.put(parsed, len(line))

    def _request(self, message: Incoming, size: int) -> Incoming | Rejected:
        request_id, method = message["id"], message["method"]
        self.requests.wait_for_reader()
        refused = self.requests.open(request_id, method, size)
        if refused is not None:
            return refused
        if method in _EXTRA_METHODS:
            message["method"] = f"_{method}"
        elif not method.startswith("_"):
            wrap_meta(message["params"], request_id)
        return message

    def _notification(self, message: Incoming) -> Incoming | None:
        method, params = message["method"], message["params"]
        if method == "$/cancel_request":
            self._cancel(params.get("requestId"))
            return None
        if method == "session/cancel" and isinstance(params.get("sessionId"), str):
            wrap_meta(params, None)
            return message
        if method.startswith("_"):
            return message
        log.info("a notification was ignored that is unknown or malformed: %s", method[:100])
        return None

    def _cancel(self, request_id: object) -> None:
        if is_id(request_id) and self.requests.cancel(request_id):
            self._on_loop(lambda: self.on_cancel_request(request_id))

    def _send_error(self, rejected: Rejected) -> None:
        self.requests.wait_for_reader()
        error = make_error(rejected.code, rejected.text)
        line = encode({"jsonrpc": "2.0", "id": rejected.request_id, "error": error})
        self._note_answer(self._put_lines([line]), len(line))

    def _end_of_input(self) -> None:
        self._ended = True
        self._outgoing.end(self._on_loop)
        self._on_loop(self.on_end)
        if not self._finish_before_end or self.requests.is_empty:
            self._finish()

    def _on_broken(self) -> None:
        log.info("the client closed its reading end")
        self._ended = True
        self._outgoing.end(self._on_loop)
        self._on_loop(self.on_end)
        self._on_written()
        self._finish()

    def _finish(self) -> None:
        with self._finishing:
            first, self._over = not self._over, True
        if first:
            self.requests.end()
            self._on_over()
            self.inbox.put(None)

    async def _written(self, position: int) -> None:
        assert self._loop is not None, "attach comes first"  # noqa: S101
        waiter: asyncio.Future[None] = self._loop.create_future()
        if not self.once_written(position, lambda: None if waiter.done() else waiter.set_result(None)):
            await waiter

    def _is_written(self, position: int) -> bool:
        return self._writer.written >= position or self._writer.broken

    def _note_written(self) -> None:
        self.requests.note_written(math.inf if self._writer.broken else self._writer.written)

    def _on_written(self) -> None:
        self._note_written()
        if self._waiting:
            self._on_loop(self._resolve)

    def _resolve(self) -> None:
        # One look at the writer, whose thread goes on meanwhile: a waiter is either done or waits on.
        reached = math.inf if self._writer.broken else self._writer.written
        with self._waiting_lock:
            waiting = self._waiting
            self._waiting = [waiter for waiter in waiting if waiter[0] > reached]
        for position, callback in waiting:
            if position <= reached:
                callback()

    def _on_loop(self, callback: Callable[[], None]) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the process is ending
                self._loop.call_soon_threadsafe(callback)


def _in_growing_parts(params: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], ...]]:
    """One, then two, then four: what is first is told at once."""
    source, size = iter(params), 1
    while some := tuple(islice(source, size)):
        yield some
        size = min(2 * size, _POURED_AT_ONCE)
