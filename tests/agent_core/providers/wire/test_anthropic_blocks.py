"""Messages in blocks: what the API accepts, in bytes that stay."""

from __future__ import annotations

import json
import re
from itertools import count, pairwise

import pytest

from agent_core.messages import assistant_message, tool_call, tool_message, user_message
from agent_core.providers.anthropic_messages import in_turn, mark
from tests.support.each import each

SYSTEM = {"role": "system", "content": "Be brief."}
CALL, OTHER = tool_call("a", "read_file", '{"path": "x.py"}'), tool_call("b", "read_file", '{"path": "y.py"}')


def text(said):
    return {"type": "text", "text": said}


def thought(said, **place):
    return {"type": "thinking", "thinking": said, "signature": f"signed {said}", **place}


def use(call):
    arguments = json.loads(call["function"]["arguments"])
    return {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": arguments}


def result(call, said):
    return {"type": "tool_result", "tool_use_id": call["id"], "content": said}


def own(message):
    return message.get("sealed", {}).get("items", ())


def sealed_message(items, said="", calls=()):
    sealed = {"api_mode": "anthropic_messages", "provider": "p", "model": "m", "items": items}
    return {**assistant_message(said, calls), "sealed": sealed}


def sent(*messages):
    return in_turn(messages, own)[1]


def shape(messages):
    return [(message["role"], message["content"]) for message in messages]


def refusals(system, messages):
    """What the API would object to."""
    if messages[0]["role"] != "user" or messages[-1]["role"] != "user":
        yield "a conversation begins and ends with the user"
    for message in messages:
        kinds = [block["type"] for block in message["content"]]
        if not kinds or kinds != sorted(kinds, key=lambda kind: kind != "tool_result"):
            yield "tool results come first"
        if any(block["type"] == "text" and not block["text"].strip() for block in message["content"]):
            yield "empty text"
    for before, after in pairwise(messages):
        if before["role"] == after["role"]:
            yield "the roles do not alternate"
        calls = [block["id"] for block in before["content"] if block["type"] == "tool_use"]
        results = [block["tool_use_id"] for block in after["content"] if block["type"] == "tool_result"]
        if calls != results:
            yield f"{calls} were answered by {results}"
        if not all(re.fullmatch(r"[a-zA-Z0-9_-]+", call_id) for call_id in calls):
            yield "an id"
    blocks = [*system, *(block for message in messages for block in message["content"])]
    if sum("cache_control" in block for block in blocks) > 4:
        yield "too many breakpoints"
    if any("cache_control" in block for block in blocks if block["type"] == "thinking"):
        yield "a breakpoint on a thought"


def test_the_system_prompt_stands_apart():
    system, messages = in_turn([SYSTEM, user_message("hi")], own)
    assert system == [text("Be brief.")]
    assert shape(messages) == [("user", [text("hi")])]


def test_a_later_system_message_stays_where_it_is():
    system, messages = in_turn([SYSTEM, user_message("hi"), {"role": "system", "content": "note"}], own)
    assert system == [text("Be brief.")]
    assert shape(messages) == [("user", [text("hi"), text("note")])]


def test_results_of_parallel_calls_are_one_message_and_what_the_user_adds_follows_them():
    history = [
        user_message("compare"),
        assistant_message("Both:", [CALL, OTHER]),
        tool_message(CALL, "one"),
        tool_message(OTHER, "two"),
        user_message("be quick"),
    ]
    assert shape(sent(*history)) == [
        ("user", [text("compare")]),
        ("assistant", [text("Both:"), use(CALL), use(OTHER)]),
        ("user", [result(CALL, "one"), result(OTHER, "two"), text("be quick")]),
    ]


def test_a_result_that_comes_after_a_word_of_the_user_still_comes_first():
    history = [
        assistant_message("", [CALL, OTHER]),
        tool_message(CALL, "1"),
        user_message("x"),
        tool_message(OTHER, "2"),
    ]
    assert sent(user_message("go"), *history)[-1]["content"] == [result(CALL, "1"), result(OTHER, "2"), text("x")]


CONTENTS = {
    "text": ("hi", [text("hi")]),
    "empty text": ("", []),
    "white space": (" \n", []),
    "nothing": (None, []),
    "parts": ([{"type": "text", "text": "a"}, {"type": "text", "text": " "}], [text("a")]),
    "a data URL": (
        [{"type": "image_url", "image_url": {"url": "data:image/png;charset=x;base64,iVBO"}}],
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}],
    ),
    "an https URL": (
        [{"type": "image_url", "image_url": {"url": "https://pictures.example/a.png"}}],
        [{"type": "image", "source": {"type": "url", "url": "https://pictures.example/a.png"}}],
    ),
    "a document": (
        [{"type": "file", "file": {"filename": "a b.pdf", "file_data": "data:application/pdf;base64,JVBE"}}],
        [
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"},
                "title": "a b.pdf",
            }
        ],
    ),
}


