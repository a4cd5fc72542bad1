"""Text that came at once is one event: what is done for an event costs the same for one word as for a hundred.

And a character that came in two events is one: servers that write JSON with escapes cut emoji between their halves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from agent_core.errors import ProviderError
from agent_core.providers.base import ReasoningDelta, StreamEvent, TextDelta, ToolCallArguments, ToolCallStarted
from tools.quick_json import whole_text

_Text = TextDelta | ReasoningDelta | ToolCallArguments
_LONE = "\ufffd"


def joined(events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
    """The same with neighbours that continue each other as one. `events` must not wait for anything.

    Raises:
        ProviderError: `events` ended with it; what came before is given first.
    """
    taken: list[StreamEvent] = []
    failure: ProviderError | None = None
    try:
        for event in events:
            taken.append(event)  # noqa: PERF402 - what came before a failure counts
    except ProviderError as problem:
        failure = problem
    if len(taken) < 2:  # noqa: PLR2004 - most often: a model is slower than we are
        yield from taken
    else:
        for kind, alike in groupby(taken, _kind):
            if kind is None:
                yield from alike
            else:
                yield _one(list(alike))
    if failure is not None:
        raise failure


class WholeCharacters:
    """Joins the halves of surrogate pairs over all of an answer's events; what stays alone becomes U+FFFD."""

    def __init__(self) -> None:
        self._held: dict[object, _Text] = {}

    def of(self, events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
        """The same events; the first half of a pair waits for the one that goes on with its text."""
        for event in events:
            if isinstance(event, TextDelta | ReasoningDelta | ToolCallArguments):
                yield from self._text(event)
            else:
                if self._held and isinstance(event, ToolCallStarted):
                    yield from self._given_up(TextDelta, ReasoningDelta)
                yield event

    def rest(self) -> Iterator[StreamEvent]:
        """What waits in vain, once the answer has ended."""
        yield from self._given_up(*self._held)

    def _text(self, event: _Text) -> Iterator[StreamEvent]:
        if event.text.isascii() and not self._held:
            yield event
            return
        kind = _kind(event)
        if not isinstance(event, ToolCallArguments):
            yield from self._given_up(TextDelta if kind is ReasoningDelta else ReasoningDelta)
        held = self._held.pop(kind, None)
        text = event.text if held is None else held.text + event.text
        if "\ud800" <= text[-1:] <= "\udbff":
            self._held[kind] = replace(event, text=text[-1])
            text = text[:-1]
        if text:
            yield replace(event, text=whole_text(text))

    def _given_up(self, *kinds: object) -> Iterator[StreamEvent]:
        for kind in kinds:
            if (held := self._held.pop(kind, None)) is not None:
                yield replace(held, text=_LONE)


def character_count(piece: str) -> int:
    """How many characters a piece of text has or begins: second halves of surrogate pairs are none of their own."""
    return len(piece) if piece.isascii() else sum(not "\udc00" <= char <= "\udfff" for char in piece)


def _kind(event: StreamEvent) -> object:
    """The same for events that continue each other; None for those that stand alone."""
    kind = type(event)
    if kind is TextDelta or kind is ReasoningDelta:
        return kind
    return event.index if isinstance(event, ToolCallArguments) else None


def _one(alike: list[StreamEvent]) -> StreamEvent:
    first = alike[0]
    if len(alike) == 1 or not isinstance(first, TextDelta | ReasoningDelta | ToolCallArguments):
        return first
    return replace(first, text="".join([event.text for event in alike if isinstance(event, type(first))]))
