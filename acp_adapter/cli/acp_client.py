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
from typing import IO, Any, Literal, Protocol, Self

from tools.environments.guardian import APART, signal_group
from tools.os_compat import SIGKILL, same_directory

# What can go wrong between the client and its agent.

AUTH_REQUIRED = -32000


class ClientError(Exception):
    """Base of the errors here. `str(error)` is for the person: what was tried, what happened, what to do."""


class AgentNotStarted(ClientError):
    """The agent's command could not be run."""


class AgentDied(ClientError):
    """The agent ended, or closed its output, while something was awaited of it."""


class AgentSilent(ClientError):
    """The agent did not answer within the time given."""


class AgentUnsupported(ClientError):
    """The agent's answer is not what the protocol's version 1 says."""


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
        self,
        command: Sequence[str],
        on_line: Callable[[bytes | None], None],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start `command`.

        Args:
            command: the program and its arguments.
            on_line: called on a thread of its own with each line of output, then at least once with None.
            cwd: where the process starts; None for the current directory.
            env: its environment; None for a copy of ours.

        Raises:
            AgentNotStarted: there is no such program, or it cannot be run.
        """
        self._command = command
        self._on_line = on_line
        self._stderr_tail: deque[str] = deque(maxlen=_STDERR_LINES)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=env,
                **APART,
            )
        except OSError as error:
            raise AgentNotStarted(
                f"The agent could not be started: {error.strerror or error}: {command[0]}. Check the command."
            ) from error
        self._readers = [
            self._thread(self._read_output, self._process.stdout),
            self._thread(self._read_errors, self._process.stderr),
        ]
        self._watcher = self._thread(self._watch)

    def write(self, line: bytes) -> None:
        """Write a line to the agent.

        Raises:
            AgentDied: the agent no longer reads.
        """
        assert self._process.stdin is not None  # noqa: S101 - it was asked for as a pipe
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise self.death() from error

    def death(self) -> AgentDied:
        """How the agent ended, told with the last lines that it wrote to stderr."""
        try:
            ending = _ending(self._process.wait(_SECONDS_TO_TERMINATE))
            self._readers[1].join(_SECONDS_TO_TERMINATE)
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
            self._close_input()
            if not (patient and self._exits_within(_SECONDS_TO_EXIT)):
                self._signal(signal.SIGTERM)
                self._exits_within(_SECONDS_TO_TERMINATE)
        finally:
            if self._process.poll() is None:
                self._signal(SIGKILL)
            self._process.wait()
            self._close_output()

    def _close_input(self) -> None:
        if self._process.stdin is not None:
            with suppress(OSError):  # what it did not read is lost with it
                self._process.stdin.close()

    def _close_output(self) -> None:
        for thread, pipe in zip(self._readers, (self._process.stdout, self._process.stderr), strict=True):
            thread.join(_SECONDS_TO_TERMINATE)
            # A child of the agent may hold the pipe open; then the daemon thread keeps it.
            if pipe is not None and not thread.is_alive():
                pipe.close()
        self._watcher.join(_SECONDS_TO_TERMINATE)

    def _exits_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _signal(self, number: signal.Signals) -> None:
        signal_group(self._process.pid, number)

    def _read_output(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            self._on_line(line)
        self._on_line(None)

    def _read_errors(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            self._stderr_tail.append(line.decode("utf-8", "replace").rstrip())

    def _watch(self) -> None:
        self._process.wait()
        self._readers[0].join(_SECONDS_TO_TERMINATE)
        self._on_line(None)

    @staticmethod
    def _thread(target: Callable[..., None], *args: object) -> threading.Thread:
        thread = threading.Thread(target=target, args=args, daemon=True)
        thread.start()
        return thread


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

SECONDS_TO_SEE_A_SIGNAL = 0.5
_SECONDS_OF_QUIET = 0.125
_METHOD_NOT_FOUND = -32601
_WITHDRAWAL = "$/cancel_request"


class Handler(Protocol):
    """What an `AcpClient` does with what the agent sends. `t` is in seconds since the client was made."""

    def on_update(self, update: Json, t: float) -> None:
        """Show a `session/update`."""

    def on_permission(self, params: Json, t: float) -> str | None:
        """Answer a `session/request_permission` with an option's id, or None for cancelled."""

    def on_stray_line(self, line: str) -> None:
        """Note a line that is no JSON-RPC message: the agent breaks the protocol there."""


