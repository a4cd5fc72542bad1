"""Text that came at once is one event: what is done for an event costs the same for one word as for a hundred."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from agent_core.errors import ProviderError
from agent_core.providers.base import ReasoningDelta, StreamEvent, TextDelta, ToolCallArguments


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
