"""One agent under fire: what is sent, in batches that must be answered whole; and what must hold afterwards."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.agent import AgentProcess
from tests.fuzz.exchange import Exchange
from tests.fuzz.messages import Messages
from tests.fuzz.tape import Tape, sessions_in, with_sessions
from tests.fuzz.watching import Usage, usage

PATIENCE = 60.0
SESSION_PATIENCE = 5.0
_MOST_SESSIONS = 12


@dataclass
class FuzzRun:
    """A connection to one agent.

    Attributes:
        answering: the editor says something to the agent's questions; not where that is on a tape.
        sent: how many lines.
        seen: what the process had after each batch.
    """

    home: Path
    workspace: Path
    seed: str
    agent: AgentProcess = field(init=False)
    exchange: Exchange = field(init=False)
    messages: Messages = field(init=False)
    tape: Tape = field(default_factory=Tape)
    seen: list[Usage] = field(default_factory=list)
    seconds: float = 0.0
    answering: bool = True
    _sending: threading.RLock = field(default_factory=threading.RLock)
    _answers: Messages = field(init=False)
    _barriers: int = 0

    def __post_init__(self) -> None:
        self.exchange = Exchange(self._asked)
        self.messages = Messages(random.Random(self.seed), self.workspace, self.exchange.sessions)
        self._answers = Messages(random.Random(f"{self.seed} answers"), self.workspace, ())

    @classmethod
    @contextmanager
    def started(cls, home: Path, workspace: Path, seed: str, kept: Path) -> Iterator[FuzzRun]:
        """An agent from its start to its end. What was sent is in a file under `kept` if anything is wrong."""
        run = cls(home, workspace, seed)
        with AgentProcess(home, workspace, run.exchange.received) as run.agent:
            try:
                yield run
                run.end()
            except BaseException as failure:
                tape = kept / f"fuzz-{seed}.tape"
                run.tape.save(tape, run.exchange.opened)
                tape.with_suffix(".trail").write_text("\n".join(run.exchange.trail) + "\n", encoding="utf-8")
                failure.add_note(f"FUZZ_SEED={seed}; replay it with: python -m tests.fuzz {tape}")
                failure.add_note(f"stderr: {run.agent.stderr[-2000:]}")
                raise

    @property
    def sent(self) -> int:
        return self.exchange.lines

    def send(self, data: bytes) -> None:
        """Send bytes, and note what they call for."""
        with self._sending:
            self.tape.put(data)
            self.exchange.took(data)
            self.agent.send(data)

    def batch(self, lines: Iterable[bytes]) -> None:
        """Send all of these, then wait until each is answered.

        Raises:
            AssertionError: one is not, or something else is wrong.
        """
        began = time.monotonic()
        for line in lines:
            self.send(line)
        self.settle()
        self.seconds += time.monotonic() - began

    def settle(self) -> None:
        """End what runs, wait for all answers, and close sessions that are too many.

        Raises:
            AssertionError: an answer is missing, or something is wrong.
        """
        self.send(b"\n")
        for patience in (1.0, 1.0, 2.0, 4.0, 8.0, PATIENCE):
            # A turn may begin behind the cancel: of steering, or in a session that is only just opened again.
            for session in {*self.exchange.sessions, *self.exchange.prompted()}:
                self._say({"method": "session/cancel", "params": {"sessionId": session}})
            self._ask("_fuzz/barrier", {})
            if self.exchange.is_answered(patience, lambda: self.agent.alive):
                break
        self._all_answered()
        while len(self.exchange.sessions) > _MOST_SESSIONS:
            self._ask("session/delete", {"sessionId": self.exchange.sessions.popleft()})
        self._ask("authenticate", {"methodId": "hermes-configured"})
        self._all_answered()
        self.exchange.forgive()
        self.measure()

    def measure(self) -> Usage:
        """What the process has now."""
        self.seen.append(usage(self.agent.pid))
        return self.seen[-1]

    def clear(self) -> Usage:
        """Delete all sessions; what is left is what has been kept."""
        while self.exchange.sessions:
            self._ask("session/delete", {"sessionId": self.exchange.sessions.popleft()})
        self._all_answered()
        return self.measure()

    def end(self) -> None:
        """The agent's end: by itself, without a word on stderr, and without an unexpected error in its log.

        Raises:
            AssertionError: otherwise.
        """
        code = self.agent.end()
        assert code == 0, f"exit code {code}"
        assert not self.agent.stderr, self.agent.stderr
        assert not errors_in(self.home), errors_in(self.home)[0]

    def _all_answered(self) -> None:
        self.exchange.wait_answered(PATIENCE, lambda: self.agent.alive)

    def _ask(self, method: str, params: dict[str, Any]) -> None:
        self._barriers += 1
        self._say({"id": f"barrier {self._barriers}", "method": method, "params": params})

    def _say(self, message: dict[str, Any]) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _asked(self, method: str, request_id: Any, params: dict[str, Any]) -> None:
        """On the reading thread."""
        if self.answering:
            for answer in self._answers.answers_to(method, request_id, params):
                self.send(json.dumps(answer).encode() + b"\n")

    def replay(self, pieces: Iterable[bytes]) -> None:
        """Send what is on a tape.

        Raises:
            AssertionError: what it shows happens.
        """
        self.answering = False
        for piece in pieces:
            self.exchange.wait_opened(sessions_in(piece), SESSION_PATIENCE)
            self.send(with_sessions(piece, self.exchange.opened))
        self.settle()


def errors_in(home: Path) -> list[str]:
    """What the agent's log has of errors, each with its traceback."""
    log = home / "logs" / "hermes-acp.log"
    if not log.exists():
        return []
    found, lines = [], log.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines):
        if " ERROR " in line[:60]:
            found.append("\n".join(lines[number : number + 60]))
    return found
