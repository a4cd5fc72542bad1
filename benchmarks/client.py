"""A raw ACP client: JSON lines over the agent's pipes, every arrival stamped when its bytes are read.

It is lean on purpose, so that it never becomes what is measured: one thread, and session updates are kept as they
came and parsed after the clock has stopped.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks import process_facts

_PATIENCE = 60.0
_CAPABILITIES = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}


class AgentFailed(Exception):
    """The agent did not do what is measured."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a request, and when it came (on the machine's monotonic clock)."""

    at: float
    result: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Update:
    """A `session/update` as it came."""

    at: float
    line: bytes

    def params(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.line)["params"]
        return found


class Agent:
    """One agent process. Permission questions are answered with «allow once», unless `hold_questions` is set."""

    def __init__(self, command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> None:
        self._command, self._cwd = command, cwd
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the agent
        self.spawned = time.monotonic()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=cwd,
            env=environment,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._rest: list[bytes] = []
        self._answers: dict[int, Answer | dict[str, Any]] = {}
        self._last_id = 0
        self.updates: list[Update] = []
        self.questions: list[dict[str, Any]] = []
        self.hold_questions = False

    # -- the protocol's methods --

    def initialize(self) -> Answer:
        info = {"name": "benchmark", "version": "1"}
        return self.request(
            "initialize", {"protocolVersion": 1, "clientCapabilities": _CAPABILITIES, "clientInfo": info}
        )

    def new_session(self) -> Answer:
        return self.answer(self.send_new_session())

    def send_new_session(self) -> int:
        return self.send("session/new", {"cwd": str(self._cwd), "mcpServers": []})

    def send_prompt(self, session: str, text: str) -> int:
        return self.send("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    def prompt(self, session: str, text: str) -> Answer:
        """Run a prompt that must end by itself."""
        return _ended(self.answer(self.send_prompt(session, text)), "end_turn")

    def cancel(self, session: str) -> None:
        self.notify("session/cancel", {"sessionId": session})

    def open(self) -> str:
        """Greet it and wait until it is wholly loaded; a session. The second one shows that loading is over."""
        self.initialize()
        self.new_session()
        return str(self.new_session().result["sessionId"])

    # -- messages --

    def request(self, method: str, params: Mapping[str, Any]) -> Answer:
        return self.answer(self.send(method, params))

    def send(self, method: str, params: Mapping[str, Any]) -> int:
        self._last_id += 1
        self._write({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._write({"method": method, "params": params})

    def answer(self, request_id: int) -> Answer:
        """Wait for the answer to a request."""
        self.wait(lambda: request_id in self._answers, f"the answer to request {request_id}")
        answer = self._answers.pop(request_id)
        if not isinstance(answer, Answer):
            raise AgentFailed(f"{self._command[-1]} answered with an error: {answer}")
        return answer

    def reply(self, question: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        """Answer a question of the agent's."""
        self._write({"id": question["id"], "result": result})

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Read until `condition` holds."""
        deadline = time.monotonic() + _PATIENCE
        while not condition():
            ready, _, _ = select.select([self._stdout], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self._stdout.fileno(), 1 << 20) if ready else b""
            if not data:
                reason = "ended" if ready else "went silent"
                raise AgentFailed(f"{self._command} {reason} before {what}:\n{self._complaints()}")
            self._take(time.monotonic(), data)

    # -- what came --

    def take_updates(self) -> list[Update]:
        """The updates so far; the list begins anew."""
        found, self.updates = self.updates, []
        return found

    def first_text(self) -> Update:
        """Wait for the first piece of the answer's text."""
        text = b"agent_message_chunk"
        self.wait(lambda: any(text in update.line for update in self.updates), "its first text")
        return next(update for update in self.updates if text in update.line)

    # -- the process --

    def resident_megabytes(self) -> float:
        """Memory of the agent's own process, as the system counts it."""
        return process_facts.resident_megabytes(self._process.pid)

    def cpu_milliseconds(self) -> float:
        """What it has used of the processor so far."""
        return process_facts.cpu_milliseconds(self._process.pid)

    def threads_milliseconds(self) -> float:
        """What its present threads have used of the processor so far, to the nanosecond."""
        return process_facts.threads_milliseconds(self._process.pid)

    def wake_ups(self) -> int:
        """How often its threads have gone to sleep so far."""
        return process_facts.wake_ups(self._process.pid)

    def close(self) -> float:
        """Close its input; the seconds until it was gone."""
        too_long = threading.Timer(_PATIENCE, self._process.kill)
        too_long.start()
        started = time.monotonic()
        self._stdin.close()
        self._process.wait()
        seconds = time.monotonic() - started
        too_long.cancel()
        return seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for pipe in (self._stdin, self._stdout, self._errors):
            pipe.close()

    def _write(self, message: Mapping[str, Any]) -> None:
        data = memoryview(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        while data:
            data = data[os.write(self._stdin.fileno(), data) :]

    def _take(self, at: float, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._rest, lines[0]))
            self._rest = []
        if rest:
            self._rest.append(rest)
        for line in lines:
            if b'"session/update"' in line:
                self.updates.append(Update(at, line))
            else:
                self._take_message(at, json.loads(line))

    def _take_message(self, at: float, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._answers[message["id"]] = Answer(at, message["result"]) if "result" in message else message["error"]
        elif message["method"] == "$/cancel_request":
            pass  # the question is withdrawn; who holds it does not answer
        elif message["method"] != "session/request_permission":
            raise AgentFailed(f"{self._command[-1]} asked for {message['method']}, which was not offered")
        elif self.hold_questions:
            self.questions.append(message)
        else:
            options = message["params"]["options"]
            chosen = next(option["optionId"] for option in options if option["kind"] == "allow_once")
            self.reply(message, {"outcome": {"outcome": "selected", "optionId": chosen}})

    def _complaints(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")[-2000:]


def cancelled(answer: Answer) -> Answer:
    """Check that a prompt ended as cancelled."""
    return _ended(answer, "cancelled")


def text_of(updates: Sequence[Update], session: str) -> str:
    """The answer's text in a session's updates."""
    found = []
    for update in updates:
        params = update.params()
        if params["sessionId"] == session and params["update"]["sessionUpdate"] == "agent_message_chunk":
            found.append(params["update"]["content"]["text"])
    return "".join(found)


def check_text(updates: Sequence[Update], session: str, deltas: int) -> None:
    """Fail unless the session's text is that of `stream DELTAS`, whole and in order."""
    got, wanted = text_of(updates, session), "".join(f"{number:07d} " for number in range(deltas))
    if got != wanted:
        raise AgentFailed(f"{len(got)} characters of text came, not the {len(wanted)} that were sent")


def _ended(answer: Answer, stop_reason: str) -> Answer:
    if answer.result.get("stopReason") != stop_reason:
        raise AgentFailed(f"the prompt ended with {answer.result}, not {stop_reason}")
    return answer
