"""What comes at once is one event, and a character that was cut is one character."""

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
from agent_core.providers.bedrock import AFTER_TEXT
from agent_core.providers.http_provider import WholeCharacters, joined
from tests.support.bedrock_server import Stream, delta, frame
from tests.support.bedrock_server import reply as bedrock_reply
from tests.support.each import each
from tests.support.model_replies import Reply, ToolCall

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


HIGH, LOW = "\ud83d", "\ude00"
USED = UsageReport(Usage(1, 2))
STARTED = ToolCallStarted(1, "c", "f")


def whole(events):
    characters = WholeCharacters()
    return [*characters.of(events), *characters.rest()]


@each(
    ("events", "found"),
    [
        ([TextDelta(f"a{HIGH}"), TextDelta(f"{LOW}b")], [TextDelta("a"), TextDelta("😀b")]),
        ([TextDelta(HIGH), USED, ITEM, TextDelta(LOW)], [USED, ITEM, TextDelta("😀")]),
        ([TextDelta(f"{HIGH}{LOW}{HIGH}"), TextDelta(LOW)], [TextDelta("😀"), TextDelta("😀")]),
        ([ReasoningDelta(HIGH), ReasoningDelta(LOW)], [ReasoningDelta("😀")]),
        (
            [
                ToolCallArguments(1, HIGH),
                ToolCallArguments(2, HIGH),
                ToolCallArguments(1, LOW),
                ToolCallArguments(2, LOW),
            ],
            [ToolCallArguments(1, "😀"), ToolCallArguments(2, "😀")],
        ),
        ([TextDelta(HIGH), TextDelta("b")], [TextDelta("\ufffdb")]),
        ([TextDelta(LOW), TextDelta("b")], [TextDelta("\ufffd"), TextDelta("b")]),
        ([TextDelta(f"a{HIGH}")], [TextDelta("a"), TextDelta("\ufffd")]),
        ([ReasoningDelta(HIGH), TextDelta(LOW)], [ReasoningDelta("\ufffd"), TextDelta("\ufffd")]),
        ([TextDelta(HIGH), STARTED], [TextDelta("\ufffd"), STARTED]),
        ([TextDelta("ü"), TextDelta("😀"), TextDelta("")], [TextDelta("ü"), TextDelta("😀"), TextDelta("")]),
    ],
)
def test_halves_of_a_character_are_joined_over_events_and_replaced_where_they_are_alone(events, found):
    assert whole(events) == found


def _said(events):
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    thoughts = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    arguments = "".join(event.text for event in events if isinstance(event, ToolCallArguments))
    return text, thoughts, arguments


MODES = ["chat_completions", "anthropic_messages", "codex_responses"]


@pytest.mark.parametrize("split", [1, 2, 5])
@pytest.mark.parametrize("mode", MODES)
def test_an_emoji_that_a_server_cuts_in_two_events_arrives_whole(model_server, connect, ask, mode, split):
    halves = f"ab {HIGH}{LOW} c {HIGH}{LOW}"
    call = ToolCall("call_1", "write_file", f'{{"content": "{halves}"}}')
    model_server.add(Reply(halves, halves, [call], split=split))
    found = "ab 😀 c 😀"
    assert _said(ask(connect(api_mode=mode))) == (found, found, f'{{"content": "{found}"}}')


@pytest.mark.parametrize("mode", MODES)
def test_bytes_that_are_not_utf_8_are_replaced_in_an_answer(model_server, connect, ask, mode):
    call = ToolCall("call_1", "write_file", '{"content": "y\udcfc"}')
    model_server.add(Reply("gr\udcfc\udcdfe ü", "th\udcff", [call], split=3))
    assert _said(ask(connect(api_mode=mode))) == ("gr\ufffd\ufffde ü", "th\ufffd", '{"content": "y\ufffd"}')


def test_bedrocks_answers_are_whole_characters_too(bedrock_server, ask_bedrock):
    cut = [delta(0, {"text": HIGH}), delta(0, {"text": LOW})]
    wrong = frame("contentBlockDelta", b'{"contentBlockIndex": 0, "delta": {"text": " gr\xfcn"}}')
    bedrock_server.add(Stream([*cut, wrong, *bedrock_reply("!")]))
    assert _said(ask_bedrock())[0] == "😀 gr\ufffdn!"


def test_bedrocks_signed_thoughts_go_back_as_the_characters_that_they_were(bedrock_server, ask_bedrock):
    thoughts = [{"text": HIGH}, {"text": LOW}, {"signature": "s"}]
    bedrock_server.add(Stream(bedrock_reply("!", reasoning=thoughts)))
    (item,) = [event.item for event in ask_bedrock() if isinstance(event, ProviderItem)]
    assert item["reasoningContent"]["reasoningText"]["text"] == "😀"


def test_anthropics_signed_thoughts_go_back_as_the_characters_that_they_were(model_server, connect, ask):
    model_server.add(Reply("a", f"{HIGH}{LOW}", split=1, sealed_reasoning="signature"))
    (item,) = [event.item for event in ask(connect(api_mode="anthropic_messages")) if isinstance(event, ProviderItem)]
    assert item["thinking"] == "😀"


def test_a_thought_that_comes_after_text_is_placed_by_whole_characters(bedrock_server, ask_bedrock):
    said = [delta(0, {"text": HIGH}), delta(0, {"text": LOW})]
    thought = [{"text": "t"}, {"signature": "s"}]
    bedrock_server.add(Stream([*said, *bedrock_reply("", reasoning=thought)]))
    (item,) = [event.item for event in ask_bedrock() if isinstance(event, ProviderItem)]
    assert item[AFTER_TEXT] == 1
