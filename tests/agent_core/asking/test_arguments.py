"""Arguments of tool calls: valid ones stay as they are, broken ones are mended only where nothing is invented."""

from __future__ import annotations

import json

import pytest

from agent_core.asking.arguments import settled_arguments
from tests.support.each import each


@pytest.mark.parametrize("text", ['{"a": 1}', ' {"path":"ü", "n": [1,2]}\n', "{}", '{"a": {"b": null}}'])
def test_a_valid_object_stays_byte_for_byte(text):
    assert settled_arguments(text) == (text, None)


@pytest.mark.parametrize("text", ["", "  \n"])
def test_no_arguments_are_an_empty_object(text):
    assert settled_arguments(text) == ("{}", None)


@each(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("{'a': 'x'}", {"a": "x"}),
        ('{a: "x"}', {"a": "x"}),
        ('{"a": True, "b": None}', {"a": True, "b": None}),
        ('{"text": "two\nlines\tand a tab"}', {"text": "two\nlines\tand a tab"}),
        ('```json\n{"a": 1}', {"a": 1}),
        ('{"a": "x" "b": "y"}', {"a": "x", "b": "y"}),
        (json.dumps('{"a": 1}'), {"a": 1}),
    ],
)  # fmt: skip
def test_what_can_be_mended_is_mended(text, value):
    mended, problem = settled_arguments(text)
    assert problem is None
    assert json.loads(mended) == value


@each(
    "text",
    ['{"path": "a", "content": "half of the f', '{"a": [1, 2', '{"a": {"b": 1', "just words", "[1, 2]", "7", '"x"'],
)
def test_an_end_is_never_invented_and_what_is_no_object_is_not_run(text):
    mended, problem = settled_arguments(text)
    assert mended == "{}"
    assert problem
    assert "Nothing was run" in problem


@pytest.mark.parametrize("text", ["", '{"content": "half', '{"a": 1,}'])
def test_a_call_that_the_output_limit_cut_is_not_mended(text):
    mended, problem = settled_arguments(text, cut=True)
    assert mended == "{}"
    assert problem
    assert "output limit" in problem


def test_a_complete_call_at_the_output_limit_runs():
    assert settled_arguments('{"a": 1}', cut=True) == ('{"a": 1}', None)
