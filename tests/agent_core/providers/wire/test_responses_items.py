"""Messages as items of the Responses API."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agent_core.messages import SealedItems, assistant_message, tool_call, tool_message, user_message
from agent_core.providers.base import ModelRequest
from agent_core.providers.choice import ModelFacts
from agent_core.providers.responses import CODEX_RESPONSES, OUTLINE_OF_CALL, outline_of_message, to_input
from tests.support.choices import choice_for
from tests.support.each import each

CHOICE = choice_for("http://models.example/v1", provider="openai", model="gpt-5", api_mode="codex_responses")
REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "status": "completed",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "gAAA",
}
SENT_REASONING = {"type": "reasoning", "summary": REASONING["summary"], "encrypted_content": "gAAA"}


def sealed(message, *items, model="gpt-5", provider="openai", api_mode="codex_responses"):
    return {**message, "sealed": SealedItems(api_mode=api_mode, provider=provider, model=model, items=list(items))}


def items_of(*messages):
    return to_input(ModelRequest("gpt-5", messages), CHOICE)[1]


def said(text, **more):
    part = {"type": "output_text", "text": text}
    return {"type": "message", "role": "assistant", "content": [part], **more}


def called(call_id, name="t", arguments="{}"):
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def test_the_system_prompt_becomes_the_instructions_and_a_later_one_an_item():
    messages = [{"role": "system", "content": "be brief"}, user_message("hi"), {"role": "system", "content": "now"}]
    assert to_input(ModelRequest("gpt-5", messages), CHOICE) == (
        "be brief",
        [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "now"}]},
        ],
    )


def test_without_a_system_prompt_there_are_no_instructions():
    assert to_input(ModelRequest("gpt-5", [user_message("hi")]), CHOICE)[0] == ""


def test_images_are_sent_as_the_protocol_wants_them():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    [item] = items_of(user_message([{"type": "text", "text": "look"}, picture]))
    assert item["content"] == [
        {"type": "input_text", "text": "look"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
    ]


def test_documents_are_sent_with_their_names():
    document = {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}
    [item] = items_of(user_message([{"type": "file", "file": document}]))
    assert item["content"] == [
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}
    ]


def test_what_the_model_does_not_take_is_told_of_in_words():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    blind = replace(CHOICE, facts=ModelFacts(vision=False))
    [item] = to_input(ModelRequest("gpt-5", [user_message([picture])]), blind)[1]
    assert [part["type"] for part in item["content"]] == ["input_text"]


def test_a_tools_result_may_have_images():
    picture = {"type": "image_url", "image_url": {"url": "https://host.example/a.png"}}
    result = {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "shot"}, picture]}
    assert items_of(result) == [
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": [
                {"type": "input_text", "text": "shot"},
                {"type": "input_image", "image_url": "https://host.example/a.png"},
            ],
        }
    ]


def test_calls_and_results_are_items_of_their_own():
    calls = [tool_call("a", "read_file", '{"path": "x"}'), tool_call("b", "todo", "{}")]
    messages = [assistant_message("Both:", calls, reasoning="ours"), *(tool_message(call, "done") for call in calls)]
    assert items_of(*messages) == [
        said("Both:"),
        called("a", "read_file", '{"path": "x"}'),
        called("b", "todo"),
        {"type": "function_call_output", "call_id": "a", "output": "done"},
        {"type": "function_call_output", "call_id": "b", "output": "done"},
    ]


def test_an_answer_without_text_has_no_message():
    assert items_of(assistant_message("", [tool_call("a", "t", "{}")])) == [called("a")]
    assert items_of(assistant_message("")) == []


@each(
    ("kept", "sent"),
    [
        ('{"a":  1}', '{"a":  1}'),
        ('{"a": "two\nlines"}', '{"a": "two\\nlines"}'),
        ("", "{}"),
        ("[1]", "{}"),
        ('{"a": ', "{}"),
        ("[" * 5000, "{}"),
    ],
)
def test_arguments_are_always_a_json_object(kept, sent):
    assert items_of(assistant_message("", [tool_call("a", "t", kept)])) == [called("a", arguments=sent)]


def test_a_long_id_is_shortened_in_the_same_way_for_call_and_result():
    calls = [tool_call(f"{'x' * 80}{end}", "t", "{}") for end in "ab"]
    items = items_of(assistant_message("", calls), *(tool_message(call, "done") for call in calls))
    first, second = (item["call_id"] for item in items[:2])
    assert first != second
    assert (len(first), len(second)) == (64, 64)
    assert [item["call_id"] for item in items[2:]] == [first, second]


def test_sealed_reasoning_goes_back_without_id_and_status():
    message = sealed(assistant_message("Done."), REASONING, outline_of_message("Done.", None))
    assert items_of(message) == [SENT_REASONING, said("Done.")]


@pytest.mark.parametrize(
    "author", [{"model": "gpt-5.1"}, {"provider": "azure"}, {"api_mode": "chat_completions"}], ids=str
)
def test_sealed_reasoning_of_another_model_stays_here(author):
    message = sealed(assistant_message("Done."), REASONING, outline_of_message("Done.", "final_answer"), **author)
    assert items_of(message) == [said("Done.")]


def test_several_items_keep_the_order_and_the_phases_that_the_model_gave_them():
    other = {**REASONING, "encrypted_content": "gBBB"}
    calls = [tool_call("a", "t", "{}"), tool_call("b", "t", "{}")]
    outline = [
        REASONING,
        outline_of_message("I look.", "commentary"),
        dict(OUTLINE_OF_CALL),
        other,
        outline_of_message("And here.", None),
        dict(OUTLINE_OF_CALL),
    ]
    assert items_of(sealed(assistant_message("I look.\n\nAnd here.", calls), *outline)) == [
        SENT_REASONING,
        said("I look.", phase="commentary"),
        called("a"),
        {**SENT_REASONING, "encrypted_content": "gBBB"},
        said("And here."),
        called("b"),
    ]


@pytest.mark.parametrize("change", ["text", "calls"])
def test_an_answer_that_was_mended_since_has_the_usual_order(change):
    outline = [dict(OUTLINE_OF_CALL), REASONING, outline_of_message("I look.", "commentary")]
    text = "I look. And more." if change == "text" else "I look."
    calls = [tool_call(name, "t", "{}") for name in ("a", "b")[: 2 if change == "calls" else 1]]
    assert items_of(sealed(assistant_message(text, calls), *outline)) == [
        SENT_REASONING,
        said(text),
        *(called(call["id"]) for call in calls),
    ]


def test_reasoning_that_nothing_came_of_is_not_sent():
    assert items_of(sealed(assistant_message(""), REASONING)) == []
    after = sealed(assistant_message("Done."), outline_of_message("Done.", None), REASONING)
    assert items_of(after) == [said("Done.")]


def test_each_request_of_a_long_conversation_begins_with_the_one_before_it_byte_by_byte():
    messages = [{"role": "system", "content": "You are here to help."}]
    tools = [{"type": "function", "function": {"name": "t", "description": "d", "parameters": {"type": "object"}}}]
    before, head = "", None
    for turn in range(50):
        calls = [tool_call(f"call_{turn}_{number}", "t", json.dumps({"n": number})) for number in range(3)]
        thought = {**REASONING, "id": f"rs_{turn}", "encrypted_content": f"seal {turn}"}
        outline = [thought, outline_of_message("Läuft.", "commentary"), *(dict(OUTLINE_OF_CALL) for _ in calls)]
        messages.append(user_message(f"question {turn}"))
        messages.append(sealed(assistant_message("Läuft.", calls, reasoning="Hm."), *outline))
        messages += [tool_message(call, f"result {call['id']}") for call in calls]
        # The history may come back from the store between two turns.
        messages = json.loads(json.dumps(messages))
        body = CODEX_RESPONSES.encode(ModelRequest("gpt-5", messages, tools), CHOICE)
        items = json.dumps(body.pop("input"), ensure_ascii=False)
        assert items.startswith(before)
        assert head in (None, json.dumps(body))
        before, head = items.removesuffix("]"), json.dumps(body)
    assert before.count('"encrypted_content"') == 50
    assert before.count('"function_call"') == 150
