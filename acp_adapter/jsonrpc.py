"""JSON-RPC messages as bytes and back: lines, errors, and our own requests that wait for their answers."""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import math
import os
import re
import select
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypedDict, TypeGuard

from agent_core.errors import AuthRequired, HermesError, RequestError, UnknownSession
from tools import quick_json
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    import asyncio  # not at run time: the first answer must not wait for it


# Errors: a code and one line for people, never a secret or a traceback. This is the only place that makes them.

log = logging.getLogger(__name__)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
AUTH_REQUIRED = -32000
NOT_FOUND = -32002

_MAX_TEXT = 1_000
_UNEXPECTED = (
    "Something went wrong inside the agent. Its log file (logs/hermes-acp.log in its home directory) has the details."
)


class WireError(TypedDict):
    """A JSON-RPC error object; some clients show `message`, others `data.details`."""

    code: int
    message: str
    data: dict[str, Any]


def wire_error(problem: BaseException) -> WireError:
    """What the client is told of `problem`."""
    match problem:
        case AuthRequired():
            return make_error(AUTH_REQUIRED, problem.public)
        case UnknownSession():
            return make_error(NOT_FOUND, problem.public)
        case RequestError():
            return make_error(INVALID_PARAMS, problem.public)
        case HermesError():
            return make_error(INTERNAL_ERROR, problem.public)
        case _:
            return make_error(INTERNAL_ERROR, _UNEXPECTED)


def logged_error(problem: BaseException, what: str) -> WireError:
    """The same; what nobody has foreseen is in the log, with the name of what failed."""
    if not isinstance(problem, HermesError):
        log.error("%s failed", what, exc_info=problem)
    return wire_error(problem)


def make_error(code: int, text: str) -> WireError:
    """An error object whose text is one line of bounded length."""
    from tools.redaction import redact  # noqa: PLC0415 - most sessions have no errors

    line = redact(" ".join(text.split()))
    line = line if len(line) <= _MAX_TEXT else f"{line[:_MAX_TEXT]}…"
    return {"code": code, "message": line, "data": {"details": line}}


def sanitised(error: object) -> WireError:
    """An error object made by a library, without echoes of the input and links to its documentation."""
    if not isinstance(error, dict):
        return make_error(INTERNAL_ERROR, _UNEXPECTED)
    code, message, data = error.get("code", INTERNAL_ERROR), str(error.get("message", "")), error.get("data")
    if isinstance(data, dict) and isinstance(data.get("errors"), list):
        return make_error(
            INVALID_PARAMS, f"Invalid params: {'; '.join(_field_problem(item) for item in data['errors'])}"
        )
    if code == METHOD_NOT_FOUND:
        name = data.get("method") if isinstance(data, dict) else None
        return make_error(code, f"There is no method {name!r} here." if name else message or "Method not found.")
    own = isinstance(data, dict) and data.get("details") == message
    # What a library says of its own failure is an exception's text: it may hold anything.
    return make_error(code, message if own or code != INTERNAL_ERROR else _UNEXPECTED)


def _field_problem(item: object) -> str:
    if not isinstance(item, dict):
        return "a value is not of the right form"
    where = ".".join(str(step) for step in item.get("loc", ())) or "params"
    if item.get("type") == "union_tag_invalid":  # its message repeats the value
        return f"{where}: it is of none of the known types"
    return f"{where}: {item.get('msg', 'not of the right form')}"


# Messages: what a line must be to be one, and how one becomes a line.

_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


# Infinity would be taken for a number, and break whoever wants an integer of it.
_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=lambda _: None)
_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")  # or a whole one
_BYTE_ORDER_MARK = "\ufeff"

