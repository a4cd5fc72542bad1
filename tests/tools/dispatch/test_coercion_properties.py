"""What holds of every schema and every value, with the reference validator as the judge."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tools.arguments import DoesNotFit, coerced

_NAMES = st.sampled_from(["a", "b", "c"])
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1000, 1000),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.sampled_from(
        ["", "5", " 7 ", "2.5", "true", "No", "[]", "[1, 2]", '{"a": 1}', "{", "[x", "nan", "word", "null"]
    ),
    st.text(max_size=5),
)
VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_NAMES, inner, max_size=3)),
    max_leaves=6,
)
_PLAIN = st.sampled_from([{"type": kind} for kind in ("string", "integer", "number", "boolean", "null")]).map(dict)
_OTHER = st.sampled_from([{}, {"enum": ["a", "B", 3]}, {"type": "string", "enum": ["one", "Two"]}, {"$ref": "#/x"}])
SCHEMAS = st.recursive(
    st.one_of(_PLAIN, _OTHER),
    lambda inner: st.one_of(
        inner.map(lambda items: {"type": "array", "items": items}),
        st.dictionaries(_NAMES, inner, max_size=3).map(lambda parts: {"type": "object", "properties": parts}),
        st.lists(inner, min_size=1, max_size=2).map(lambda parts: {"anyOf": parts}),
    ),
    max_leaves=5,
)
_QUICKLY = settings(max_examples=50, deadline=None, derandomize=True)


def _has_ref(schema: dict[str, Any]) -> bool:
    return "$ref" in json.dumps(schema)


@_QUICKLY
@given(SCHEMAS, VALUES)
def test_a_value_that_is_valid_stays_as_it_is(schema: dict[str, Any], value: Any) -> None:
    if not _has_ref(schema) and "anyOf" not in json.dumps(schema) and Draft202012Validator(schema).is_valid(value):
        fitted = coerced(value, schema)
        assert fitted == value


@_QUICKLY
@given(SCHEMAS, VALUES)
def test_what_comes_out_is_valid_wherever_the_schema_is_read_whole(schema: dict[str, Any], value: Any) -> None:
    if _has_ref(schema) or "anyOf" in json.dumps(schema):
        return
    try:
        fitted = coerced(value, schema)
    except DoesNotFit:
        return
    assert Draft202012Validator(schema).is_valid(fitted)


@_QUICKLY
@given(SCHEMAS, VALUES)
def test_nothing_else_is_ever_raised_and_once_is_enough(schema: dict[str, Any], value: Any) -> None:
    try:
        fitted = coerced(value, schema)
    except DoesNotFit:
        return
    assert coerced(fitted, schema) == fitted
