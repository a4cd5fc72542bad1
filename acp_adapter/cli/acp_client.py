"""A small synchronous ACP client: one agent process over its stdio, requests that wait, a handler for what it sends.

Only a reader thread runs beside the caller's. Everything else, the handler too, runs on the caller's thread while it
waits for an answer: a handler needs no locks, and a question to the person blocks nothing but the conversation.
"""

from __future__ import annotations

import itertools
import json
import math
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from tools.environments.guardian import APART, signal_group
from tools.os_compat import SIGKILL, same_directory

# What can go wrong between the client and its agent.

AUTH_REQUIRED = -32000


class ClientError(Exception):
    """What went wrong. `str(error)` is for the person: what was tried, what happened, what to do."""


class AgentDied(ClientError):
    """The agent ended, or closed its output, while something was awaited of it."""


class AgentRefused(ClientError):
    """The agent answered with an error.

    Attributes:
        method: what was asked.
        code: the JSON-RPC error code.
        details: the error's `data.details`, or "".
    """

    def __init__(self, method: str, error: Any) -> None:
        error = error if isinstance(error, dict) else {"message": f"not a JSON-RPC error object: {error!r}"}
        data = error.get("data")
        details = data.get("details") if isinstance(data, dict) else data
        super().__init__(str(error.get("message") or "The agent gave no message."))
        self.method = method
        self.code = error.get("code")
        self.details = details if isinstance(details, str) else ""


# The agent's process: its three pipes, the lines it writes, and its end.

SERVER = (sys.executable, "-P", "-m", "acp_adapter")
"""The command that starts the server of this program."""

_STDERR_LINES = 20
# Ours may try for some seconds to store what another program kept it from storing.
_SECONDS_TO_EXIT = 10.0
_SECONDS_TO_TERMINATE = 2.0


