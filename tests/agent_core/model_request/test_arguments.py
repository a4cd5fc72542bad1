"""Arguments of tool calls: valid ones stay as they are, broken ones are mended only where nothing is invented."""

from __future__ import annotations

import json

import pytest

from agent_core.model_request.call_arguments import settled_arguments
from tests.support.each import each


@pytest.mark.parametrize("text", ['{"a": 1}', ' {"path":"ü", "n": [1,2]}\n', "{}", '{"a": {"b": null}}'])
def test_a_valid_object_stays_byte_for_byte(text):
    assert settled_arguments(text) == (text, None)


@pytest.mark.parametrize("text", ["", "  \n", "null", " null\n"])
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
        ('{"a": "x"\n  "b-c": 1}', {"a": "x", "b-c": 1}),
        ('\ufeff{"a": 1}', {"a": 1}),
        ('\ufeff ```JSON\n{"a": "\n"}\n```\n', {"a": "\n"}),
        ("{'half': '\\ud83d'}", {"half": "\ud83d"}),
        ('{"a": 1, "a": 1, }', {"a": 1}),
        (json.dumps('{"a": 1}'), {"a": 1}),
        ('{"pattern": "\\d+\\.py", "b": "it\\\'s"}', {"pattern": "\\d+\\.py", "b": "it's"}),
        ("{'a': 'say \"hi\"', 'b': [1, {'c': -2.5e3,},]}", {"a": 'say "hi"', "b": [1, {"c": -2500.0}]}),
        ('{"script": "echo a \\\n  b", "x": "\\u00e9\n"}', {"script": "echo a \\\n  b", "x": "é\n"}),
    ],
)  # fmt: skip
def test_what_can_be_mended_is_mended(text, value):
    mended, problem = settled_arguments(text)
    assert problem is None
    assert json.loads(mended) == value
    assert mended.encode()


@each(
    "text",
    [
        '{"path": "a", "content": "half of the f',
        '{"a": [1, 2',
        '{"a": {"b": 1',
        "just words",
        "[1, 2]",
        "7",
        '"x"',
        json.dumps('{"a": 1, "a": 2}'),
    ],
)
def test_an_end_is_never_invented_and_what_is_no_object_is_not_run(text):
    mended, problem = settled_arguments(text)
    assert mended == "{}"
    assert problem
    assert "Nothing was run" in problem


# Each is closed as a whole, and no part of it is: brackets and quotes within strings close nothing.
WHOLE = (
    '{"path": "a.js", "content": "function a() {\\n  return {\\"k\\": [1]};\\n}\\n"}',
    '{"path": "a.js", "content": "function a() {\n\treturn {};\n}\n"}',
    '{"command": "for d in {a,b}; do { rm -rf \\"$d\\"; }; done"}',
    "{'command': 'f() { echo {}; }; f', 'env': {'A': '}'},}",
    '```json\n{"edits": [{"old": "}", "new": "]"}, {"old": "{", "new": "\n}"}], n: {"deep": {"er": true}}}',
    '{"content": "a \\\\", "b": "}"}',
)


@pytest.mark.parametrize("text", WHOLE, ids=range(len(WHOLE)))
def test_only_all_of_the_arguments_run_and_no_beginning_of_them(text):
    assert settled_arguments(text)[1] is None
    for end in range(1, len(text)):
        arguments, problem = settled_arguments(text[:end])
        assert arguments == "{}"
        assert "Nothing was run" in (problem or "")


@each(
    ("text", "told"),
    [
        ('{"content": "if (a) {\n  b();\n}', ["cut off", "inside a string", "“content”", "b(); }", "smaller"]),
        ('{"paths": ["a", {"b": 1}', ["cut off", "bracket is open", "“paths”"]),
        ('{"a": tr', ["cut off", "“a”"]),
        ('{"a": 1}{"b": 2}', ["second object", "a call for each"]),
        ('{"a": 1,}\n{"a": 1,}', ["second object"]),
        ('{"a": "x"}, "b": "y"}', ["something follows"]),
        ('{"content": "print("hi")"}', ['written \\"', "character 21"]),
        ('{"content": "f("a}', ['written \\"']),
        ('{"a": "it" is}', ["character 12"]),
        ("{'a': 'it's'}", ["character 11"]),
        ('{"a": x}', ["a value is expected"]),
        ('{"a" 1}', ["a : is missing"]),
        ('{, "a": 1}', ["a key is expected"]),
        ('Here: {"a": 1}', ["do not begin with {"]),
        ('{"a":' * 5000, ["nested too deeply"]),
        ('{"path": "a", "path": "b"}', ["“path” has two values"]),
        ('{"x": [{"n": 1, "n": 2}]}', ["“n” has two values"]),
        ("{'path': 'a', 'content': 'x', 'path': 'b'}", ["“path” has two values"]),
        ('{"n": NaN}', ["a value is expected", "character 7"]),
        ('{"n": -Infinity,}', ["a value is expected"]),
        ('{"n": 1e999,}', ["a number is too large"]),
        (f'{{"n": {"9" * 5000}}}', ["a number is too large"]),
        ('{"command": "printf "" : ""}', ['written \\"', "character 22"]),
        ('{"content": "say "x, y": z"}', ['written \\"']),
    ],
)  # fmt: skip
def test_what_is_not_closed_or_not_clear_goes_back_with_what_is_wrong(text, told):
    arguments, problem = settled_arguments(text)
    assert arguments == "{}"
    assert [part for part in [*told, "Nothing was run"] if part not in (problem or "")] == [], problem


@pytest.mark.parametrize("text", ["", '{"content": "half', '{"a": 1,}'])
def test_a_call_that_the_output_limit_cut_is_not_mended(text):
    mended, problem = settled_arguments(text, cut=True)
    assert mended == "{}"
    assert problem
    assert "output limit" in problem


def test_a_complete_call_at_the_output_limit_runs():
    assert settled_arguments('{"a": 1}', cut=True) == ('{"a": 1}', None)
