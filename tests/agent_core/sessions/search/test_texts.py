"""What of a message is searched."""

import json

import pytest

from agent_core.messages import assistant_message, injected_message, tool_call, user_message
from agent_core.sessions.search_index import prepared, searchable
from tests.support.each import each
from tests.support.talks import printed

_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def test_the_text_of_every_part_is_searched_and_no_image():
    text = searchable(user_message([{"type": "text", "text": "look"}, _IMAGE, {"type": "text", "text": "here"}]))
    assert text == "look\nhere"


def test_a_call_is_found_by_its_tool_and_by_the_values_of_its_arguments():
    arguments = json.dumps({"path": "src/a.py", "edits": [{"new": "x = 1\ny = 2"}], "all": True, "n": 7})
    text = searchable(assistant_message("I edit it.", [tool_call("c", "patch", arguments)]))
    assert text == "I edit it.\npatch\nsrc/a.py\nx = 1\ny = 2"


def test_arguments_that_are_no_json_are_searched_as_they_are():
    assert searchable(assistant_message("", [tool_call("c", "patch", '{"path": "a.py')])) == 'patch\n{"path": "a.py'


def test_a_tool_s_answer_is_searched_without_its_json():
    assert searchable(printed(json.dumps({"output": "one\ntwo", "exit_code": 0}))) == "one\ntwo"


def test_a_tool_s_answer_that_was_cut_is_searched_without_its_escapes():
    assert searchable(printed('{"output": "one\\ntwo\\"three')) == '{"output": "one two three'


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[not json", '{"a": ' * 5000 + "1" + "}" * 5000])
def test_broken_or_deep_json_is_no_failure(text: str):
    assert isinstance(searchable(printed(text)), str)


def test_what_the_agent_put_in_itself_is_not_searched():
    assert searchable(injected_message("Go on.")) == ""
    assert searchable({"role": "system", "content": "You are"}) == ""


@each(
    ("message", "limit"),
    [
        (user_message("x y " * 100_000), 65_536),
        (assistant_message("", [tool_call("c", "t", json.dumps({"content": "x y " * 100_000}))]), 8_192),
        (printed("x y " * 100_000), 8_192),
        (printed(json.dumps({"output": "x y " * 100_000})), 8_192),
        (printed(json.dumps({"lines": ["x"] * 100_000})), 8_192),
    ],
)
def test_long_messages_are_searched_from_their_beginning(message, limit: int):
    assert limit - 10 < len(searchable(message)) <= limit


def test_characters_of_scripts_without_spaces_stand_apart():
    assert prepared("用SQLite做检索。").split() == ["用", "SQLite", "做", "检", "索", "。"]
    assert prepared("데이터 ｶﾞ ไทย").split() == ["데", "이", "터", "ガ", "ไ", "ท", "ย"]


def test_one_form_of_each_character():
    assert prepared("ＡＢＣ　ﬁle e\u0301") == "ABC file \u00e9"


def test_half_a_surrogate_pair_can_be_stored():
    assert prepared("中 \ud83d x").encode()


def test_encoded_bytes_are_left_out_and_hashes_are_not():
    digest = "a1" * 64
    assert prepared(f"before {'iVBORw0KGgo/' * 100}== after {digest}").split() == ["before", "after", digest]
