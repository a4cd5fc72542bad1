from __future__ import annotations

import json
import sys
from typing import Any

import pydantic_core
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.each import each
from tools import quick_json

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
_ODD = [
    '"\\ud83d"', '"\\ud83d\\ude00"', "NaN", "-Infinity", "1e999", "123456789012345678901234567890", '{"a":1,"a":2}',
    "[" * 500 + "]" * 500, ' {"x": 1.0} ', "true",
]  # fmt: skip
_BAD = ["", "[1,]", '"\x01"', '{"a":1} x', b'"\xff"', b"\xef\xbb\xbf[", "{'a': 1}", "[" * 100_000]


@pytest.fixture(params=["with the core", "before it is loaded"])
def core(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:

    name = "pydantic_core"
    if request.param == "with the core":
        monkeypatch.setitem(sys.modules, name, pydantic_core)
    else:
        monkeypatch.delitem(sys.modules, name, raising=False)


@given(_VALUES)
def test_what_is_written_is_what_the_standard_library_reads(value: Any) -> None:
    text = quick_json.dumps(value)
    assert json.loads(text) == value
    assert quick_json.loads(text) == quick_json.loads(text.decode()) == value


@each("text", _ODD)
def test_odd_values_are_read_as_the_standard_library_reads_them(core: None, text: str) -> None:
    assert repr(quick_json.loads(text)) == repr(quick_json.loads(text.encode())) == repr(json.loads(text))


@each("text", _BAD)
def test_what_is_no_json_fails_as_it_does_there(core: None, text: str | bytes) -> None:
    with pytest.raises((ValueError, RecursionError)) as theirs:
        json.loads(text)
    with pytest.raises(type(theirs.value)) as ours:
        quick_json.loads(text)
    assert str(ours.value) == str(theirs.value)


def test_texts_are_utf_8_without_white_space(core: None) -> None:
    assert quick_json.dumps({"a": ["ä", 1, None], "b": {}}) == '{"a":["ä",1,null],"b":{}}'.encode()


def test_half_of_a_surrogate_pair_cannot_be_written(core: None) -> None:
    with pytest.raises(ValueError):
        quick_json.dumps({"a": "\ud83d"})


def test_numbers_that_json_has_not_never_get_into_a_text(core: None) -> None:
    try:
        assert quick_json.dumps([float("nan"), float("inf")]) == b"[null,null]"
    except ValueError:
        assert "pydantic_core" not in sys.modules
