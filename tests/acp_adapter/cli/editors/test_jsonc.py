"""Settings with comments get one entry more, and everything else stays to the letter."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_adapter.cli.editors import JsoncError, loads, with_entry
from tests.support.each import each

ENTRY = {"type": "custom", "command": "hermes-acp", "args": []}
WITH_COMMENTS = """\
// My settings: {"theme": 1}
{
  "theme": "One Dark", // dark is better
  /* agents
     that I use */
  "agent_servers": {
    "Other": { "command": "other" }, // the other one
  },
  "url": "http://example.org/*not-a-comment*/", // last
}
"""


def entered(text: str) -> str:
    return with_entry(text, "agent_servers", "Hermes", ENTRY)


def test_an_entry_goes_before_the_others_and_every_comment_stays() -> None:
    assert entered(WITH_COMMENTS) == WITH_COMMENTS.replace(
        '"agent_servers": {\n',
        '"agent_servers": {\n'
        '    "Hermes": {\n      "type": "custom",\n      "command": "hermes-acp",\n      "args": []\n    },\n',
    )


def test_an_entry_that_is_there_is_replaced_where_it_stands() -> None:
    once = with_entry(WITH_COMMENTS, "agent_servers", "Hermes", {"command": "old", "args": ["-x"]})
    assert entered(once) == entered(WITH_COMMENTS)
    assert entered(entered(once)) == entered(once)


@each("text", ["", " \n\t", "// nothing yet\n", "/* nothing */", "\ufeff"])
def test_a_file_without_settings_gets_them_and_keeps_its_comment(text: str) -> None:
    changed = entered(text)
    assert loads(changed) == {"agent_servers": {"Hermes": ENTRY}}
    assert changed.startswith(text.rstrip())


@each(
    "text", ["{}", "{ }", "{\n}", "{ // empty\n}", "{\n  // empty\n}\n", '{"agent_servers": {}}', '{"a": {"b": 1}}']
)
def test_an_object_on_one_line_gets_its_entry(text: str) -> None:
    changed = entered(text)
    assert loads(changed) == {**loads(text), "agent_servers": {"Hermes": ENTRY}}
    assert ("// empty" in changed) == ("// empty" in text)


def test_line_ends_and_indentation_are_the_files_own() -> None:
    text = '{\r\n\t"a": 1,\r\n\t"agent_servers": {\r\n\t\t"b": {}\r\n\t}\r\n}\r\n'
    assert with_entry(text, "agent_servers", "Hermes", {"command": "x"}) == (
        '{\r\n\t"a": 1,\r\n\t"agent_servers": {\r\n'
        '\t\t"Hermes": {\r\n\t\t\t"command": "x"\r\n\t\t},\r\n\t\t"b": {}\r\n\t}\r\n}\r\n'
    )


@each(
    ("text", "why"),
    [
        ("[]", "no object"),
        ('{"agent_servers": 7}', "no object"),
        ('{"a": 1', r"',' delimiter.*\(line 1\)"),
        ('{"a": what}', "Expecting value"),
        ('{"a": "x}', "Unterminated"),
        ("{} {}", "Extra data"),
        ("{/* open", "property name"),
        ("[" * 5000, "deeply"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(JsoncError, match=why):
        entered(text)


_names = st.text(max_size=8)
_data = st.recursive(
    st.none() | st.booleans() | st.integers() | _names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(_names, _data, max_size=4),
    st.sampled_from([None, 0, 1, 4]),
    st.lists(st.text('abc*/ {}"', max_size=6), max_size=4),
    _names,
    _names,
    st.dictionaries(_names, _data, max_size=3),
)
def test_only_the_entry_changes_or_nothing_is_written(
    data: dict[str, Any], indent: int | None, comments: list[str], place: str, name: str, entry: dict[str, Any]
) -> None:
    lines = json.dumps(data, indent=indent).split("\n")
    told = [f"{line} // {comment}" for line, comment in zip(lines, comments, strict=False)]
    text = "\n".join([*told, *lines[len(told) :]])
    try:
        changed = with_entry(text, place, name, entry)
    except JsoncError:
        return
    assert loads(changed) == {**data, place: {**data.get(place, {}), name: entry}}
    assert [comment for comment in comments[: len(told)] if f"// {comment}" not in changed] == []