RequestId = str | int | None
Incoming = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RequestMeta:
    """What a handler learns beside its parameters: the request's id and its `_meta`, as one argument.

    The SDK spreads `_meta` into keyword arguments, where its keys would override real parameters; so this object is
    put in its place, under the single key `hermes_meta`.

    Attributes:
        capabilities: what the client can do, as `initialize` has it: the SDK drops what it does not know.
        servers, directories: `mcpServers` and `additionalDirectories` as they came: the SDK drops what is malformed.
    """

    request_id: RequestId = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    capabilities: object = None
    servers: object = None
    directories: object = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that is no message we can take, and the error answer to it."""

    request_id: RequestId
    code: int
    text: str


def parse_line(line: bytes) -> Incoming | Rejected | None:
    """The message in `line`, with `params` an object; None for what needs neither handling nor an answer.

    (JSON-RPC 2.0, sections 4 and 5; ACP v1 uses no batches, and no encoding but UTF-8.) A number that no float holds
    is null, and half of a surrogate pair U+FFFD, as they would be in a line of ours: nobody can store either.
    """
    try:
        text = line.decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
        message = _DECODER.decode(text)
        if _HALF_PAIR.search(text) and isinstance(message, dict):
            message = {**_whole(message), **_own_id(message)}
    except (ValueError, RecursionError) as problem:
        log.warning("a line is not JSON: %s", problem)
        return Rejected(None, PARSE_ERROR, "The line is not valid JSON (one message per line, UTF-8).")
    if not isinstance(message, dict):
        return Rejected(None, INVALID_REQUEST, "A message must be one JSON object; batches are not used in ACP.")
    return _checked_call(message) if "method" in message else _checked_response(message)


def wrap_meta(params: Incoming, request_id: RequestId) -> None:
    """Replace `_meta` in `params` by a `RequestMeta`."""
    meta = params.get("_meta")
    params["_meta"] = {
        "hermes_meta": RequestMeta(
            request_id,
            meta if isinstance(meta, dict) else {},
            params.get("clientCapabilities"),
            params.get("mcpServers"),
            params.get("additionalDirectories"),
        )
    }


def is_id(value: object) -> TypeGuard[RequestId]:
    """Whether `value` may be the id of a request."""
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


def encode(message: Mapping[str, Any]) -> bytes:
    """The line for a message, in ASCII: no U+2028 can upset a client's line splitting.

    An id is the client's, and comes back as it was sent, whatever a strict parser thinks of it.
    """
    try:
        line = quick_json.dumps(message)
        if line.isascii():
            return line + b"\n"
        text = _ENCODER.encode(message)
    except ValueError:  # half of a surrogate pair, NaN or an infinity
        text = json.dumps({**_strict(message), **_own_id(message)}, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def _checked_call(message: Incoming) -> Incoming | Rejected | None:
    method, request_id = message["method"], message.get("id")
    if not isinstance(method, str) or not is_id(request_id):
        known = request_id if is_id(request_id) else None
        return Rejected(known, INVALID_REQUEST, "A request needs a method name and a string or number as id.")
    params = message.get("params")
    if params is not None and not isinstance(params, dict):
        return Rejected(request_id, INVALID_PARAMS, "The params must be an object.") if "id" in message else None
    message["params"] = params or {}
    return message


def _checked_response(message: Incoming) -> Incoming | Rejected | None:
    answer_id = message.get("id")
    if answer_id is None and "error" in message:
        # The client could not read something of ours. An error in return could go on for ever.
        log.warning("the client reports an error: %s", message["error"])
        return None
    if isinstance(answer_id, str):
        return None  # ours are numbers
    if isinstance(answer_id, bool) or not isinstance(answer_id, int):
        return Rejected(None, INVALID_REQUEST, "A message must have a method, or the id of a request of ours.")
    if "result" not in message and not isinstance(message.get("error"), dict):
        message["error"] = {"code": INVALID_REQUEST, "message": "The client's answer has no result."}
    return message


def _whole(message: Incoming) -> Incoming:
    """`message` with U+FFFD for each half of a surrogate pair that stands alone; as deep as it may be."""
    text = json.dumps(message, ensure_ascii=False)
    if (whole := quick_json.whole_text(text)) == text:
        return message
    kept: Incoming = json.loads(whole)
    return kept


def _own_id(message: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"id": message["id"]} if "id" in message else {}


def _strict(value: Any) -> Any:
    """`value` as strict JSON parsers take it: numbers finite, no half of a surrogate pair alone."""
    match value:
        case str():
            return quick_json.whole_text(value)
        case float() if not math.isfinite(value):
            return None
        case Mapping():
            return {_strict(key): _strict(part) for key, part in value.items()}
        case list() | tuple():
            return [_strict(part) for part in value]
    return value


# Writing without waiting, and without touching the descriptor's flags, which other processes may share.

if sys.platform == "linux":
    import fcntl

WriteNow = Callable[[bytes], int]
"""Writes what there is room for and returns how many bytes that were; 0 also where it went wrong."""

MOST_UNREAD = 8 * 1024
"""How much the system holds between us and a client that does not read, in bytes, where that can be chosen."""


def hold_little(fd: int) -> None:
    """Let the system hold little of what was written to the client: what is in its pipe no cancel can overtake.

    A client that reads 40 kB a second would have to read Linux's usual 64 KiB before the answer to its cancel.
    """
    with contextlib.suppress(OSError):
        mode = os.fstat(fd).st_mode
        if stat.S_ISFIFO(mode) and sys.platform == "linux":
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, MOST_UNREAD)
        elif stat.S_ISSOCK(mode):
            import socket  # noqa: PLC0415 - as below

            # The option is the socket's, whichever descriptor sets it.
            with socket.socket(fileno=os.dup(fd)) as shared:
                shared.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_UNREAD)


def write_now(fd: int) -> WriteNow:
    """The way for this descriptor; of one that may block whatever is asked first, it writes nothing."""
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        return _nothing
    if stat.S_ISFIFO(mode) and hasattr(select, "poll"):
        return _to_pipe(fd)
    return _to_socket(fd) if stat.S_ISSOCK(mode) else _nothing


def _nothing(_: bytes) -> int:
    return 0


def _to_pipe(fd: int) -> WriteNow:
    room = select.poll()
    room.register(fd, select.POLLOUT)

    def write(data: bytes) -> int:
        # A pipe with any room takes this much at once (POSIX: PIPE_BUF).
        if len(data) > select.PIPE_BUF:
            return 0
        try:
            return os.write(fd, data) if room.poll(0) else 0
        except OSError:
            return 0

    return write


def _to_socket(fd: int) -> WriteNow:
    import socket  # noqa: PLC0415 - few editors use one, and the first answer must not wait for it

    if not hasattr(socket, "MSG_DONTWAIT") or not hasattr(socket, "AF_UNIX"):
        return _nothing

    def write(data: bytes) -> int:
        # Not `with`: the descriptor stays open. Its kind is told so that it is not asked for; sending needs none.
        borrowed = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fd)
        try:
            return borrowed.send(data, socket.MSG_DONTWAIT)
        except OSError:
            return 0
        finally:
            borrowed.detach()

    return write


# Lines in and out of file descriptors, each by a thread of its own. Threads with blocking calls work alike for pipes,
# sockets, terminals and regular files.

MAX_LINE = 64 * 1024 * 1024
_CHUNK = 256 * 1024
_WRITTEN_AT_ONCE = 1024 * 1024


class LineReader:
    """Reads lines from a descriptor and hands each to `on_line`, None at the end; runs on its own thread.

    A line beyond `MAX_LINE` bytes is handed over as `OVERSIZED`.
    """

    OVERSIZED = b"\x00oversized"

    def __init__(self, fd: int, on_line: Callable[[bytes | None], None]) -> None:
        self._fd = fd
        self._on_line = on_line

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._run, name="acp-reader", daemon=True).start()

    def is_hung_up(self) -> bool:
        """Whether nobody can send any more. What was sent before may still be unread; not every system tells."""
        if not hasattr(select, "poll"):
            return False
        poll = select.poll()
        poll.register(self._fd, getattr(select, "POLLRDHUP", 0))
        return bool(poll.poll(0))

    def _run(self) -> None:
        pending: list[bytes] = []
        size = 0
        while chunk := self._read():
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                self._emit(pending, size, line)
                pending, size = [], 0
            size += len(rest)
            if size <= MAX_LINE:
                pending.append(rest)
            else:
                pending = []  # of an oversized line only its length is kept
        if size:
            self._emit(pending, size, b"")
        self._on_line(None)

    def _emit(self, pending: list[bytes], size: int, line: bytes) -> None:
        if size + len(line) > MAX_LINE:
            self._on_line(self.OVERSIZED)
            return
        whole = b"".join((*pending, line)) if pending else line
        if whole.strip():
            self._on_line(whole)

    def _read(self) -> bytes:
        while True:
            try:
                return os.read(self._fd, _CHUNK)
            except BlockingIOError:
                select.select([self._fd], [], [])
            except OSError:
                return b""


class LineWriter:
    """One FIFO of bytes to a descriptor, written by a thread of its own.

    `put` never blocks. A line that the descriptor has room for goes out within it: a text that comes in small pieces
    then wakes no thread for each. Positions count bytes: whoever wants to know when something is out compares the
    position that `put` returned with `written`. After `broken`, data is dropped: the reader is gone, or `end` was
    called.
    """

    def __init__(self, fd: int, on_progress: Callable[[], None], on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._on_progress = on_progress
        self._on_broken = on_broken
        self._condition = threading.Condition()
        self._queue: deque[bytes] = deque()
        self._position = 0
        self._ending = False
        self._writing = False
        self._write_now = write_now(fd)
        self.written = 0
        self.broken = False

    def start(self) -> None:
        """Begin to write what `put` cannot."""
        threading.Thread(target=self._run, name="acp-writer", daemon=True).start()

    def put(self, data: bytes) -> int:
        """Queue `data`; returns the position of its end."""
        with self._condition:
            self._position += len(data)
            if self.broken or self._ending:
                return self._position
            if not (self._queue or self._writing):
                out = self._write_now(data)
                self.written += out
                data = data[out:]
            if data:
                self._queue.append(data)
                self._condition.notify_all()
            return self._position

    def wait_written(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds until everything queued is out."""
        with self._condition:
            return self._condition.wait_for(lambda: self.broken or self.written >= self._position, timeout)

    def end(self, timeout: float) -> bool:
        """Let the thread end once everything queued is out; waits up to `timeout` seconds for it.

        Returns:
            whether nothing more will be written.
        """
        with self._condition:
            self._ending = True
            self._condition.notify_all()
            return self._condition.wait_for(lambda: self.broken, timeout)

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._queue or self._ending)
                data = self._next()
                self._writing = True
                if not data:
                    self.broken = True
                    self._condition.notify_all()
            if not data:
                self._on_progress()
                return
            if not self._write(data):
                self._break()
                return
            with self._condition:
                self.written += len(data)
                self._writing = False
                self._condition.notify_all()
            self._on_progress()

    def _next(self) -> bytes:
        """As many lines as are written in one go: who waits for the first of many hears of it before the last."""
        lines: list[bytes] = []
        size = 0
        while self._queue and (not lines or size + len(self._queue[0]) <= _WRITTEN_AT_ONCE):
            lines.append(self._queue.popleft())
            size += len(lines[-1])
        return b"".join(lines) if len(lines) != 1 else lines[0]

    def _write(self, data: bytes) -> bool:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:
                select.select([], [self._fd], [])
            except OSError:
                return False
        return True

    def _break(self) -> None:
        with self._condition:
            self.broken = True
            self._queue.clear()
            self._condition.notify_all()
        self._on_broken()


