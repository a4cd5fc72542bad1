"""Settings with comments get one entry more, and everything else stays to the letter."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_adapter.cli.editors import JsoncError, loads, with_member
from tests.support.each import each

ENTRY = {"type": "custom", "command": "hermes-acp", "args": []}
PATH = ("agent_servers", "Hermes")
WITH_COMMENTS = """\
// My settings.
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


def test_an_entry_goes_behind_the_others_and_every_comment_stays() -> None:
    changed = with_member(WITH_COMMENTS, PATH, ENTRY)
    assert changed == WITH_COMMENTS.replace(
        '{ "command": "other" }, // the other one\n',
        '{ "command": "other" }, // the other one\n'
        '    "Hermes": {\n      "type": "custom",\n      "command": "hermes-acp",\n      "args": []\n    },\n',
    )


def test_an_entry_that_is_there_is_replaced_where_it_stands() -> None:
    once = with_member(WITH_COMMENTS, PATH, {"command": "old"})
    assert with_member(once, PATH, ENTRY) == with_member(WITH_COMMENTS, PATH, ENTRY)
    assert with_member(with_member(once, PATH, ENTRY), PATH, ENTRY) == with_member(once, PATH, ENTRY)


@each("text", ["", " \n\t", "// nothing yet\n", "/* nothing */", "\ufeff"])
def test_a_file_without_settings_gets_them_and_keeps_its_comment(text: str) -> None:
    changed = with_member(text, PATH, ENTRY)
    assert loads(changed) == {"agent_servers": {"Hermes": ENTRY}}
    assert changed.startswith(text.rstrip())


@each("text", ["{}", "{ }", "{\n}", "{ // empty\n}", "{\n  // empty\n}\n", '{"agent_servers": {}}'])
def test_an_empty_object_gets_its_first_entry(text: str) -> None:
    changed = with_member(text, PATH, ENTRY)
    assert loads(changed) == {"agent_servers": {"Hermes": ENTRY}}
    assert ("// empty" in changed) == ("// empty" in text)


def test_line_ends_and_indentation_are_the_files_own() -> None:
    text = '{\r\n\t"a": 1,\r\n\t"agent_servers": {\r\n\t\t"b": {}\r\n\t}\r\n}\r\n'
    changed = with_member(text, PATH, {"command": "x"})
    assert changed == (
        '{\r\n\t"a": 1,\r\n\t"agent_servers": {\r\n\t\t"b": {},\r\n'
        '\t\t"Hermes": {\r\n\t\t\t"command": "x"\r\n\t\t}\r\n\t}\r\n}\r\n'
    )


@each(
    ("text", "why"),
    [
        ("[]", "no object"),
        ('{"agent_servers": 7}', "no object"),
        ('{"a": 1', "',' delimiter"),
        ('{"a" 1}', "':' delimiter"),
        ('{"a": 1 "b": 2}', "',' delimiter"),
        ('{"a": what}', "Expecting value"),
        ('{"a": "x}', "Unterminated"),
        ("{} {}", "Extra data"),
        ("{/* open", "property name"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(JsoncError, match=rf"{why}.*\(line 1\)"):
        with_member(text, PATH, ENTRY)


def test_what_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(JsoncError, match="deeply"):
        with_member("[" * 5000, PATH, ENTRY)


_names = st.text(max_size=8)
_data = st.recursive(
    st.none() | st.booleans() | st.integers() | _names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=8,
)


def _written(data: Any, indent: int | None, comments: list[str]) -> str:
    """The data with a comment behind each of the first lines: what a person writes by hand."""
    lines = json.dumps(data, indent=indent).split("\n")
    told = [f"{line} // {comment}" for line, comment in zip(lines, comments, strict=False)]
    return "\n".join([*told, *lines[len(told) :]])


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(_names, _data, max_size=4),
    st.sampled_from([None, 0, 1, 4]),
    st.lists(st.text('abc*/ {}"', max_size=6), max_size=4),
    st.lists(_names, min_size=1, max_size=3),
    _data,
)
def test_whatever_stands_there_only_the_entry_changes(
    data: dict[str, Any], indent: int | None, comments: list[str], path: list[str], value: Any
) -> None:
    text = _written(data, indent, comments)
    assert loads(text) == data
    at: Any = data
    for key in path[:-1]:
        at = at.get(key, {})
        if not isinstance(at, dict):
            with pytest.raises(JsoncError, match="no object"):
                with_member(text, path, value)
            return
    changed = with_member(text, path, value)
    found: Any = loads(changed)
    for key in path:
        found = found[key]
    assert found == value
    assert loads(with_member(changed, path, "again")) == loads(with_member(text, path, "again"))
    if not isinstance(_at(data, path), dict | list):  # what stands in a value goes with it
        for comment in comments[: len(text.split("\n")) - 1]:
            assert f"// {comment}" in changed


def _at(data: Any, path: list[str]) -> Any:
    for key in path:
        data = data.get(key, {}) if isinstance(data, dict) else None
    return data