@each("kind", CONTENTS)
def test_content_becomes_blocks_and_no_empty_ones(kind):
    content, blocks = CONTENTS[kind]
    assert sent(user_message("before"), user_message(content))[0]["content"] == [text("before"), *blocks]


def test_an_empty_result_has_no_content_and_one_with_an_image_has_blocks():
    picture = CONTENTS["a data URL"]
    silent, seen = tool_message(CALL, ""), {**tool_message(OTHER, ""), "content": picture[0]}
    blocks = sent(user_message("go"), assistant_message("", [CALL, OTHER]), silent, seen)[-1]["content"]
    assert blocks == [{"type": "tool_result", "tool_use_id": "a"}, result(OTHER, picture[1])]


@each("arguments", ["", "{broken", "[1]", "null", '{"x": NaN}', '{"x": 1e999}', "[" * 100_000])
def test_arguments_that_are_no_json_object_are_sent_as_an_empty_one(arguments):
    call = tool_call("a", "f", arguments)
    answer = sent(user_message("go"), assistant_message("", [call]), tool_message(call, "no"))[1]
    assert answer["content"] == [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]


@each("call_id", ["", "call|1", "call.1", "функция:1", "a b", "\ud83d"])
def test_ids_of_other_models_become_legal_and_the_result_finds_its_call(call_id):
    call, same = tool_call(call_id, "my tool.x", "{}"), tool_call("call_1", "f", "{}")
    history = [
        user_message("go"),
        assistant_message("", [call, same]),
        tool_message(call, "1"),
        tool_message(same, "2"),
    ]
    messages = sent(*history)
    assert list(refusals([], messages)) == []
    assert len({block["id"] for block in messages[1]["content"]}) == 2
    assert messages[1]["content"][0]["name"] == "my_tool_x"
    assert sent(*history) == messages


def test_ids_that_differ_in_a_forbidden_character_stay_different():
    calls = [tool_call("x:1", "f", "{}"), tool_call("x.1", "f", "{}"), tool_call("x_1", "f", "{}")]
    blocks = sent(user_message("go"), assistant_message("", calls), *[tool_message(call, "r") for call in calls])
    assert len({block["id"] for block in blocks[1]["content"]}) == 3


LONE = {
    "nothing at all": [],
    "an answer first": [assistant_message("I began.")],
    "an answer at the end": [user_message("hi"), assistant_message("half an ans ")],
    "two answers": [user_message("hi"), assistant_message("one"), assistant_message("two"), user_message("?")],
    "an empty answer": [user_message("hi"), assistant_message(""), user_message("hello?")],
    "an empty question": [user_message("hi"), assistant_message("yes"), user_message(""), assistant_message("?")],
}


@each("kind", LONE)
def test_a_conversation_that_the_api_would_refuse_becomes_legal(kind):
    system, messages = in_turn(LONE[kind], own)
    assert list(refusals(system, messages)) == []


def test_nothing_of_an_answer_is_lost_between_two_answers():
    said = [block["text"] for message in sent(*LONE["two answers"]) for block in message["content"]]
    assert said == ["hi", "one", "Go on.", "two", "?"]


def test_thoughts_go_back_first_and_unchanged():
    items = [thought("hm"), {"type": "redacted_thinking", "data": "xyz"}]
    answer = sent(user_message("go"), sealed_message(items, "Yes.", [CALL]), tool_message(CALL, "1"))[1]
    assert answer["content"] == [*items, text("Yes."), use(CALL)]


def test_thoughts_between_text_and_calls_go_back_in_their_place():
    items = [thought("1"), thought("2", after_text=4), thought("3", after_text=4, after_calls=1)]
    answer = sent(user_message("go"), sealed_message(items, "Yes.\n\nNo.", [CALL, OTHER]))[1]
    assert answer["content"] == [
        thought("1"),
        text("Yes."),
        thought("2"),
        use(CALL),
        thought("3"),
        text("\n\nNo."),
        use(OTHER),
    ]


