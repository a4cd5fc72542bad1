"""What comes at once is one event."""

from __future__ import annotations

import pytest

from agent_core.errors import ProviderProtocolError
from agent_core.providers.base import (
    Finished,
    ProviderItem,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from agent_core.providers.wire.joined_events import joined
from tests.support.each import each

ITEM = ProviderItem({"type": "thinking"})


@each(
    ("events", "found"),
    [
        ([], []),
        ([TextDelta("a"), TextDelta("b"), TextDelta("c")], [TextDelta("abc")]),
        ([ReasoningDelta("a"), ReasoningDelta("b")], [ReasoningDelta("ab")]),
        ([ToolCallArguments(1, "a"), ToolCallArguments(1, "b")], [ToolCallArguments(1, "ab")]),
        (
            [ReasoningDelta("a"), TextDelta("b"), TextDelta("c"), ITEM, TextDelta("d")],
            [ReasoningDelta("a"), TextDelta("bc"), ITEM, TextDelta("d")],
        ),
    ],
)
def test_neighbours_that_continue_each_other_are_one(events, found):
    assert list(joined(events)) == found


@each(
    "events",
    [
        [TextDelta("a"), ReasoningDelta("b"), TextDelta("c")],
        [ToolCallArguments(0, "a"), ToolCallArguments(1, "b"), ToolCallArguments(0, "c")],
        [ToolCallStarted(0, "a", "t"), ToolCallStarted(0, "a", "t")],
        [ITEM, ITEM, UsageReport(Usage(1)), UsageReport(Usage(2)), Finished("stop")],
    ],
)
def test_nothing_else_is_joined(events):
    assert list(joined(events)) == events


def test_what_came_before_a_failure_is_given_before_it():
    def events():
        yield TextDelta("a")
        yield TextDelta("b")
        raise ProviderProtocolError("broken")

    given = joined(events())
    assert next(given) == TextDelta("ab")
    with pytest.raises(ProviderProtocolError, match="broken"):
        next(given)