# Our own requests to the client.

_INTERNAL_ERROR = -32603
_MOST_DATA_CHARS = 300


class ClientGone(ConnectionError):
    """The client cannot answer any more."""


class ClientRefused(Exception):
    """The client answered a request with an error. `code` is JSON-RPC's."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class OutgoingRequests:
    """The futures of requests that were sent, by id. Made and settled from any thread; futures live on the loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._open: dict[int, asyncio.Future[Any]] = {}
        self._ended = False

    def open(self, future: asyncio.Future[Any]) -> int:
        """The id of a new request whose answer settles `future`.

        Raises:
            ClientGone: nobody will answer.
        """
        with self._lock:
            if self._ended:
                raise ClientGone("The client has closed its end; nothing can be asked any more.")
            request_id = next(self._ids)
            self._open[request_id] = future
            return request_id

    def forget(self, request_id: int) -> bool:
        """Whoever asked does not wait any more; True if there was no answer yet."""
        with self._lock:
            return self._open.pop(request_id, None) is not None

    def settle(self, message: Mapping[str, Any]) -> None:
        """Hand an answer to whoever waits for it, on the loop; one that nobody waits for is dropped."""
        with self._lock:
            future = self._open.pop(message["id"], None)
        if future is None:
            log.info("an answer came that nobody waits for (id %s)", message["id"])
            return
        _resolve(future, message)

    def end(self, on_loop: Callable[[Callable[[], None]], None]) -> None:
        """No more answers will come: whoever waits is told so."""
        with self._lock:
            self._ended = True
            waiting = list(self._open.values())
            self._open.clear()
        for future in waiting:
            on_loop(lambda future=future: _fail(future, ClientGone("The client has gone.")))  # type: ignore[misc]


def _resolve(future: asyncio.Future[Any], message: Mapping[str, Any]) -> None:
    error = message.get("error")
    if error is None:
        if not future.done():
            future.set_result(message.get("result"))
        return
    code = error.get("code")
    _fail(future, ClientRefused(code if isinstance(code, int) else _INTERNAL_ERROR, _text_of(error)))


def _text_of(error: Mapping[str, Any]) -> str:
    """The error's message, with its data where that is words: some clients say there what the matter is."""
    text, data = str(error.get("message")), error.get("data")
    if isinstance(data, Mapping):
        data = next((data[key] for key in ("details", "message", "error") if isinstance(data.get(key), str)), None)
    if not isinstance(data, str) or not data.strip() or data in text:
        return text
    return f"{text}: {data[:_MOST_DATA_CHARS]}"


def _fail(future: asyncio.Future[Any], problem: Exception) -> None:
    if not future.done():
        future.set_exception(problem)
