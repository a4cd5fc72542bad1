"""An embedded stand-in for a model: it needs no key and no network, and does what the prompt's lines say.

It is for trying an editor's integration, for authors of clients and for tests. It keeps no state: where it stands
in its script follows from the conversation alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from agent_core.errors import ProviderStatusError, TurnInterrupted
from agent_core.messages import Message, said_in, text_of
from agent_core.providers.base import (
    Finished,
    ModelRequest,
    StreamEvent,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from agent_core.providers.offline_script import HELP, Call, Fail, Pause, Say, Step, parse_script, split_script
from tools.light_dataclass import dataclass

_NO_REQUESTS_LEFT = "The script has more lines than this turn has requests.\n"


class OfflineProvider:
    """Plays the script in the last user message. Implements `Provider`."""

    name = "offline"

    def stream(self, request: ModelRequest) -> OfflineStream:
        """Begin the next part of the script: up to and with the next tool calls, or to its end."""
        return OfflineStream(request)

    def warm(self) -> None:
        """Nothing has to be loaded."""

    def rehearse(self, request: ModelRequest) -> None:
        """Nothing has to be made."""

    def close(self) -> None:
        """Nothing is held."""


class OfflineStream:
    """One answer of the offline provider. Implements `ModelStream`."""

    def __init__(self, request: ModelRequest) -> None:
        self._request = request
        self._closed = threading.Event()

    def close(self) -> None:
        """Stop: a pause ends at once."""
        self._closed.set()

    def __iter__(self) -> Iterator[StreamEvent]:
        turn = _last_turn(self._request.messages)
        script, on_news = split_script(text_of(said_in(turn[0]))) if turn else ("", "")
        steps, calls_made = parse_script(script), _calls_in(turn)
        news = next((index for index in range(len(turn) - 1, -1, -1) if turn[index].get("news")), 0)
        if news and not _Position(steps, _calls_in(turn[:news])).rest().calls:
            steps = parse_script(on_news) or [[Say(_about(turn[news]))]]
            turn = turn[news:]
            calls_made = _calls_in(turn)
        if not any(steps):
            yield TextDelta(HELP)
            yield from _end("stop", len(HELP))
            return
        if self._request.words_only:
            yield TextDelta(_NO_REQUESTS_LEFT)
            yield from _end("stop", 1)
            return
        told = any(message.get("unfinished") for message in turn)
        yield from self._play(_Position(steps, calls_made).rest(), told=told)

    def _play(self, rest: _Rest, *, told: bool) -> Iterator[StreamEvent]:
        """`told`: an answer broke off at a `fail` line, and what stands before that was said already."""
        said = 0
        for step in _from_failure(rest.before) if told else rest.before:
            for event in self._perform(step):
                if self._closed.is_set():
                    raise TurnInterrupted
                said += 1
                yield event
        if not rest.calls:
            if not said:
                yield TextDelta("Done.")
            yield from _end("stop", said)
            return
        for index, call in enumerate(rest.calls):
            yield ToolCallStarted(index, f"offline_{rest.calls_made + index + 1}", call.tool)
            yield ToolCallArguments(index, call.arguments)
        yield from _end("tool_calls", said)

    def _perform(self, step: Step) -> Iterator[StreamEvent]:
        match step:
            case Say():
                yield from step.deltas()
            case Pause(seconds=seconds):
                self._closed.wait(seconds)
                if self._closed.is_set():
                    raise TurnInterrupted
            case Fail(status=status):
                raise ProviderStatusError(
                    f"The offline model was told to fail with status {status}. Remove the `fail` line to go on.",
                    status,
                )
            case Call():
                raise AssertionError("calls are not performed here")


@dataclass(frozen=True, slots=True)
class _Rest:
    before: Sequence[Step]
    calls: Sequence[Call]
    calls_made: int


@dataclass(frozen=True, slots=True)
class _Position:
    """Where a script stands after `calls_made` of its tool calls."""

    batches: Sequence[Sequence[Step]]
    calls_made: int

    def rest(self) -> _Rest:
        seen = 0
        pending: list[Step] = []
        for batch in self.batches:
            calls = [step for step in batch if isinstance(step, Call)]
            if not calls:
                pending.extend(batch)
                continue
            if seen >= self.calls_made:
                return _Rest(pending, calls, self.calls_made)
            seen += len(calls)
            pending = []
        return _Rest(pending, (), self.calls_made)


def _from_failure(steps: Sequence[Step]) -> Sequence[Step]:
    failures = [position for position, step in enumerate(steps) if isinstance(step, Fail)]
    return steps[failures[0] :] if failures else steps


def _last_turn(messages: Sequence[Message]) -> Sequence[Message]:
    for index in range(len(messages) - 1, -1, -1):
        if messages[index]["role"] == "user" and not messages[index].get("injected"):
            return messages[index:]
    return ()


def _calls_in(messages: Sequence[Message]) -> int:
    return sum(len(message.get("tool_calls", ())) for message in messages)


def _about(news: Message) -> str:
    """What the first of the news says, in a line."""
    _, _, text = text_of(news["content"]).partition("\n\n")
    return f"I was told: {text.partition(chr(10))[0]}"


def _end(reason: str, deltas: int) -> Iterator[StreamEvent]:
    yield UsageReport(Usage(output_tokens=deltas))
    yield Finished("tool_calls" if reason == "tool_calls" else "stop")
