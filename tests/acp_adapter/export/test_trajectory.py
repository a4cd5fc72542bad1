"""A session as a trajectory."""

import json
from dataclasses import replace

import pytest

from acp_adapter.export.transcript import to_trajectory
from agent_core.messages import assistant_message, injected_message, tool_call, tool_message, user_message
from tests.support.sample_transcript import TranscriptMaker, sample_transcript

CALLS = [tool_call("c1", "terminal", '{"command": "ls"}'), tool_call("c2", "read_file", "no JSON")]


def trajectory(messages, *, system=None, tools=None, **options):
    maker = TranscriptMaker()
    maker.turn([], messages, **options)
    line = to_trajectory(maker.made(), system, tools)
    assert "\n" not in line
    return json.loads(line)


def said(messages, **options):
    return [(each["from"], each["value"]) for each in trajectory(messages, **options)["conversations"]]


def test_every_role_has_its_name_and_results_are_one_turn():
    assert said(
        [
            user_message("Look."),
            assistant_message("I look.", CALLS, "Hm."),
            tool_message(CALLS[0], '{"output": "a.py", "exit_code": 0}'),
            tool_message(CALLS[1], "plain"),
            injected_message("Go on."),
            assistant_message("Done."),
        ]
    ) == [
        ("human", "Look."),
        (
            "gpt",
            (
                "<think>\nHm.\n</think>\nI look.\n"
                '<tool_call>\n{"name": "terminal", "arguments": {"command": "ls"}}\n</tool_call>\n'
                '<tool_call>\n{"name": "read_file", "arguments": "no JSON"}\n</tool_call>'
            ),
        ),
        (
            "tool",
            (
                '<tool_response>\n{"tool_call_id": "c1", "name": "terminal", '
                '"content": {"output": "a.py", "exit_code": 0}}\n</tool_response>\n'
                '<tool_response>\n{"tool_call_id": "c2", "name": "read_file", "content": "plain"}\n</tool_response>'
            ),
        ),
        ("human", "Go on."),
        ("gpt", "<think>\n</think>\nDone."),
    ]


def test_the_system_prompt_and_the_tools_come_first():
    tools = [{"type": "function", "function": {"name": "terminal", "description": "Runs «it»."}}]
    role, text = said([user_message("x")], system="You help.", tools=tools)[0]
    assert role == "system"
    assert text.startswith("You help.\n\n")
    assert '<tools>\n[{"name": "terminal", "description": "Runs «it»."}]\n</tools>' in text
    assert '{"name": <function-name>, "arguments": <arguments-object>}' in text


def test_what_is_hidden_from_the_model_is_left_out():
    assert said([user_message("refused")], hidden="withdrawn") == []


def test_a_call_without_a_result_gets_one_as_in_the_models_history():
    roles = [role for role, _ in said([user_message("a"), assistant_message("", CALLS[:1]), user_message("b")])]
    assert roles == ["human", "gpt", "tool", "human"]


def test_pictures_and_documents_are_marks():
    content = [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
    ]
    assert said([user_message(content)]) == [("human", "See\n<image>\n<file a.pdf>")]


@pytest.mark.parametrize("result", ['{"a": NaN}', "[1, 2", "{" * 100_000, "[" * 100_000])
def test_a_result_that_is_no_json_stays_text(result):
    messages = [user_message("a"), assistant_message("", CALLS[:1]), tool_message(CALLS[0], result)]
    text = dict(said(messages))["tool"]
    assert json.loads(text.split("\n")[1])["content"] == result


@pytest.mark.parametrize(
    ("outcome", "completed"), [("end_turn", True), ("cancelled", False), ("error", False), (None, False)]
)
def test_it_is_completed_if_the_last_turn_came_to_its_end(outcome, completed):
    assert trajectory([user_message("a")], outcome=outcome)["completed"] is completed


def test_the_session_is_described_beside_the_conversation():
    made = json.loads(to_trajectory(sample_transcript()))
    del made["conversations"]
    assert made == {
        "timestamp": "2026-09-21T14:20:52+00:00",
        "model": "anthropic:claude-sonnet-5",
        "completed": False,
        "session_id": "3f9a1c77d0b94e6c8a52f1e0b7d64c11",
        "cwd": "/srv/sums",
        "turns": 5,
        "compressions": 0,
        "api_calls": 7,
        "input_tokens": 123456,
        "output_tokens": 4200,
        "cost_usd": 0.4321,
    }


def test_a_session_without_turns_is_not_completed():
    empty = replace(sample_transcript(), turns=(), messages=(), events=())
    assert json.loads(to_trajectory(empty))["completed"] is False


def test_half_characters_can_be_written():
    assert said([user_message("a \ud800 b")]) == [("human", "a \ufffd b")]
