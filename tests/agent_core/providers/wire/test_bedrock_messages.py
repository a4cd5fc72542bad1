"""A conversation as Bedrock's Converse takes it."""

from __future__ import annotations

import base64

import pytest

from agent_core.messages import assistant_message, tool_call, tool_message, user_message
from agent_core.providers.base import ModelRequest
from agent_core.providers.bedrock import AFTER_CALLS, AFTER_TEXT, to_converse
from agent_core.providers.choice import ModelFacts
from tests.support.choices import choice_for
from tests.support.each import each

LLAMA = "us.meta.llama3-3-70b-instruct-v1:0"
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
PROFILE = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-3-7-sonnet-20250219-v1:0"
NOVA = "eu.amazon.nova-pro-v1:0"
PIXEL = base64.b64encode(b"\x89PNG pixel").decode()
TOOL = {"type": "function", "function": {"name": "t", "description": "d", "parameters": {"type": "object"}}}


def converse(messages, model=LLAMA, facts=None, **options):
    choice = choice_for("", provider="bedrock", model=model, api_mode="bedrock_converse", facts=facts or ModelFacts())
    return to_converse(ModelRequest(model, messages, **options), choice)


def sent(messages, model=LLAMA):
    return [(message["role"], message["content"]) for message in converse(messages, model)["messages"]]


def sealed_by(model, items, text="", calls=()):
    message = assistant_message(text, calls)
    message["sealed"] = {"api_mode": "bedrock_converse", "provider": "bedrock", "model": model, "items": items}
    return message


def thought(text, after_text=0, after_calls=0):
    content = {"reasoningText": {"text": text, "signature": f"signed {text}"}}
    return {"reasoningContent": content, AFTER_TEXT: after_text, AFTER_CALLS: after_calls}


def test_a_question_is_sent_without_what_was_not_asked_for():
    assert converse([{"role": "system", "content": "Be brief."}, user_message("hello")]) == {
        "modelId": LLAMA,
        "system": [{"text": "Be brief."}],
        "messages": [{"role": "user", "content": [{"text": "hello"}]}],
    }


def test_limits_and_tools_have_their_places():
    body = converse([user_message("hello")], max_tokens=99, temperature=0.5, tools=[TOOL])
    assert body["inferenceConfig"] == {"maxTokens": 99, "temperature": 0.5}
    spec = {"name": "t", "description": "d", "inputSchema": {"json": {"type": "object"}}}
    assert body["toolConfig"] == {"tools": [{"toolSpec": spec}]}


def test_a_tool_without_description_and_parameters_has_a_schema_and_no_empty_text():
    body = converse(
        [user_message("hello")], tools=[{"type": "function", "function": {"name": "t", "description": ""}}]
    )
    schema = {"json": {"type": "object", "properties": {}}}
    assert body["toolConfig"]["tools"] == [{"toolSpec": {"name": "t", "inputSchema": schema}}]


def test_calls_and_results_become_blocks_and_the_results_one_message_with_what_the_user_says_next():
    calls = [tool_call("a", "t", '{"n": 1}'), tool_call("b", "t", "")]
    history = [
        user_message("go"),
        assistant_message("Both:", calls),
        tool_message(calls[0], "one"),
        tool_message(calls[1], ""),
        user_message("and?"),
    ]
    assert sent(history) == [
        ("user", [{"text": "go"}]),
        (
            "assistant",
            [
                {"text": "Both:"},
                {"toolUse": {"toolUseId": "a", "name": "t", "input": {"n": 1}}},
                {"toolUse": {"toolUseId": "b", "name": "t", "input": {}}},
            ],
        ),
        (
            "user",
            [
                {"toolResult": {"toolUseId": "a", "content": [{"text": "one"}]}},
                {"toolResult": {"toolUseId": "b", "content": [{"text": "(no output)"}]}},
                {"text": "and?"},
            ],
        ),
    ]


def test_arguments_that_are_no_object_become_an_empty_one():
    history = [user_message("go"), assistant_message("", [tool_call("a", "t", "{broken")])]
    assert sent(history)[1] == ("assistant", [{"toolUse": {"toolUseId": "a", "name": "t", "input": {}}}])


def test_tools_that_were_used_are_named_where_none_are_given():
    calls = [tool_call("a", "read_file", "{}"), tool_call("b", "read_file", "{}")]
    history = [user_message("go"), assistant_message("", calls), *(tool_message(call, "x") for call in calls)]
    tools = converse(history)["toolConfig"]["tools"]
    assert [tool["toolSpec"]["name"] for tool in tools] == ["read_file"]


