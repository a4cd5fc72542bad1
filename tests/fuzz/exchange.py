"""What was sent to the agent and what came back: each request answered once, each line a frame of the protocol."""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.fuzz.expected import NOBODY, Expected, expected, key_of
from tests.support.wire import WireRules, WireViolation, check_outgoing, parse_line

OnCall = Callable[[str, Any, dict[str, Any]], None]
_INTERNAL_ERROR = -32603
_LONGEST_TRAIL = 3_000
_SHORT = 400
_LOOK = 0.5


class Exchange:
    """Judges one connection. `took` is told of bytes before they are sent, `received` of each line.

    Attributes:
        on_call: gets the method, id and parameters of what the agent asks; on the reading thread.
        sessions: the ids of sessions that the agent has opened here and not closed, newest last.
        opened: the ids of all that it has ever opened.
        answers: how many answers came, by code ("result" for those without an error).
        trail: the last lines of both sides, each in short.
        problem: the first thing that was wrong.
    """

    def __init__(self, on_call: OnCall) -> None:
        self.on_call = on_call
        self.sessions: deque[str] = deque()
        self.opened: list[str] = []
        self.answers: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.frames = 0
        self.lines = 0
        self.problem: str | None = None
        self.trail: deque[str] = deque(maxlen=_LONGEST_TRAIL)
        self._rest = b""
        self._condition = threading.Condition()
        self._waiting: dict[str, deque[Expected]] = {}
        self._unsure = 0
        self._shared: set[str] = set()
        self._rules = WireRules()

    def took(self, data: bytes) -> None:
        """Note what is sent next."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        with self._condition:
            for line in lines:
                self.lines += 1
                self.trail.append(f"> {line[:_SHORT]!r}")
                wanted = expected(line)
                if wanted is not None:
                    self._note(replace(wanted, line=line[:_SHORT]))
                    request = {"id": json.loads(wanted.key), "method": wanted.method or "", "params": wanted.params}
                    self._rules.heard(request)

    def _note(self, wanted: Expected) -> None:
        self.asked[wanted.method or "no request"] += 1
        if wanted.unsure:
            self._unsure += 1
        waiting = self._waiting.setdefault(wanted.key, deque())
        waiting.append(wanted)
        if len(waiting) > 1:
            self._shared.add(wanted.key)

    def received(self, line: bytes) -> None:
        """Judge a line of the agent."""
        self.trail.append(f"< {line[:_SHORT]!r}")
        try:
            message = parse_line(line)
            with self._condition:
                self.frames += 1
                if "method" in message:
                    check_outgoing(message)
                else:
                    self._answered(message)
                self._hold(message)
                self._condition.notify_all()
        except WireViolation as violation:
            self._fail(str(violation))
            return
        if "method" in message and "id" in message:
            self.on_call(message["method"], message["id"], message["params"])

    def _hold(self, message: dict[str, Any]) -> None:
        # Which answers are due is known better here.
        broken = [text for text in self._rules.broken(message, past=None) if not text.startswith("waited-for")]
        if broken:
            raise WireViolation("; ".join(broken))

    def _answered(self, message: dict[str, Any]) -> None:
        key = key_of(message.get("id"))
        waiting = self._waiting.get(key)
        if not waiting:
            self._from_an_unsure_one(message, key)
            return
        failed = message.get("error")
        wanted = next((one for one in waiting if not one.unsure), waiting[0])
        waiting.remove(wanted)
        if key in self._shared:
            # Which of several requests with one id this answers cannot be told.
            wanted = Expected(key, None, unsure=wanted.unsure)
        if not waiting:
            del self._waiting[key]
            self._shared.discard(key)
        self._unsure -= wanted.unsure
        check_outgoing(message, wanted.method)
        self.answers[str(failed["code"]) if failed else "result"] += 1
        if failed and failed["code"] == _INTERNAL_ERROR:
            self._fail(f"{wanted.method}: an internal error: {failed['message']}")
        if not failed:
            self._follow(wanted, message["result"])

    def _from_an_unsure_one(self, message: dict[str, Any], key: str) -> None:
        """A line that may be too deep is answered either by its id or by none."""
        for others, waiting in self._waiting.items():
            for wanted in waiting:
                if wanted.unsure and NOBODY in {key, others}:
                    waiting.remove(wanted)
                    if not waiting:
                        del self._waiting[others]
                    self._unsure -= 1
                    check_outgoing(message)
                    return
        raise WireViolation(f"an answer to no request that waits for one: {str(message)[:400]}")

    def _follow(self, wanted: Expected, result: Any) -> None:
        params = wanted.params if isinstance(wanted.params, dict) else {}
        session = result.get("sessionId") if isinstance(result, dict) else None
        if wanted.method in {"session/new", "session/fork"} or (wanted.method is None and session):
            self.sessions.append(session)
            self.opened.append(session)
        elif wanted.method in {"session/load", "session/resume"} and params.get("sessionId") not in self.sessions:
            self.sessions.append(params["sessionId"])
        elif wanted.method in {"session/close", "session/delete"} and params.get("sessionId") in self.sessions:
            self.sessions.remove(params["sessionId"])

    def prompted(self) -> set[str]:
        """The sessions of prompts that are not answered."""
        with self._condition:
            params = [wanted.params for some in self._waiting.values() for wanted in some]
        named = [some.get("sessionId") for some in params if isinstance(some, dict)]
        return {session for session in named if isinstance(session, str)}

    def is_answered(self, timeout: float, alive: Callable[[], bool]) -> bool:
        """Whether all is answered within `timeout` seconds, or something is wrong."""
        waited = 0.0
        with self._condition:
            while not self._condition.wait_for(lambda: self.problem or not self._open(), _LOOK):
                waited += _LOOK
                if waited >= timeout or not alive():
                    return False
        return True

    def wait_answered(self, timeout: float, alive: Callable[[], bool]) -> None:
        """Wait until all is answered.

        Raises:
            AssertionError: something was wrong, or nothing was answered for `timeout` seconds.
        """
        before, answered = -1, False
        while not answered and before != (before := self.answers.total()):
            answered = self.is_answered(timeout, alive)
        with self._condition:
            if self.problem:
                raise AssertionError(self.problem)
            if not answered:
                why = f"no answer after {timeout} s" if alive() else "the agent has ended; no answer yet"
                raise AssertionError(f"{why} to: {self._told()}")

    def _open(self) -> bool:
        return any(not wanted.unsure or key != NOBODY for key, waiting in self._waiting.items() for wanted in waiting)

    def _told(self) -> str:
        waiting = [f"{key[:60]} {wanted.line!r}"[:300] for key, some in self._waiting.items() for wanted in some]
        return f"{len(waiting)}: {waiting[:10]}"

    def wait_opened(self, count: int, timeout: float) -> None:
        """Wait until so many sessions have been opened, at most `timeout` seconds."""
        with self._condition:
            self._condition.wait_for(lambda: self.problem or len(self.opened) >= count, timeout)

    def forgive(self) -> None:
        """Notifications that may have been too deep are answered or not: wait for those no more."""
        with self._condition:
            sure = deque(wanted for wanted in self._waiting.pop(NOBODY, ()) if not wanted.unsure)
            if sure:
                self._waiting[NOBODY] = sure
            self._unsure = 0

    def _fail(self, what: str) -> None:
        with self._condition:
            self.problem = self.problem or what
            self._condition.notify_all()