class AcpClient:
    """A conversation with one agent process; a context manager that ends the process."""

    def __init__(
        self,
        command: Sequence[str],
        handler: Handler,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        trace: Trace | None = None,
        on_quiet: Callable[[float], None] | None = None,
        on_form: Callable[[Json, float], Json] | None = None,
    ) -> None:
        """Start `command`.

        Args:
            command: the agent's program and arguments.
            handler: gets what the agent sends.
            env: the process's environment; None for ours.
            cwd: where it starts; None for the current directory.
            trace: gets each frame in either direction.
            on_quiet: called again and again, with the time, while an answer is awaited and nothing comes.
            on_form: answers an `elicitation/create`; None where nobody can, and the agent is told so.

        Raises:
            AgentNotStarted: the command cannot be run.
        """
        self._handler = handler
        self._trace = trace
        self._on_quiet = on_quiet
        self._on_form = on_form
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
        self._process = AgentProcess(command, self._receive, env=env, cwd=cwd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(patient=kind is None or issubclass(kind, Exception))
        if kind is None and (said := self._process.last_words()):
            sys.stderr.write(f"{said}\n")

    @property
    def fills_forms(self) -> bool:
        """Whether an `elicitation/create` is answered."""
        return self._on_form is not None

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
            AgentSilent: `timeout` seconds went by.
        """
        request_id = next(self._ids)
        deadline = None if timeout is None else time.monotonic() + timeout
        self._send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        while request_id not in self._answers:
            try:
                self._handle_next(deadline)
            except queue.Empty as error:
                raise AgentSilent(
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
            self._handler.on_stray_line(item.decode("utf-8", "replace").rstrip("\n"))
            return
        self._note("in", t, frame)
        self._handle(frame, t)

    def _run_soon(self) -> None:
        while not self._soon.empty():
            self._soon.get()()

    def _next(self, deadline: float | None) -> tuple[float, bytes | None]:
        # A signal that comes just before the wait begins is handled only after it, so that none is long.
        longest = SECONDS_TO_SEE_A_SIGNAL if self._on_quiet is None else _SECONDS_OF_QUIET
        if deadline is not None and self._start + self._latest > deadline:
            raise queue.Empty  # an agent that never stops talking must not hold us up
        while True:
            remaining = math.inf if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                t, item = self._inbox.get(timeout=min(remaining, longest))
            except queue.Empty:
                if remaining <= longest:
                    raise
                if self._on_quiet is not None:
                    self._on_quiet(self.now())
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
            self._handler.on_update(params["update"], t)

    def _is_ours(self, params: Json) -> bool:
        named = params.get("sessionId")
        return self._session_id is None or named is None or named == self._session_id

    def _answer(self, method: str, params: Json, t: float) -> Json:
        if method == "elicitation/create" and self._on_form is not None:
            return {"result": {"action": "cancel"} if self.is_withdrawn() else self._on_form(params, t)}
        if method != "session/request_permission":
            message = f"This client does not serve {method}; it advertised no such capability."
            return {"error": {"code": _METHOD_NOT_FOUND, "message": message}}
        option = None if self.is_withdrawn() or not self._is_ours(params) else self._handler.on_permission(params, t)
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
_CAPABILITIES = {
    "fs": {"readTextFile": False, "writeTextFile": False},
    "terminal": False,
}
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
        AgentRefused, AgentDied, AgentSilent: as `AcpClient.request`.
        AgentUnsupported: it speaks another version of the protocol, gave no session id, or has no earlier session.
    """
    forms = {"elicitation": FORM_CAPABILITY} if client.fills_forms else {}
    hello = {
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": {**_CAPABILITIES, **forms, "_meta": {**_META, **(meta or {})}},
        "clientInfo": {"name": client_name, "version": "1"},
    }
    agent = client.request("initialize", hello, _SECONDS_TO_ANSWER)
    initialized_at = client.now()
    version = agent.get("protocolVersion")
    if version != PROTOCOL_VERSION:
        raise AgentUnsupported(
            f"The agent answered initialize with protocol version {version!r}; this client speaks only "
            f"{PROTOCOL_VERSION}. Use an agent that does."
        )
    lists = _lists_sessions(agent)
    session_id, answer = _new(client, cwd) if earlier is None else _resumed(client, cwd, earlier, lists=lists)
    client.attend(session_id)
    return Opened(session_id, _mode_ids(answer.get("modes")), initialized_at, client.now())


def send_prompt(client: AcpClient, session_id: str, text: str, timeout: float | None = None) -> str:
    """Send `text` and wait until the turn ends.

    Returns:
        its stop reason.

    Raises:
        AgentRefused, AgentDied, AgentSilent: as `AcpClient.request`.
        AgentUnsupported: the answer holds no stop reason.
    """
    prompt = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
    reason = client.request("session/prompt", prompt, timeout).get("stopReason")
    if not isinstance(reason, str):
        raise AgentUnsupported("The agent ended the turn without a stop reason. Report it to its authors.")
    return reason


def _new(client: AcpClient, cwd: Path) -> tuple[str, dict[str, Any]]:
    answer = client.request("session/new", {"cwd": str(cwd), "mcpServers": []}, _SECONDS_TO_ANSWER)
    session_id = answer.get("sessionId")
    if not isinstance(session_id, str) or not session_id:
        raise AgentUnsupported(
            f"The agent answered session/new without a session id, got {session_id!r}. Report it to its authors."
        )
    return session_id, answer


def _resumed(client: AcpClient, cwd: Path, earlier: Earlier, *, lists: bool) -> tuple[str, dict[str, Any]]:
    if earlier.session_id is None:
        session = _latest(client, cwd)
    else:
        session = _named(client, earlier.session_id) if lists else {"sessionId": earlier.session_id}
    place = {"sessionId": session["sessionId"], "cwd": str(cwd), "mcpServers": []}
    # Directories that are not named are none: going on here must not take them from the session.
    if roots := _roots_that_are_there(session):
        place["additionalDirectories"] = roots
    return session["sessionId"], client.request("session/resume", place, _SECONDS_TO_ANSWER)


def _latest(client: AcpClient, cwd: Path) -> dict[str, Any]:
    # Not every agent heeds the directory that was asked for.
    listed = _listed(client, {"cwd": str(cwd)})
    found = next((session for session in listed if _is_in(session, cwd)), None)
    if found is None:
        raise AgentUnsupported(
            f"There is no earlier session in {cwd} to go on with. Leave --continue out to begin one."
        )
    return found


def _is_in(session: dict[str, Any], cwd: Path) -> bool:
    named = session.get("cwd")
    if not isinstance(named, str):
        return named is None
    return same_directory(named, cwd)


def _named(client: AcpClient, beginning: str) -> dict[str, Any]:
    """The session of that id, or the only one whose id begins so; one that is not listed is left to the agent."""
    found = [session for session in _listed(client, {}) if session["sessionId"].startswith(beginning)]
    exact = [session for session in found if session["sessionId"] == beginning]
    if len(found) > 1 and not exact:
        ids = ", ".join(session["sessionId"] for session in found[:_MOST_TOLD])
        raise AgentUnsupported(f"Several sessions begin with {beginning!r}: {ids}. Give more of the id.")
    return next(iter(exact or found), {"sessionId": beginning})


def _listed(client: AcpClient, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All sessions that the agent lists, in its order."""
    cursor: object = None
    seen: set[object] = set()
    while True:
        place = {} if cursor is None else {"cursor": cursor}
        page = client.request("session/list", {**params, **place}, _SECONDS_TO_ANSWER)
        sessions = page.get("sessions")
        for session in sessions if isinstance(sessions, list) else ():
            if isinstance(session, dict) and isinstance(session.get("sessionId"), str):
                yield session
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or cursor in seen:
            return
        seen.add(cursor)


def _roots_that_are_there(session: dict[str, Any]) -> list[str]:
    roots = session.get("additionalDirectories")
    named = roots if isinstance(roots, list) else []
    return [root for root in named if isinstance(root, str) and Path(root).is_dir()]


def _lists_sessions(agent: dict[str, Any]) -> bool:
    capabilities = agent.get("agentCapabilities")
    sessions = capabilities.get("sessionCapabilities") if isinstance(capabilities, dict) else None
    return isinstance(sessions, dict) and sessions.get("list") is not None


def _mode_ids(modes: Any) -> frozenset[str]:
    offered = modes.get("availableModes") if isinstance(modes, dict) else None
    offered = offered if isinstance(offered, list) else []
    return frozenset(str(mode.get("id")) for mode in offered if isinstance(mode, dict))