@pytest.mark.parametrize(
    ("history", "roles"),
    [
        ([assistant_message("first")], ["user", "assistant", "user"]),
        ([user_message("a"), user_message("b")], ["user"]),
        (
            [user_message("a"), assistant_message("b"), assistant_message("c"), user_message("d")],
            ["user", "assistant", "user"],
        ),
        ([user_message("a"), assistant_message(""), user_message("b")], ["user"]),
        ([user_message(" \n")], ["user"]),
        ([], ["user"]),
    ],
    ids=["answer first", "two questions", "two answers", "an empty answer", "nothing but space", "nothing"],
)
def test_user_and_assistant_take_turns_and_the_user_has_the_first_and_the_last_word(history, roles):
    assert [role for role, _ in sent(history)] == roles
    assert all(block["text"].strip() for _, content in sent(history) for block in content)


def test_images_are_sent_as_bytes():
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    assert sent([user_message([{"type": "text", "text": "look"}, image])]) == [
        ("user", [{"text": "look"}, {"image": {"format": "png", "source": {"bytes": b"\x89PNG pixel"}}}])
    ]


@pytest.mark.parametrize(
    "url", ["https://pictures.example/a.png", "data:image/tiff;base64,AAAA", "data:image/png;base64,AAA"]
)
def test_an_image_that_cannot_be_sent_is_told_of_in_words(url):
    [(_, [block])] = sent([user_message([{"type": "image_url", "image_url": {"url": url}}])])
    assert "image" in block["text"]
    assert "AAA" not in block["text"]


def test_a_blind_model_is_told_of_images_in_words():
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    body = converse([user_message([image])], facts=ModelFacts(vision=False))
    assert body["messages"][0]["content"] == [
        {"text": f"[An image was attached; the model {LLAMA} does not take images.]"}
    ]


def test_a_document_has_a_text_beside_it_also_if_it_came_alone():
    document = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}}
    block = {"document": {"format": "pdf", "name": "a", "source": {"bytes": b"%PD"}}}
    again = {"document": {**block["document"], "name": "a 2"}}
    history = [
        user_message([document]),
        assistant_message("seen"),
        user_message([document, {"type": "text", "text": "and this?"}]),
    ]
    assert sent(history) == [
        ("user", [{"text": "Attached:"}, block]),
        ("assistant", [{"text": "seen"}]),
        ("user", [again, {"text": "and this?"}]),
    ]
    assert sent(history)[:1] == sent(history[:1])


@pytest.mark.parametrize("odd", ["call:1|x", "x" * 200, "", "ä"])
def test_ids_and_names_that_are_not_allowed_are_changed_alike_in_call_and_result(odd):
    call = tool_call(odd, odd, "{}")
    use, result = (
        content[0]
        for _, content in sent([user_message("go"), assistant_message("", [call]), tool_message(call, "x")])[1:]
    )
    assert use["toolUse"]["toolUseId"] == result["toolResult"]["toolUseId"]
    for name in (use["toolUse"]["toolUseId"], use["toolUse"]["name"]):
        assert 0 < len(name) <= 64
        assert name.replace("_", "").isalnum()
        assert name.isascii()


def test_different_ids_stay_different():
    calls = [tool_call("a:1", "t", "{}"), tool_call("a|1", "t", "{}")]
    uses = sent([user_message("go"), assistant_message("", calls)])[1][1]
    assert len({use["toolUse"]["toolUseId"] for use in uses}) == 2


def test_text_that_is_not_valid_unicode_can_be_sent():
    [(_, [block])] = sent([user_message("half a pair: \ud83d, 語")])
    assert block["text"].encode() == "half a pair: ?, 語".encode()


def test_reasoning_goes_back_to_the_model_that_wrote_it_where_it_stood():
    calls = [tool_call("a", "t", "{}"), tool_call("b", "t", "{}")]
    items = [
        thought("first"),
        {
            "reasoningContent": {"redactedContent": base64.b64encode(b"sealed").decode()},
            AFTER_TEXT: 2,
            AFTER_CALLS: 1,
        },
    ]
    answer = sealed_by("deepseek.r9", items, "One, two", calls)
    content = sent([user_message("go"), answer], "deepseek.r9")[1][1]
    assert content == [
        {"reasoningContent": {"reasoningText": {"text": "first", "signature": "signed first"}}},
        {"text": "On"},
        {"toolUse": {"toolUseId": "a", "name": "t", "input": {}}},
        {"reasoningContent": {"redactedContent": b"sealed"}},
        {"text": "e, two"},
        {"toolUse": {"toolUseId": "b", "name": "t", "input": {}}},
    ]


