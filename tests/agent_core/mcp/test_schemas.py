"""Schemas of servers' tools, made such that every model's server takes them."""

from __future__ import annotations

from typing import Any

import pytest

from agent_core.mcp.schemas import UnusableSchema, safe_schema, short_description
from tests.support.each import each


def test_a_good_schema_stays_as_it_is() -> None:
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string", "enum": ["a"]}, "deep": {"$ref": "#/$defs/Deep"}},
        "required": ["path"],
        "additionalProperties": False,
        "$defs": {"Deep": {"type": "object", "properties": {"description": {"type": "string"}}}},
    }
    assert safe_schema(schema) == schema


def test_an_empty_schema_is_one_of_an_object_without_properties() -> None:
    assert safe_schema({}) == {"type": "object", "properties": {}}


def test_what_models_servers_do_not_take_is_taken_out() -> None:
    found = safe_schema(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "x",
            "properties": {"a": {"$ref": "https://example.com/a.json", "type": "string"}, "b": True},
            "required": ["a", "missing", 3],
        }
    )
    assert found == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {}},
        "required": ["a"],
    }


@each(
    "written, kept",
    [
        ({"type": "any"}, {}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "string", "required": True}, {"type": "string"}),
        ({"type": "array", "items": "string"}, {"type": "array"}),
        ({"minimum": 0, "exclusiveMinimum": True, "maximum": "5"}, {"minimum": 0}),
        ({"type": "object", "properties": None}, {"type": "object"}),
        ({"anyOf": []}, {}),
        ({"enum": "a"}, {}),
        ({"items": {"type": "text", "title": 3}}, {"items": {}}),
    ],
)
def test_a_keyword_that_holds_what_it_must_not_is_left_out(written: Any, kept: Any) -> None:
    assert safe_schema({"properties": {"a": written}})["properties"] == {"a": kept}


def test_a_number_that_is_none_in_json_cannot_be_offered() -> None:
    with pytest.raises(UnusableSchema, match="JSON does not have"):
        safe_schema({"properties": {"a": {"default": float("nan")}}})


def test_properties_that_are_named_like_keywords_stay() -> None:
    properties = {"$schema": {"type": "string"}, "description": {"type": "string"}}
    with pytest.raises(UnusableSchema, match="'\\$schema' has a name"):
        safe_schema({"properties": properties})
    del properties["$schema"]
    assert safe_schema({"properties": properties})["properties"] == properties


def test_alternatives_at_the_top_become_properties() -> None:
    found = safe_schema(
        {"type": "object", "oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {}}}]}
    )
    assert found == {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}


def test_long_descriptions_are_cut() -> None:
    found = safe_schema({"properties": {"a": {"description": "d" * 5_000}}})
    assert found["properties"]["a"]["description"] == "d" * 1_023 + "…"
    assert short_description("d" * 1_024) == "d" * 1_024
    assert short_description(None) == ""


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"properties": {"a": schema}}
    return schema


@each(
    ("schema", "told"),
    [
        (None, "not an object"),
        (True, "not an object"),
        ({"type": "array"}, "not that of an object"),
        ({"type": ["object", "null"]}, "not that of an object"),
        ({"properties": ["a"]}, "are not an object"),
        ({"properties": {"two words": {}}}, "'two words' has a name"),
        ({"properties": {"a": {"enum": ["x" * 50_000]}}}, "longer than"),
        (nested(500), "too deeply"),
    ],
)
def test_a_schema_that_cannot_be_mended_is_refused_with_a_reason(schema: object, told: str) -> None:
    with pytest.raises(UnusableSchema, match=told):
        safe_schema(schema)
