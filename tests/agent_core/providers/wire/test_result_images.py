"""Images of tool results, where each server wants them."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from agent_core.messages import assistant_message, tool_call, tool_message, user_message
from agent_core.providers.anthropic_messages import in_turn
from agent_core.providers.base import ModelRequest
from agent_core.providers.bedrock import to_converse
from agent_core.providers.chat_completions import to_wire
from agent_core.providers.choice import Dialect, ModelFacts
from agent_core.providers.protocol import fitting, takes_images_in_results
from agent_core.providers.responses import to_input
from tests.support.choices import choice_for
from tests.support.each import each

CALLS = [tool_call("a", "read_file", "{}"), tool_call("b", "look", "{}")]


def picture(data="AAAA"):
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def text(said):
    return {"type": "text", "text": said}


ONE = tool_message(CALLS[0], [text("one"), picture()])
TWO = tool_message(CALLS[1], [text("two"), picture("BBBB"), picture("CCCC")])
ASKED = [user_message("look"), assistant_message("", CALLS)]
LABELS = [
    f"[Image {number}, from the result of {tool}:]" for number, tool in enumerate(["read_file", "look", "look"], 1)
]


def choice(api_mode="chat_completions", base_url="http://models.example/v1", **options):
    return choice_for(base_url, api_mode=api_mode, **options)


@each(
    ("api_mode", "base_url", "model", "provider", "within"),
    [
        ("chat_completions", "https://api.openai.com/v1", "gpt-4o", "openai", False),
        ("anthropic_messages", "http://models.example", "any", "custom", True),
        ("codex_responses", "https://api.openai.com/v1", "gpt-5", "custom", True),
        ("codex_responses", "https://chatgpt.com/backend-api/codex", "gpt-5", "codex", True),
        ("codex_responses", "https://me.openai.azure.com/openai/v1", "gpt-5", "custom", True),
        ("codex_responses", "https://gateway.example/v1", "gpt-5", "openai", True),
        ("codex_responses", "http://127.0.0.1:8000/v1", "gpt-oss", "custom", False),
        ("codex_responses", "https://notopenai.com/v1", "gpt-oss", "custom", False),
        ("bedrock_converse", "", "us.anthropic.claude-sonnet-4-5-v1:0", "bedrock", True),
        ("bedrock_converse", "", "eu.amazon.nova-pro-v1:0", "bedrock", True),
        ("bedrock_converse", "", "us.meta.llama3-3-70b-instruct-v1:0", "bedrock", False),
    ],
)
def test_which_servers_take_them_within_the_result(api_mode, base_url, model, provider, within):
    chosen = choice_for(base_url, api_mode=api_mode, model=model, provider=provider)
    assert takes_images_in_results(chosen) is within


def test_a_server_that_takes_them_within_the_result_gets_them_there():
    chosen = choice("anthropic_messages")
    fitted = fitting([*ASKED, ONE], chosen)
    _, sent = in_turn(fitted, lambda _: ())
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    assert sent[-1]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": [text("one"), {"type": "image", "source": source}]}
    ]


def test_another_gets_them_behind_all_results_of_the_answer_with_numbers_that_tell_whose_they_are():
    sent = to_wire(ModelRequest("m", [*ASKED, ONE, TWO]), choice())
    assert [(message["role"], message["content"]) for message in sent[2:]] == [
        ("tool", "one\n\n[See image 1 behind the results.]"),
        ("tool", "two\n\n[See image 2, 3 behind the results.]"),
        (
            "user",
            [
                text(LABELS[0]),
                picture(),
                text(LABELS[1]),
                picture("BBBB"),
                text(LABELS[2]),
                picture("CCCC"),
            ],
        ),
    ]


@pytest.mark.parametrize("said", ["wait", [text("wait")]])
def test_they_join_the_words_that_follow(said):
    sent = to_wire(ModelRequest("m", [*ASKED, ONE, tool_message(CALLS[1], "two"), user_message(said)]), choice())
    assert [message["role"] for message in sent[2:]] == ["tool", "tool", "user"]
    assert sent[-1]["content"] == [text(LABELS[0]), picture(), text("wait")]


def test_mistral_gets_its_assistant_between():
    sent = to_wire(ModelRequest("m", [*ASKED, ONE]), choice(dialect=Dialect(nine_in_ids=True)))
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "assistant", "user"]


def test_responses_of_an_unknown_server_has_them_in_a_message_of_the_user():
    _, items = to_input(ModelRequest("m", [*ASKED, ONE]), choice("codex_responses"))
    assert items[-2:] == [
        {"type": "function_call_output", "call_id": "a", "output": "one\n\n[See image 1 behind the results.]"},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": LABELS[0]},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
            ],
        },
    ]


def test_converse_has_them_beside_the_result_where_the_model_takes_none_within():
    chosen = choice("bedrock_converse", "", model="us.meta.llama3-3-70b-instruct-v1:0")
    last = to_converse(ModelRequest("m", [*ASKED, ONE]), chosen)["messages"][-1]
    assert last["role"] == "user"
    assert [next(iter(block)) for block in last["content"]] == ["toolResult", "text", "image"]
    assert [next(iter(block)) for block in last["content"][0]["toolResult"]["content"]] == ["text"]


@pytest.mark.parametrize("api_mode", ["chat_completions", "codex_responses", "anthropic_messages"])
def test_a_blind_model_is_told_of_them_in_the_result(api_mode):
    *_, last = fitting([*ASKED, ONE], choice(api_mode, facts=ModelFacts(vision=False)))
    assert last["role"] == "tool"
    assert last["content"] == [
        text("one"),
        text("[An image was attached; the model test-model does not take images.]"),
    ]


def test_the_history_stays_as_it_is():
    history = [*ASKED, ONE, TWO, user_message("on")]
    before = json.dumps(history)
    to_wire(ModelRequest("m", history), choice())
    assert json.dumps(history) == before


def test_each_request_begins_with_the_whole_of_the_one_before():
    third = tool_message(tool_call("c", "look", "{}"), [text("three"), picture("DDDD")])
    steps = [
        [*ASKED, ONE, TWO],
        [assistant_message("I see.", [tool_call("c", "look", "{}")]), third, user_message("and?")],
        [assistant_message("Done."), user_message("more")],
    ]
    history, requests = [], []
    for step in steps:
        history = [*history, *step]
        requests.append(to_wire(ModelRequest("m", history), choice()))
    for before, after in pairwise(requests):
        assert after[: len(before)] == before
