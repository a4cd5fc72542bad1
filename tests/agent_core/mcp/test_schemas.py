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
        ({"type": "array", "items": "string"}, {"type": "array", "items": {}}),
        ({"minimum": 0, "exclusiveMinimum": True, "maximum": "5"}, {"minimum": 0}),
        ({"type": "object", "properties": None}, {"type": "object"}),
        ({"anyOf": []}, {}),
        ({"enum": "a"}, {}),
        ({"items": {"type": "text", "title": 3}}, {"items": {}}),
    ],
)
def test_a_keyword_that_holds_what_it_must_not_is_left_out(written: Any, kept: Any) -> None:
    assert safe_schema({"properties": {"a": written}})["properties"] == {"a": kept}


STRING, NUMBER, NODE = {"type": "string"}, {"type": "number"}, {"$ref": "#/$defs/Node"}


@each(
    "written, kept",
    [
        # Lists without items
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": ["array", "null"]}, {"type": ["array", "null"], "items": {}}),
        ({"type": "array", "items": True}, {"type": "array", "items": {}}),
        ({"type": "array", "items": {"type": "array"}}, {"type": "array", "items": {"type": "array", "items": {}}}),
        ({"anyOf": [{"type": "array"}, STRING]}, {"anyOf": [{"type": "array", "items": {}}, STRING]}),
        ({"additionalProperties": {"type": "array"}}, {"additionalProperties": {"type": "array", "items": {}}}),
        # Enums without values
        ({"type": "string", "enum": []}, STRING),
        ({"type": "array", "items": {"type": "string", "enum": []}}, {"type": "array", "items": STRING}),
        # A kind for each position
        ({"type": "array", "items": [STRING, NUMBER]}, {"type": "array", "items": {"anyOf": [STRING, NUMBER]}}),
        ({"type": "array", "prefixItems": [STRING, STRING]}, {"type": "array", "items": STRING}),
        ({"prefixItems": [STRING, NUMBER], "items": False}, {"items": {"anyOf": [STRING, NUMBER]}, "maxItems": 2}),
        ({"items": [STRING], "additionalItems": False}, {"items": STRING, "maxItems": 1}),
        ({"items": [STRING], "additionalItems": NUMBER}, {"items": {"anyOf": [STRING, NUMBER]}}),
        ({"prefixItems": [STRING], "items": NUMBER, "maxItems": 5},
         {"items": {"anyOf": [STRING, NUMBER]}, "maxItems": 5}),
        ({"type": "array", "prefixItems": []}, {"type": "array", "items": {}}),
        ({"type": "array", "items": []}, {"type": "array", "items": {}}),
        ({"prefixItems": [{"type": "array"}]}, {"items": {"type": "array", "items": {}}}),
        ({"prefixItems": [NODE, STRING]}, {"items": {"anyOf": [NODE, STRING]}}),
        # References to what is not there
        ({"$ref": "#/$defs/Nobody"}, {}),
        ({"$ref": "#anchor", "type": "string"}, STRING),
        ({"$ref": "#/properties/pair/items/0"}, {}),
        (NODE, NODE),
    ],
)  # fmt: skip
def test_what_some_models_servers_refuse_is_made_acceptable(written: Any, kept: Any) -> None:
    found = safe_schema({"properties": {"a": written}, "$defs": {"Node": STRING}})
    assert found["properties"] == {"a": kept}


def test_a_reference_at_the_top_becomes_what_it_refers_to() -> None:
    args = {"type": "object", "properties": {"a": {"$ref": "#/$defs/Deep"}}, "required": ["a"]}
    defs = {"Args": args, "Deep": STRING, "Again": {"$ref": "#/$defs/Args", "description": "again"}}
    direct = safe_schema({"$ref": "#/$defs/Args", "$defs": defs})
    assert direct == {**args, "$defs": defs}
    assert safe_schema({"$ref": "#/$defs/Again", "$defs": defs}) == {**direct, "description": "again"}
    assert safe_schema({"$ref": "#/definitions/Args", "definitions": {"Args": {"properties": {"a": STRING}}}}) == {
        "type": "object",
        "properties": {"a": STRING},
        "definitions": {"Args": {"properties": {"a": STRING}}},
    }
    parts = {"allOf": [{"$ref": "#/$defs/Args"}, {"properties": {"b": NUMBER}, "required": ["b"]}], "$defs": defs}
    assert safe_schema(parts) == {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Deep"}, "b": NUMBER},
        "required": ["a", "b"],
        "$defs": defs,
    }


@each("nothing", [None, {}, {"properties": None}, {"type": "object", "properties": None, "required": None}])
def test_a_tool_whose_arguments_are_null_takes_none(nothing: Any) -> None:
    assert safe_schema(nothing) == {"type": "object", "properties": {}}


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
        (True, "not an object"),
        ({"type": "array"}, "not that of an object"),
        ({"type": ["object", "null"]}, "not that of an object"),
        ({"properties": ["a"]}, "are not an object"),
        ({"properties": {"two words": {}}}, "'two words' has a name"),
        ({"properties": {"a": {"enum": ["x" * 50_000]}}}, "longer than"),
        (nested(500), "too deeply"),
        ({"$ref": "#"}, "leads nowhere"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, "leads nowhere"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}, "leads nowhere"),
        ({"$ref": "https://example.com/schema.json"}, "leads nowhere"),
        ({"$ref": "#/$defs/A"}, "leads nowhere"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}}, "not that of an object"),
    ],
)
def test_a_schema_that_cannot_be_mended_is_refused_with_a_reason(schema: object, told: str) -> None:
    with pytest.raises(UnusableSchema, match=told):
        safe_schema(schema)
