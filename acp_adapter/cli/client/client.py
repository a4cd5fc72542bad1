"""A small synchronous ACP client: one agent process, requests that wait, and a handler for what the agent sends.

Only a reader thread runs beside the caller's. Everything else, the handler too, runs on the caller's thread while it
waits for an answer: a handler needs no locks, and a question to the person blocks nothing but the conversation.
"""

from __future__ import annotations

import itertools
import json
import math
import queue
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from acp_adapter.cli.client.agent_process import AgentProcess
from acp_adapter.cli.client.errors import AgentRefused, AgentSilent

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