def test_reasoning_goes_to_no_other_model():
    history = [user_message("go"), sealed_by("deepseek.r9", [thought("first")], "hi")]
    assert sent(history, LLAMA)[1] == ("assistant", [{"text": "hi"}])


def test_claude_gets_its_thinking_back_when_it_is_to_think_and_a_budget_within_the_limit():
    history = [user_message("go"), sealed_by(CLAUDE, [thought("first")], "hi"), user_message("more")]
    facts = ModelFacts(max_output=64000, reasoning=True)
    body = converse(history, CLAUDE, facts, reasoning="low", temperature=0.5)
    asked = body["additionalModelRequestFields"]["thinking"]
    assert asked["type"] == "enabled"
    assert asked["budget_tokens"] < body["inferenceConfig"]["maxTokens"]
    assert "temperature" not in body["inferenceConfig"]
    assert "reasoningContent" in body["messages"][1]["content"][0]


def test_claude_is_not_sent_thinking_that_was_not_asked_for():
    history = [user_message("go"), sealed_by(CLAUDE, [thought("first")], "hi"), user_message("more")]
    body = converse(history, CLAUDE, temperature=0.5)
    assert "additionalModelRequestFields" not in body
    assert body["inferenceConfig"] == {"temperature": 0.5}
    assert body["messages"][1]["content"] == [{"text": "hi"}]


def test_other_models_are_not_told_how_much_to_think():
    assert "additionalModelRequestFields" not in converse([user_message("go")], reasoning="high")


def marks(body):
    """Where the prefix is marked: the system prompt, and the numbers of messages."""
    where = ["system"] if any("cachePoint" in block for block in body.get("system", ())) else []
    return where + [
        number for number, message in enumerate(body["messages"]) if "cachePoint" in message["content"][-1]
    ]


@each(
    ("model", "marked"),
    [
        (CLAUDE, ["system", 2, 4, 6]),
        ("anthropic.claude-3-5-haiku-20241022-v1:0", ["system", 2, 4, 6]),
        (PROFILE, ["system", 2, 4, 6]),
        (NOVA, ["system", 0, 4, 6]),
        ("anthropic.claude-3-haiku-20240307-v1:0", []),
        ("anthropic.claude-3-5-sonnet-20240620-v1:0", []),
        (LLAMA, []),
        ("openai.gpt-oss-120b-1:0", []),
    ],
)
def test_the_ends_of_the_system_prompt_and_of_the_last_messages_are_marked_for_models_that_keep_them(model, marked):
    call = tool_call("a", "t", "{}")
    history = [
        {"role": "system", "content": "s"},
        user_message("go"),
        assistant_message("", [call]),
        tool_message(call, "x"),
        assistant_message("done"),
        user_message("and?"),
        assistant_message("well"),
        user_message("last"),
    ]
    assert marks(converse(history, model)) == marked


@pytest.mark.parametrize(
    ("model", "ttl", "point"),
    [
        (CLAUDE, "1h", {"type": "default", "ttl": "1h"}),
        (CLAUDE, "5m", {"type": "default"}),
        ("anthropic.claude-3-7-sonnet-20250219-v1:0", "1h", {"type": "default"}),
        (NOVA, "1h", {"type": "default"}),
    ],
)
def test_an_hour_is_asked_for_only_of_models_that_know_it(model, ttl, point):
    body = converse([user_message("hello")], model, cache_ttl=ttl)
    assert body["messages"][0]["content"][-1] == {"cachePoint": point}


def test_apart_from_the_marks_a_longer_conversation_begins_with_the_same_blocks():
    call = tool_call("a", "t", '{"b": 1, "a": 2}')
    history = [{"role": "system", "content": "s"}, user_message("go")]
    before = None
    for number in range(20):
        call = tool_call(f"call-{number}", "t", '{"b": 1, "a": 2}')
        history += [
            assistant_message("hm", [call]),
            tool_message(call, "x"),
            assistant_message("so"),
            user_message("go"),
        ]
        body = converse(history, CLAUDE, tools=[TOOL])
        bare = [
            [message["role"], [block for block in message["content"] if "cachePoint" not in block]]
            for message in body["messages"]
        ]
        assert before is None or bare[: len(before)] == before
        before = bare
