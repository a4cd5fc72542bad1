"""A model that plays a script of events: the agent's provider in tests of the agent itself."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agent_core.errors import ProviderConnectionError
from agent_core.providers.base import (
    Finished,
    FinishReason,
    ModelRequest,
    StreamEvent,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
)


class Hold:
    """The model falls silent here until the test calls `release`, or the stream is closed."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._woken = threading.Condition()
        self._released = False

    def release(self) -> None:
        with self._woken:
            self._released = True
            self._woken.notify_all()

    def wait(self, stream: ScriptedStream) -> None:
        """Until released.

        Raises:
            ProviderConnectionError: the stream was closed, or nobody came.
        """
        stream.when_closed(self._wake)
        self.reached.set()
        with self._woken:
            self._woken.wait_for(lambda: self._released or stream.closed.is_set(), timeout=10)
            if not self._released:
                raise ProviderConnectionError("the connection was shut down")

    def _wake(self) -> None:
        with self._woken:
            self._woken.notify_all()


Step = StreamEvent | BaseException | Hold | Callable[[], object]
Script = Sequence[Step]


def says(text: str, finish: FinishReason = "stop") -> Script:
    """An answer of text, a delta for each word."""
    words = [TextDelta(word if first else f" {word}") for first, word in _marked(text.split(" "))]
    return [*words, Finished(finish)]


def uses(*calls: tuple[str, str, Mapping[str, Any] | str], text: str = "") -> Script:
    """An answer that calls tools: (id, name, arguments as an object or as JSON text)."""
    script: list[Step] = [TextDelta(text)] if text else []
    for index, (call_id, name, arguments) in enumerate(calls):
        script.append(ToolCallStarted(index, call_id, name))
        script.append(ToolCallArguments(index, arguments if isinstance(arguments, str) else json.dumps(arguments)))
    return [*script, Finished("tool_calls")]


class ScriptedProvider:
    """Each request is answered with the next script; `requests` keeps what was asked. Implements `Provider`."""

    name = "scripted"

    def __init__(self, *scripts: Script) -> None:
        self._scripts = list(scripts)
        self._lock = threading.Lock()
        self.requests: list[ModelRequest] = []
        self.streams: list[ScriptedStream] = []
        self.closed = False

    def add(self, *scripts: Script) -> None:
        with self._lock:
            self._scripts.extend(scripts)

    def stream(self, request: ModelRequest) -> ScriptedStream:
        with self._lock:
            self.requests.append(request)
            if not self._scripts:
                raise AssertionError(f"the script has no answer for request {len(self.requests)}")
            stream = ScriptedStream(self._scripts.pop(0))
            self.streams.append(stream)
            return stream

    def warm(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class ScriptedStream:
    """Implements `ModelStream`."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._closing: list[Callable[[], None]] = []
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()
        for wake in list(self._closing):
            wake()

    def when_closed(self, wake: Callable[[], None]) -> None:
        self._closing.append(wake)

    def __iter__(self) -> Iterator[StreamEvent]:
        for step in self._script:
            if isinstance(step, BaseException):
                raise step
            if isinstance(step, Hold):
                step.wait(self)
            elif callable(step):
                step()
            else:
                yield step


def _marked(words: Sequence[str]) -> Iterator[tuple[bool, str]]:
    return ((index == 0, word) for index, word in enumerate(words))
