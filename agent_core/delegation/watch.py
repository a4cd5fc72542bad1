"""What one sub-agent does: its signs of life, what it has called, used and changed, and whether it rests."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from agent_core.callbacks import CallFinished, CallOutput, CallRequested, CallRunning, Step, ToolProgress
from agent_core.interrupt import CancelToken
from tools.light_dataclass import dataclass
from tools.result import ShownDiff

_LAST_WORDS = 2_000


@dataclass(frozen=True, slots=True)
class Silence:
    """How long nothing was heard of a sub-agent. `tool` is the tool that runs, '' where its model is awaited."""

    seconds: float
    tool: str = ""


class Watch:
    """Follows one sub-agent. Safe to use from several threads.

    Args:
        token: ends the sub-agent's work, and with it every rest.
        clock: monotonic seconds.
    """

    def __init__(self, token: CancelToken, clock: Callable[[], float] = time.monotonic) -> None:
        self._token = token
        self._clock = clock
        self._lock = threading.Lock()
        self._heard = self.began = clock()
        self._calls: dict[str, str] = {}
        self._paused = False
        self.calls: Counter[str] = Counter()
        self.files: dict[Path, None] = {}
        self.requests = self.tokens = 0
        self.cost: float | None = 0.0
        self.words = ""
        self.has_seen_strangers = False

    @property
    def seconds(self) -> float:
        """How long it has worked."""
        return self._clock() - self.began

    @property
    def is_paused(self) -> bool:
        """Whether it rests, or will before its next step."""
        return self._paused

    def begin(self) -> None:
        """It begins now."""
        self.began = self._clock()
        self.beat()

    def beat(self) -> None:
        """It gave a sign of life."""
        self._heard = self._clock()

    def heard(self, text: str) -> None:
        """It says something."""
        self.beat()
        self.words = (self.words + text)[-_LAST_WORDS:]

    def step(self, step: Step) -> None:
        """One of its model requests is over."""
        self.beat()
        with self._lock:
            self.requests += 1
            self.tokens += (step.usage.input_tokens or 0) + (step.usage.output_tokens or 0)
            self.cost = None if self.cost is None or step.cost is None else self.cost + step.cost

    def follow(self, progress: ToolProgress) -> None:
        """A tool call goes on: its own, or one of its sub-agents'."""
        self.beat()
        match progress:
            case CallRequested(call_id=call_id, name=name, parent=parent):
                with self._lock:
                    self._calls[call_id] = name
                    if not parent:
                        self.calls[name] += 1
            case CallFinished(call_id=call_id, result=result):
                with self._lock:
                    self._calls.pop(call_id, None)
                    self.has_seen_strangers |= result.has_fenced
                    self.files.update(
                        (shown.path, None)
                        for shown in result.shown
                        if isinstance(shown, ShownDiff) and not result.failed and shown.before != shown.after
                    )
            case CallRunning() | CallOutput():
                return

    def open_calls(self) -> tuple[str, ...]:
        """The ids of the calls that are not over."""
        with self._lock:
            return tuple(self._calls)

    def silence(self) -> Silence:
        """How long nothing was heard of it."""
        with self._lock:
            tool = next(iter(self._calls.values()), "")
        return Silence(self._clock() - self._heard, tool)

    def pause(self) -> None:
        """Let it rest before its next step."""
        self._paused = True

    def resume(self) -> None:
        """Let it go on."""
        self._paused = False
        self.beat()
        self._token.notify()

    def rest(self) -> None:
        """Wait while it is to rest; called by the sub-agent's own threads."""
        if self._paused:
            self._token.wait_for(lambda: not self._paused)
            self.beat()
