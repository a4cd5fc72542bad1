"""What a session's agent is doing, and since when: for the editor, for `doctor`, and for whoever looks for a hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from agent_core.callbacks import AgentCallbacks, CallFinished, CallRequested, CallRunning, ToolProgress
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tools.agent_ports import PersonAnswer, PersonPage, PersonQuestion
    from tools.ports import Interrupt

Kind = Literal["idle", "waiting_for_model", "receiving", "running", "asking", "compressing"]

_TELLING = ("command", "goal", "path", "pattern", "query", "url", "urls", "name", "action", "mode")
_MOST_CHARS = 80
_WORDS: Mapping[Kind, str] = {
    "idle": "nothing",
    "waiting_for_model": "waiting for the model",
    "receiving": "receiving the model's answer",
    "running": "running",
    "asking": "waiting for your answer",
    "compressing": "compressing the conversation",
}


@dataclass(frozen=True, slots=True)
class Doing:
    """What is done now.

    Attributes:
        detail: the model, or the tool with its argument in short.
        since: seconds since the epoch.
        turn_since: when the turn began; 0.0 where none runs.
    """

    kind: Kind = "idle"
    detail: str = ""
    since: float = 0.0
    turn_since: float = 0.0

    def text(self, now: float) -> str:
        """A line for people."""
        what = f"{_WORDS[self.kind]}: {self.detail}" if self.detail else _WORDS[self.kind]
        return what if self.kind == "idle" else f"{what}, for {span(now - self.since)}"


@dataclass(frozen=True, slots=True)
class _Call:
    title: str
    since: float
    runs: bool = False


class Activity:
    """Follows the turns of one session. Safe to use from several threads, and nearly free.

    Args:
        clock: seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._doing = Doing(since=clock())
        self._calls: dict[str, _Call] = {}
        self._asking: Doing | None = None
        self._turns = 0
        # Is told, on the turn's thread, that a turn has begun.
        self.on_begin: Callable[[Activity], None] | None = None

    def now(self) -> Doing:
        """What is done now. A call that was requested and does not run yet waits for the person, or soon runs."""
        with self._lock:
            doing, calls = self._doing, list(self._calls.values())
            if self._asking is not None:
                return replace(self._asking, turn_since=doing.turn_since)
        if not calls:
            return doing
        running = [call for call in calls if call.runs]
        oldest = min(running or calls, key=lambda call: call.since)
        more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
        kind: Kind = "running" if running else "asking"
        return Doing(kind, f"{oldest.title}{more}", oldest.since, doing.turn_since)

    def begin(self) -> int:
        """A turn begins; the number by which `end` knows it."""
        now = self._clock()
        with self._lock:
            self._calls.clear()
            self._asking = None
            self._doing = Doing("waiting_for_model", "", now, now)
            self._turns += 1
            number = self._turns
        if self.on_begin is not None:
            self.on_begin(self)
        return number

    def turn(self, kind: Kind, detail: str = "") -> None:
        """The turn's own work is another now."""
        with self._lock:
            if self._doing.kind != kind or self._doing.detail != detail:
                self._doing = Doing(kind, detail, self._clock(), self._doing.turn_since)

    def end(self, number: int) -> None:
        """That turn is over; nothing happens where another has taken its place."""
        with self._lock:
            if number != self._turns:
                return
            self._calls.clear()
            self._asking = None
            self._doing = Doing(since=self._clock())

    def heard(self, callbacks: AgentCallbacks) -> AgentCallbacks:
        """Listeners that tell `callbacks` everything, and follow it here."""
        return replace(
            callbacks,
            stream_delta_callback=self._receiving(callbacks.stream_delta_callback),
            reasoning_callback=self._receiving(callbacks.reasoning_callback),
            tool_progress_callback=self._following(callbacks.tool_progress_callback),
            ask_callback=None if callbacks.ask_callback is None else self._waiting(callbacks.ask_callback),
        )

    def _receiving(self, listener: Callable[[str], None] | None) -> Callable[[str], None]:
        def heard(text: str) -> None:
            # Without the lock: of many pieces only the first changes anything.
            if self._doing.kind != "receiving":
                self.turn("receiving", self._doing.detail)
            if listener is not None:
                listener(text)

        return heard

    def _following(self, listener: Callable[[ToolProgress], None] | None) -> Callable[[ToolProgress], None]:
        def heard(progress: ToolProgress) -> None:
            self._follow(progress)
            if listener is not None:
                listener(progress)

        return heard

    def _waiting(
        self, ask: Callable[[PersonQuestion | PersonPage, Interrupt], PersonAnswer]
    ) -> Callable[[PersonQuestion | PersonPage, Interrupt], PersonAnswer]:
        def asked(question: PersonQuestion | PersonPage, interrupt: Interrupt) -> PersonAnswer:
            with self._lock:
                self._asking = Doing("asking", "", self._clock())
            try:
                return ask(question, interrupt)
            finally:
                with self._lock:
                    self._asking = None

        return asked

    def _follow(self, progress: ToolProgress) -> None:
        match progress:
            case CallRequested(call_id=call_id, name=name, arguments=arguments):
                call = _Call(_title(name, arguments), self._clock())
                with self._lock:
                    self._calls[call_id] = call
            case CallRunning(call_id=call_id):
                with self._lock:
                    if call_id in self._calls:
                        self._calls[call_id] = _Call(self._calls[call_id].title, self._clock(), runs=True)
            case CallFinished(call_id=call_id):
                with self._lock:
                    self._calls.pop(call_id, None)
            case _:
                return


def span(seconds: float) -> str:
    """A length of time for people."""
    whole = max(0, int(seconds))
    if whole < 60:  # noqa: PLR2004
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"  # noqa: PLR2004


def _title(name: str, arguments: Mapping[str, Any]) -> str:
    value = next((arguments[key] for key in _TELLING if arguments.get(key)), "")
    line = " ".join(str(value).split("\n", 1)[0].split())
    short = line if len(line) <= _MOST_CHARS else f"{line[: _MOST_CHARS - 1]}…"
    return f"{name} {short}".rstrip()
