"""Texts made shorter."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.compaction.pruning import both_ends, one_line, shrunk_arguments

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=15) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)
# Signs that are drawn cost most of the test.
LONG = st.builds(lambda text, times: text * times, st.text(min_size=10, max_size=30), st.integers(30, 60))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=100), st.integers(-5, 130))
def test_cut_text_keeps_its_ends_and_never_grows(text, limit):
    cut = both_ends(text, limit)
    assert len(cut) <= len(text)
    assert len(text) > limit or cut == text
    assert both_ends(cut, len(cut)) == cut


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.text(max_size=50), VALUES | LONG, max_size=6))
def test_shrunk_arguments_are_json_with_the_same_keys(arguments):
    for ascii_only in (True, False):
        text = json.dumps(arguments, ensure_ascii=ascii_only)
        shrunk = shrunk_arguments(text)
        shrunk.encode()
        assert len(shrunk) <= len(text)
        assert list(json.loads(shrunk)) == list(arguments)


def test_cut_text_says_how_much_of_it_is_missing():
    text = "a" * 70 + "-" * 1000 + "z" * 30
    assert both_ends(text, 100) == f"{'a' * 70}\n[… 1,000 characters left out to make room …]\n{'z' * 30}"
    for limit in (0, -5):
        assert both_ends(text, limit) == "\n[… 1,100 characters left out to make room …]\n"


def test_text_is_cut_only_where_that_makes_it_shorter():
    note = len("\n[… 45 characters left out to make room …]\n")
    assert both_ends("x" * note, 0) == "x" * note
    assert both_ends("x" * (note + 1), 0) != "x" * (note + 1)


def test_long_strings_are_cut_at_every_depth_and_short_ones_stay():
    arguments = {"path": "a.py", "edits": [{"old_string": "x" * 5000, "new_string": "y"}]}
    shrunk = json.loads(shrunk_arguments(json.dumps(arguments)))
    assert shrunk["path"] == "a.py"
    assert shrunk["edits"][0]["new_string"] == "y"
    assert "4,900 more characters left out" in shrunk["edits"][0]["old_string"]


def test_many_items_are_counted():
    shrunk = json.loads(shrunk_arguments(json.dumps({"urls": [f"https://example.org/{n}" for n in range(100)]})))
    assert shrunk["urls"][-1] == "[… 88 more items left out]"
    assert len(shrunk["urls"]) == 13


def test_a_string_of_200_characters_and_a_list_of_12_items_stay():
    arguments = {"string": "x" * 200, "list": list(range(12)), "other": "x" * 201}
    shrunk = json.loads(shrunk_arguments(json.dumps(arguments)))
    assert shrunk == {**arguments, "other": f"{'x' * 100}… [101 more characters left out to make room]"}


def test_arguments_that_would_not_become_shorter_stay_as_they_were_written():
    assert shrunk_arguments('{"a" :1}') == '{"a" :1}'


@pytest.mark.parametrize("text", ["{broken " + "x" * 900, "[1, 2" + ", 3" * 900 + "]", '"' + "x" * 900 + '"'])
def test_what_is_no_object_becomes_one(text):
    assert list(json.loads(shrunk_arguments(text))) == ["arguments"]


def test_what_json_cannot_say_anew_stays():
    text = '{"n": 1e999, "text": "' + "x" * 900 + '"}'
    assert shrunk_arguments(text) == text


def test_half_of_a_pair_is_not_sent():
    text = json.dumps({"a": "\ud83d" + "x" * 900})
    shrunk = shrunk_arguments(text)
    assert shrunk.encode()
    assert json.loads(shrunk)["a"].startswith("?xx")


def test_one_line_says_that_there_was_more():
    assert one_line("a\n  b\tc", 10) == "a b c"
    assert one_line("word " * 50, 10) == "word word…"
    assert one_line("a" + " " * 500 + "b", 10) == "a…"


def test_one_line_looks_at_four_times_as_much_as_it_may_show():
    assert one_line("abcdefghij", 10) == "abcdefghij"
    assert one_line("a" + " " * 38 + "b", 10) == "a b"
    assert one_line("a" + " " * 39 + "b", 10) == "a…"


def test_arguments_with_raw_line_breaks_are_read_and_what_is_no_json_is_told_in_a_line():
    broken = '{"text": "' + "line\n" * 200 + '"}'
    assert list(json.loads(shrunk_arguments(broken))) == ["text"]
    assert json.loads(shrunk_arguments("no json " * 100))["arguments"].startswith("no json no json")