@pytest.mark.parametrize("place", [{"after_text": 99}, {"after_calls": 9}, {"after_text": "x"}])
def test_a_place_that_does_not_fit_its_answer_loses_nothing(place):
    answer = sent(user_message("go"), sealed_message([thought("1"), thought("2", **place)], "Yes.", [CALL]))[1]
    kinds = sorted(block["type"] for block in answer["content"])
    assert kinds == ["text", "thinking", "thinking", "tool_use"]


def test_an_answer_of_thoughts_alone_stays():
    messages = sent(user_message("go"), sealed_message([thought("hm")]), user_message("and?"))
    assert [message["content"] for message in messages][1] == [thought("hm")]


def test_what_is_only_ours_is_not_sent():
    history = [
        {**user_message("go"), "injected": True},
        {**assistant_message("done", [CALL], "secret thought"), "unfinished": True},
        tool_message(CALL, "1"),
    ]
    written = json.dumps(sent(*history))
    assert not re.search("secret|injected|unfinished|role.: .tool|function", written)


def marked(*messages, ttl="5m"):
    system, blocks = in_turn(messages, own)
    mark(system, blocks, ttl)
    assert list(refusals(system, blocks)) == []
    return system, blocks


def test_the_system_prompt_and_the_last_three_messages_are_marked():
    system, messages = marked(SYSTEM, *[user_message("q"), assistant_message("a")] * 3, user_message("end"))
    assert [block.get("cache_control") for block in system] == [{"type": "ephemeral"}]
    assert ["cache_control" in message["content"][-1] for message in messages] == [False] * 4 + [True] * 3


def test_only_the_last_block_of_a_message_is_marked_and_never_a_thought():
    history = [
        user_message("go"),
        sealed_message([thought("a"), thought("b", after_text=3)], "yes"),
        user_message("x"),
    ]
    _, messages = marked(*history, user_message("y"))
    assert [["cache_control" in block for block in message["content"]] for message in messages] == [
        [True],
        [False, True, False],
        [False, True],
    ]


def test_a_message_that_cannot_be_marked_leaves_its_mark_to_an_earlier_one():
    answers = [user_message("1"), assistant_message("2"), user_message("3"), sealed_message([thought("4")])]
    _, messages = marked(*answers, user_message("5"))
    assert ["cache_control" in message["content"][-1] for message in messages] == [False, True, True, False, True]


def test_the_longer_time_to_live_is_named_and_the_usual_one_is_not():
    system, messages = marked(SYSTEM, user_message("hi"), ttl="1h")
    assert system[-1]["cache_control"] == messages[-1]["content"][-1]["cache_control"]
    assert system[-1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def conversation():
    """Fifty turns: parallel calls, thoughts, words in between, cut and empty answers, images."""
    numbers = count()
    yield [SYSTEM]
    for turn in range(50):
        yield [user_message(CONTENTS["a data URL"][0] if turn % 7 == 3 else f"question {turn}")]
        for step in range(turn % 3):
            calls = [tool_call(f"id:{next(numbers)}", "read_file", '{"path": "x.py"}') for _ in range(1 + turn % 4)]
            said = f"Step {step}. " * (turn % 2)
            items = [thought(f"{turn}.{step}"), thought("more", after_text=len(said))] if turn % 5 else []
            yield [sealed_message(items, said, calls), *[tool_message(call, "found it") for call in calls]]
            if turn % 11 == 5:
                yield [user_message("a word in between")]
        if turn % 6 == 5:
            yield [{**assistant_message("half an"), "unfinished": True}, user_message("Go on.")]
        if turn % 13 != 9:
            yield [sealed_message([thought(f"end {turn}")], f"answer {turn}")]


def test_over_fifty_turns_each_request_begins_with_the_one_before_it():
    history, before, requests = [], [], 0
    for messages in conversation():
        history += messages
        if history[-1]["role"] not in {"user", "tool"}:
            continue
        system, wire = in_turn(history, own)
        plain = [json.dumps((message["role"], block)) for message in wire for block in message["content"]]
        assert plain[: len(before)] == before
        assert system == [text("Be brief.")]
        mark(system, wire, "5m")
        assert list(refusals(system, wire)) == []
        before, requests = plain, requests + 1
    assert requests > 100