class AgentProcess:
    """A running agent.

    It gets a process group of its own, so that a Ctrl-C at the terminal reaches only the client, which then cancels
    the turn in the protocol's way.
    """

    def __init__(
        self, command: Sequence[str], on_line: Callable[[bytes | None], None], env: Mapping[str, str] | None = None
    ) -> None:
        """Start `command`.

        Args:
            on_line: called on a thread of its own with each line of output, and None at the end.
            env: its environment; None for a copy of ours.

        Raises:
            ClientError: there is no such program, or it cannot be run.
        """
        self._command = command
        self._stderr_tail: deque[str] = deque(maxlen=_STDERR_LINES)
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env, **APART)
        except OSError as error:
            raise ClientError(
                f"The agent could not be started: {error.strerror or error}: {command[0]}. Check the command."
            ) from error
        assert self._process.stdin and self._process.stdout and self._process.stderr  # noqa: S101, PT018 - pipes
        self._stdin, self._stdout, self._stderr = self._process.stdin, self._process.stdout, self._process.stderr
        self._reader = threading.Thread(target=self._read_output, args=(on_line,), daemon=True)
        self._errors = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()
        self._errors.start()

    def write(self, line: bytes) -> None:
        """Write a line to the agent.

        Raises:
            AgentDied: the agent no longer reads.
        """
        try:
            self._stdin.write(line)
            self._stdin.flush()
        except (OSError, ValueError) as error:
            raise self.death() from error

    def has_ended(self) -> bool:
        """Whether it has, and all that it wrote is read; a child of it may hold the pipe open."""
        if self._process.poll() is None:
            return False
        self._reader.join(_SECONDS_TO_TERMINATE)
        return True

    def death(self) -> AgentDied:
        """How the agent ended, told with the last lines that it wrote to stderr."""
        try:
            ending = _ending(self._process.wait(_SECONDS_TO_TERMINATE))
            self._errors.join(_SECONDS_TO_TERMINATE)
        except subprocess.TimeoutExpired:
            ending = "closed its output but still runs"
        lines = [f"The agent {ending} before it answered: {' '.join(self._command)}"]
        if self._stderr_tail:
            lines += ["The last it wrote to stderr:", *(f"  {line}" for line in self._stderr_tail)]
        else:
            lines.append("It wrote nothing to stderr. Run the command by hand to see what it does.")
        return AgentDied("\n".join(lines))

    def last_words(self) -> str:
        """What the agent, which has ended, wrote to stderr at last if it ended with an exit code for that."""
        return "\n".join(self._stderr_tail) if (self._process.returncode or 0) > 0 else ""

    def close(self, *, patient: bool = True) -> None:
        """End the agent: close its input and wait; then, or at once unless `patient`, terminate and kill it."""
        try:
            with suppress(OSError):  # what it did not read is lost with it
                self._stdin.close()
            if not (patient and self._exits_within(_SECONDS_TO_EXIT)):
                signal_group(self._process.pid, signal.SIGTERM)
                self._exits_within(_SECONDS_TO_TERMINATE)
        finally:
            if self._process.poll() is None:
                signal_group(self._process.pid, SIGKILL)
            self._process.wait()
            for thread, pipe in ((self._reader, self._stdout), (self._errors, self._stderr)):
                thread.join(_SECONDS_TO_TERMINATE)
                # A child of the agent may hold the pipe open; then the daemon thread keeps it.
                if not thread.is_alive():
                    pipe.close()

    def _exits_within(self, seconds: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.poll() is not None

    def _read_output(self, on_line: Callable[[bytes | None], None]) -> None:
        for line in self._stdout:
            on_line(line)
        on_line(None)

    def _read_errors(self) -> None:
        for line in self._stderr:
            self._stderr_tail.append(line.decode("utf-8", "replace").rstrip())


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


# The client.

Json = dict[str, Any]
Trace = Callable[[Literal["in", "out"], float, Json], None]

_SECONDS_OF_QUIET = 0.125
_METHOD_NOT_FOUND = -32601
_WITHDRAWAL = "$/cancel_request"


class Handler:
    """What an `AcpClient` does with what the agent sends. `t` is in seconds since the client was made.

    Attributes:
        fills_forms: `on_form` answers them; else the agent is told that nobody can.
    """

    fills_forms = False

    def on_update(self, update: Json, t: float) -> None:
        """Show a `session/update`."""

    def on_permission(self, params: Json, t: float) -> str | None:  # noqa: ARG002 - for those that answer
        """Answer a `session/request_permission` with an option's id, or None for cancelled."""
        return None

    def on_form(self, params: Json, t: float) -> Json:  # noqa: ARG002 - as above
        """Answer an `elicitation/create`."""
        return {"action": "cancel"}

    def on_stray_line(self, line: str) -> None:
        """Note a line that is no JSON-RPC message: the agent breaks the protocol there."""

    def on_quiet(self, t: float) -> None:
        """An answer is awaited, and nothing came for a moment; called again and again."""


class AcpClient:
    """A conversation with one agent process, which it ends as a context manager. `handler` gets what it sends."""

    def __init__(
        self,
        command: Sequence[str],
        handler: Handler,
        *,
        env: Mapping[str, str] | None = None,
        trace: Trace | None = None,
    ) -> None:
        """Start `command`.

        Args:
            command: the agent's program and arguments.
            handler: gets what the agent sends.
            env: the process's environment; None for ours.
            trace: gets each frame in either direction.

        Raises:
            ClientError: the command cannot be run.
        """
        self.handler = handler
        self._trace = trace
        self._session_id: str | None = None
        self._latest = 0.0
        self._question = ""
        self._withdrawn: set[str] = set()
        self._start = time.monotonic()
        self._ids = itertools.count(1)
        self._answers: dict[float, Json] = {}
        # A SimpleQueue, because a signal handler may put something while this very thread gets.
        self._inbox: queue.SimpleQueue[tuple[float, bytes | None]] = queue.SimpleQueue()
        self._soon: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._process = AgentProcess(command, self._receive, env)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(patient=kind is None or issubclass(kind, Exception))
        if kind is None and (said := self._process.last_words()):
            sys.stderr.write(f"{said}\n")

    def is_withdrawn(self) -> bool:
        """Whether the agent has withdrawn the request that is being answered now."""
        return self._question in self._withdrawn

    def attend(self, session_id: str) -> None:
        """From now on only this session is the handler's: of others it hears nothing, and allows nothing."""
        self._session_id = session_id

    def now(self) -> float:
        """Seconds since the client was made."""
        return time.monotonic() - self._start

    def request(self, method: str, params: Json, timeout: float | None = None) -> Json:
        """Ask the agent and wait; the handler is called meanwhile.

        Raises:
            AgentRefused: the answer is an error.
            AgentDied: the agent ended.
            ClientError: `timeout` seconds went by.
        """
        request_id = next(self._ids)
        deadline = None if timeout is None else time.monotonic() + timeout
        self._send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        while request_id not in self._answers:
            try:
                self._handle_next(deadline)
            except queue.Empty as error:
                raise ClientError(
                    f"The agent did not answer {method} within {timeout:g} s. Run it by hand to see what holds it up."
                ) from error
        answer = self._answers.pop(request_id)
        if answer.get("error") is not None or "result" not in answer:
            raise AgentRefused(method, answer.get("error"))
        result = answer["result"]
        return result if isinstance(result, dict) else {}

    def listen(self, until: Callable[[], bool], timeout: float | None = None) -> bool:
        """Let the handler have what the agent sends until `until` holds, which is looked at after each message.

        Returns:
            False if that did not happen within `timeout` seconds; None is no limit.

        Raises:
            AgentDied: the agent ended.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not until():
            try:
                self._handle_next(deadline)
            except queue.Empty:
                return until()
        return True

    def notify(self, method: str, params: Json) -> None:
        """Tell the agent something that has no answer."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def call_soon(self, action: Callable[[], None]) -> None:
        """Run `action` on the waiting caller's thread; safe in signal handlers and on other threads."""
        self._soon.put(action)
        self._inbox.put((self.now(), b""))

    def close(self, *, patient: bool = True) -> None:
        """End the agent; one that is not `patient` with it does not let it finish first."""
        self._process.close(patient=patient)
        while not self._inbox.empty():  # what came last is traced, but nobody waits for it any more
            t, item = self._inbox.get()
            frame = _frame(item) if item is not None else None
            if frame is not None:
                self._note("in", t, frame)

    def _receive(self, line: bytes | None) -> None:
        """Take a line of the agent's, on the reader's thread."""
        if line is not None and _WITHDRAWAL.encode() in line:
            # Seen ahead of its turn: it ends a question that keeps the others waiting.
            frame = _frame(line) or {}
            params = frame.get("params")
            if frame.get("method") == _WITHDRAWAL and isinstance(params, dict):
                self._withdrawn.add(json.dumps(params.get("requestId")))
        self._inbox.put((self.now(), line))

    def _handle_next(self, deadline: float | None) -> None:
        t, item = self._next(deadline)
        self._run_soon()
        if item is None:
            raise self._process.death()
        if not item.strip():
            return
        frame = _frame(item)
        if frame is None:
            self.handler.on_stray_line(item.decode("utf-8", "replace").rstrip("\n"))
            return
        self._note("in", t, frame)
        self._handle(frame, t)

    def _run_soon(self) -> None:
        while not self._soon.empty():
            self._soon.get()()

    def _next(self, deadline: float | None) -> tuple[float, bytes | None]:
        if deadline is not None and self._start + self._latest > deadline:
            raise queue.Empty  # an agent that never stops talking must not hold us up
        while True:
            # A signal that comes just before the wait begins is handled only after it, so that none is long.
            remaining = math.inf if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                t, item = self._inbox.get(timeout=min(remaining, _SECONDS_OF_QUIET))
            except queue.Empty:
                if self._process.has_ended() and self._inbox.empty():
                    return self.now(), None
                if remaining <= _SECONDS_OF_QUIET:
                    raise
                self.handler.on_quiet(self.now())
            else:
                self._latest = t
                return t, item

    def _handle(self, frame: Json, t: float) -> None:
        method = frame.get("method")
        if method is None:
            if isinstance(frame.get("id"), int | float):  # ours are numbers
                self._answers[frame["id"]] = frame
            return
        params = frame.get("params")
        params = params if isinstance(params, dict) else {}
        if "id" in frame:
            self._question = json.dumps(frame["id"])
            answer = self._answer(method, params, t)
            self._withdrawn.discard(self._question)
            # A cancellation comes before the answer to the question that it ended: the agent must not go on.
            self._run_soon()
            self._send({"jsonrpc": "2.0", "id": frame["id"], **answer})
        elif method == "session/update" and isinstance(params.get("update"), dict) and self._is_ours(params):
            self.handler.on_update(params["update"], t)

    def _is_ours(self, params: Json) -> bool:
        named = params.get("sessionId")
        return self._session_id is None or named is None or named == self._session_id

    def _answer(self, method: str, params: Json, t: float) -> Json:
        if method == "elicitation/create" and self.handler.fills_forms:
            return {"result": {"action": "cancel"} if self.is_withdrawn() else self.handler.on_form(params, t)}
        if method != "session/request_permission":
            message = f"This client does not serve {method}; it advertised no such capability."
            return {"error": {"code": _METHOD_NOT_FOUND, "message": message}}
        option = None if self.is_withdrawn() or not self._is_ours(params) else self.handler.on_permission(params, t)
        outcome = {"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option}
        return {"result": {"outcome": outcome}}

    def _send(self, frame: Json) -> None:
        self._process.write(json.dumps(frame, separators=(",", ":")).encode() + b"\n")
        self._note("out", self.now(), frame)

    def _note(self, direction: Literal["in", "out"], t: float, frame: Json) -> None:
        if self._trace is not None:
            self._trace(direction, t, frame)


def _frame(line: bytes) -> Json | None:
    """The JSON-RPC message in `line`, or None for anything else."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    is_call = isinstance(value.get("method"), str)
    is_answer = "id" in value and ("result" in value or "error" in value)
    return value if is_call or is_answer else None


# The steps that every conversation has: initialize, a session, a prompt until its turn ends.

PROTOCOL_VERSION = 1
_SECONDS_TO_ANSWER = 60.0
_MOST_TOLD = 5
_CAPABILITIES = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
FORM_CAPABILITY: Mapping[str, Any] = {"form": {}, "url": {}}
# An extension that agents know from editors: the output of their commands comes as it is printed.
_META = {"terminal_output": True}


@dataclass(frozen=True, slots=True)
class Opened:
    """A session, ready for prompts.

    Attributes:
        session_id: its id.
        modes: the ids of the modes that the agent offers for it.
        initialized_at: when `initialize` was answered, in seconds since the agent's start.
        opened_at: when the session was there.
    """

    session_id: str
    modes: frozenset[str]
    initialized_at: float
    opened_at: float


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier session to go on with: of that id, or the only one whose id begins so; without one the last of the
    directory.
    """

    session_id: str | None = None


def open_session(
    client: AcpClient,
    cwd: Path,
    client_name: str,
    earlier: Earlier | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Opened:
    """Initialize the agent and open a session in `cwd`, or go on with an earlier one.

    Args:
        meta: what the client says of itself in `_meta` of its capabilities beside the usual.

    Raises:
        ClientError: as `AcpClient.request`; or the agent speaks another version of the protocol, gave no session id,
            or has no earlier session.
    """
    forms = {"elicitation": FORM_CAPABILITY} if client.handler.fills_forms else {}
    hello = {
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": {**_CAPABILITIES, **forms, "_meta": {**_META, **(meta or {})}},
        "clientInfo": {"name": client_name, "version": "1"},
    }
    agent = client.request("initialize", hello, _SECONDS_TO_ANSWER)
    initialized_at = client.now()
    version = agent.get("protocolVersion")
    if version != PROTOCOL_VERSION:
        raise ClientError(
            f"The agent answered initialize with protocol version {version!r}; this client speaks only "
            f"{PROTOCOL_VERSION}. Use an agent that does."
        )
    place: Json = {"cwd": str(cwd), "mcpServers": []}
    if earlier is not None:
        session = _earlier(client, agent, cwd, earlier)
        place |= {"sessionId": session["sessionId"]}
        # Directories that are not named are none: going on here must not take them from the session.
        roots = [root for root in _list(session.get("additionalDirectories")) if Path(str(root)).is_dir()]
        place |= {"additionalDirectories": roots} if roots else {}
    answer = client.request("session/resume" if earlier else "session/new", place, _SECONDS_TO_ANSWER)
    session_id = place.get("sessionId") or answer.get("sessionId")
    if not isinstance(session_id, str) or not session_id:
        raise ClientError(
            f"The agent answered session/new without a session id, got {session_id!r}. Report it to its authors."
        )
    client.attend(session_id)
    modes = answer.get("modes")
    offered = _list(modes.get("availableModes") if isinstance(modes, dict) else None)
    ids = frozenset(str(mode.get("id")) for mode in offered if isinstance(mode, dict))
    return Opened(session_id, ids, initialized_at, client.now())


def send_prompt(client: AcpClient, session_id: str, text: str, timeout: float | None = None) -> str:
    """Send `text` and wait until the turn ends.

    Returns:
        its stop reason.

    Raises:
        ClientError: as `AcpClient.request`, or the answer holds no stop reason.
    """
    prompt = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
    reason = client.request("session/prompt", prompt, timeout).get("stopReason")
    if not isinstance(reason, str):
        raise ClientError("The agent ended the turn without a stop reason. Report it to its authors.")
    return reason


def _earlier(client: AcpClient, agent: Json, cwd: Path, earlier: Earlier) -> Json:
    """The session to go on with, as the agent lists it; one that is not listed is left to the agent."""
    beginning = earlier.session_id
    if beginning is None:
        # Not every agent heeds the directory that was asked for.
        listed = (session for session in _listed(client, {"cwd": str(cwd)}) if _is_in(session, cwd))
        if (last := next(listed, None)) is not None:
            return last
        raise ClientError(f"There is no earlier session in {cwd} to go on with. Leave --continue out to begin one.")
    match agent.get("agentCapabilities"):
        case {"sessionCapabilities": {"list": lists}} if lists is not None:
            found = [session for session in _listed(client, {}) if session["sessionId"].startswith(beginning)]
        case _:
            found = []
    exact = [session for session in found if session["sessionId"] == beginning]
    if len(found) > 1 and not exact:
        ids = ", ".join(session["sessionId"] for session in found[:_MOST_TOLD])
        raise ClientError(f"Several sessions begin with {beginning!r}: {ids}. Give more of the id.")
    return next(iter(exact or found), {"sessionId": beginning})


def _is_in(session: Json, cwd: Path) -> bool:
    named = session.get("cwd")
    return same_directory(named, cwd) if isinstance(named, str) else named is None


def _listed(client: AcpClient, params: Json) -> Iterator[Json]:
    """All sessions that the agent lists, in its order."""
    seen: set[object] = set()
    place: Json = {}
    while True:
        page = client.request("session/list", {**params, **place}, _SECONDS_TO_ANSWER)
        for session in _list(page.get("sessions")):
            if isinstance(session, dict) and isinstance(session.get("sessionId"), str):
                yield session
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or cursor in seen:
            return
        seen.add(cursor)
        place = {"cursor": cursor}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
