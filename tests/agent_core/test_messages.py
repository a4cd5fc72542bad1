"""Messages, and what keeps a history well formed."""

from __future__ import annotations

import pytest

from agent_core.messages import (
    assistant_message,
    closing,
    parse_arguments,
    repaired,
    said_in,
    text_of,
    tool_call,
    tool_message,
    unanswered,
    user_message,
)
from tests.support.agents import assert_well_formed, roles
from tests.support.each import each

CALL_A = tool_call("a", "read_file", '{"path": "x"}')
CALL_B = tool_call("b", "read_file", '{"path": "y"}')
ASKED = [user_message("go"), assistant_message("", [CALL_A, CALL_B])]


def test_an_answer_with_calls_and_no_text_has_no_content():
    assert assistant_message("", [CALL_A]) == {"role": "assistant", "content": None, "tool_calls": [CALL_A]}


def test_an_answer_with_neither_has_empty_text_so_that_servers_take_it():
    assert assistant_message("") == {"role": "assistant", "content": ""}


@pytest.mark.parametrize("said", ["mine", [{"type": "text", "text": "mine"}]])
def test_what_the_model_is_told_beside_a_message_is_none_of_the_persons_words(said):
    made = user_message(said, "a note")
    assert text_of(made["content"]).endswith("a note")
    assert said_in(made) == said
    assert said_in(user_message(said)) == said


def test_only_the_note_itself_is_none_of_the_persons_words():
    one, two, note = ({"type": "text", "text": text} for text in ("one", "two", "a note"))
    assert said_in(user_message([one, two], "a note")) == [one, two]
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    for content in ([], [one, two], [note, picture], [one, note, two]):
        assert said_in({"role": "user", "content": content, "beside": "a note"}) == content


def test_reasoning_is_kept_beside_the_text():
    assert assistant_message("yes", reasoning="hm")["reasoning"] == "hm"


def test_a_tools_answer_names_its_call():
    assert tool_message(CALL_A, "{}") == {"role": "tool", "tool_call_id": "a", "name": "read_file", "content": "{}"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"path": "x"}', {"path": "x"}),
        ("", {}),
        (" \n", {}),
        (" null\n", {}),
        ('{"text": "one\ntwo"}', {"text": "one\ntwo"}),
    ],
    ids=["object", "nothing", "blank", "null", "raw line break in a string"],
)
def test_arguments_that_are_understood(text, value):
    assert parse_arguments(text) == value


@pytest.mark.parametrize(
    "text",
    ['{"path": ', "path=x", '["x"]', '"x"', "[" * 100_000],
    ids=["cut off", "no JSON", "a list", "a string", "too deep"],
)
def test_arguments_that_are_not_an_object_are_refused_in_words_for_the_model(text):
    with pytest.raises(ValueError, match="one JSON object"):
        parse_arguments(text)


@each(
    ("messages", "open_calls"),
    [
        ([], []),
        ([user_message("go")], []),
        (ASKED, ["a", "b"]),
        ([*ASKED, tool_message(CALL_A, "1")], ["b"]),
        ([*ASKED, tool_message(CALL_B, "1")], ["a"]),
        ([*ASKED, tool_message(CALL_A, "1"), tool_message(CALL_B, "2")], []),
        ([*ASKED, tool_message(CALL_A, "1"), tool_message(CALL_B, "2"), assistant_message("ok")], []),
    ],
)
def test_unanswered_calls_are_found_in_call_order(messages, open_calls):
    assert [call["id"] for call in unanswered(messages)] == open_calls


@each(
    ("messages", "added"),
    [
        ([], []),
        ([user_message("go"), assistant_message("done")], []),
        ([user_message("go")], ["assistant"]),
        (ASKED, ["tool", "tool", "assistant"]),
        ([*ASKED, tool_message(CALL_A, "1")], ["tool", "assistant"]),
        ([*ASKED, tool_message(CALL_A, "1"), tool_message(CALL_B, "2")], ["assistant"]),
    ],
)
def test_closing_makes_any_broken_history_well_formed_and_leaves_a_whole_one_alone(messages, added):
    repair = closing(messages, "[stopped]")
    assert roles(repair) == added
    assert_well_formed([*messages, *repair])


def test_closing_tells_the_model_that_the_effect_of_a_call_is_unknown():
    first, *_, last = closing(ASKED, "[stopped]")
    assert "unknown" in str(first["content"])
    assert last["content"] == "[stopped]"


def test_closing_twice_adds_nothing():
    whole = [*ASKED, *closing(ASKED, "[stopped]")]
    assert closing(whole, "[again]") == []


@each(
    ("content", "text"),
    [
        (None, ""),
        ("plain", "plain"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([{"type": "image_url", "image_url": {"url": "data:,"}}, {"type": "text", "text": "see"}], "see"),
        (
            [{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:,"}}, {"type": "text", "text": "b"}],
            "b",
        ),
    ],
)
def test_the_text_of_content(content, text):
    assert text_of(content) == text


@each(
    ("messages", "wanted"),
    [
        ([], []),
        ([*ASKED, tool_message(CALL_A, "1"), user_message("on")], ["user", "assistant", "tool", "tool", "user"]),
        ([tool_message(CALL_A, "1"), user_message("go")], ["user"]),
        ([*ASKED[:1], assistant_message("", [CALL_A]), tool_message(CALL_B, "2")], ["user", "assistant"]),
        ([*ASKED, tool_message(CALL_A, "1"), tool_message(CALL_A, "2")], ["user", "assistant", "tool"]),
        ([*ASKED, user_message("on")], ["user", "assistant", "tool", "tool", "user"]),
        ([user_message("a"), user_message("b")], ["user", "assistant", "user"]),
        (
            [user_message("a"), assistant_message("b"), user_message("c"), user_message("d")],
            ["user", "assistant", "user", "assistant", "user"],
        ),
    ],
)
def test_a_history_is_repaired_so_that_every_server_takes_it(messages, wanted):
    whole = repaired(messages)
    assert roles(whole) == wanted
    assert repaired(whole) == whole


@each("sound", [0, 1, 4, 5])
def test_what_is_known_to_be_well_formed_is_not_looked_at_again(sound):
    answered = [*ASKED, tool_message(CALL_A, "1"), tool_message(CALL_B, "2"), user_message("on")]
    broken = [user_message("more"), tool_message(CALL_A, "3")]
    assert repaired([*answered, *broken], sound) == repaired([*answered, *broken])
    odd = [tool_message(CALL_A, "of no call")]
    assert repaired([*odd, *broken], 1) == [*odd, broken[0]]


def test_what_a_repair_puts_in_says_what_is_missing():
    whole = repaired([*ASKED, user_message("a"), user_message("b")])
    assert "unknown" in str(whole[2]["content"])
    assert whole[-2]["content"] == "[There is no answer to this message.]"


def test_why_arguments_are_refused_is_told():
    with pytest.raises(ValueError, match=r"^The arguments must be one JSON object\.$"):
        parse_arguments("[]")
