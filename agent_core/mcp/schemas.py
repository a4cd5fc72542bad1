"""Makes the argument schema of a server's tool one that every model's server takes, or says why it cannot be."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from tools.untrusted.invisible import without_controls

# What keywords may hold (draft 2020-12). Some models' servers refuse a whole request for one that is wrong.

_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})


def _is_type(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and len(set(map(str, value))) == len(value) and all(map(_is_type_name, value))
    return _is_type_name(value)


def _is_type_name(value: object) -> bool:
    return isinstance(value, str) and value in _TYPES


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is(*kinds: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kinds)


_is_text, _is_schema = _is(str), _is(Mapping, bool)


def _are_schemas(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value))


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _are_choices(value: object) -> bool:
    return isinstance(value, list) and bool(value)


_KINDS: tuple[tuple[Callable[[object], bool], str], ...] = (
    (_is_type, "type"),
    (_is_number, "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"),
    (_is_count, "minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties"),
    (_is_text, "title description format pattern contentEncoding contentMediaType $anchor $ref $dynamicRef"),
    (_is(bool), "uniqueItems readOnly writeOnly deprecated"),
    (_is(Mapping), "properties patternProperties $defs definitions dependentSchemas dependentRequired"),
    (
        _is_schema,
        "items additionalProperties unevaluatedItems unevaluatedProperties propertyNames contains not if then else",
    ),
    (_are_schemas, "anyOf oneOf allOf prefixItems"),
    (_are_names, "required"),
    (_are_choices, "enum"),
    (_is(list), "examples"),
)
# A keyword that is not known may hold anything.
_FITS: Mapping[str, Callable[[object], bool]] = {name: fits for fits, names in _KINDS for name in names.split()}
LONGEST_DESCRIPTION = 1_024

_MOST_CHARS = 48_000
_DEEPEST = 40
# Names of arguments that models' servers take; one other name makes them refuse the whole request.
_ARGUMENT = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
# References to what becomes one kind of item.
_POSITION = re.compile(r"/(?:prefixItems|items/\d)")
_DROPPED = frozenset({"$schema", "$id", "$comment"})
# Models' servers do not take these at the top; the server checks the arguments again anyway.
_NOT_AT_TOP = ("anyOf", "oneOf", "allOf", "not", "enum", "if", "then", "else")
# Below these keys the names are a person's own, not those of JSON Schema.
_NAMED = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_LITERAL = frozenset({"enum", "const", "default", "examples", "required"})

Schema = dict[str, Any]


class UnusableSchema(ValueError):
    """A tool cannot be offered; the message says why, in words that follow «because»."""


def safe_schema(raw: object) -> Schema:
    """The schema of an object, with `properties`, without what models' servers refuse and what nobody sees.

    Raises:
        UnusableSchema: it is not the schema of an object, too big or too deep, or has an argument of an odd name.
    """
    # Servers leave it out where a tool takes nothing.
    raw = {} if raw is None else raw
    if not isinstance(raw, Mapping):
        raise UnusableSchema("its input schema is not an object")
    raw = _resolved(raw, raw)
    if raw.get("type", "object") != "object":
        raise UnusableSchema("its input schema is not that of an object")
    properties = _properties(_parts(raw))
    schema = {key: value for key, value in raw.items() if key not in _NOT_AT_TOP}
    schema = {**schema, "type": "object", "properties": properties}
    schema = _cleaned(schema, 0, schema)
    schema.pop("required", None)
    if required := _required((raw, *_branches(raw, "allOf")), properties):
        schema["required"] = required
    visible: Schema = _visible(schema)
    try:
        length = len(json.dumps(visible, ensure_ascii=False, default=str, allow_nan=False))
    except ValueError as problem:
        raise UnusableSchema("its input schema holds a number that JSON does not have") from problem
    if length > _MOST_CHARS:
        raise UnusableSchema(f"its input schema is longer than {_MOST_CHARS} characters")
    return visible


def short_description(text: object) -> str:
    """A description of at most 1024 characters, all of which can be seen."""
    if not isinstance(text, str):
        return ""
    text = without_controls(text)
    return text if len(text) <= LONGEST_DESCRIPTION else f"{text[: LONGEST_DESCRIPTION - 1]}…"


def _parts(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schema itself and the alternatives at its top."""
    return [raw, *(branch for key in _NOT_AT_TOP[:3] for branch in _branches(raw, key))]


def _branches(raw: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return [_resolved(branch, raw) for branch in _list(raw.get(key)) if isinstance(branch, Mapping)]


def _properties(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The arguments, also those that only an alternative at the top names."""
    found: dict[str, Any] = {}
    for part in parts:
        properties = part.get("properties")
        properties = {} if properties is None else properties
        if not isinstance(properties, Mapping):
            raise UnusableSchema("the properties of its input schema are not an object")
        for name, value in properties.items():
            found.setdefault(name, value)
    odd = next((name for name in found if not _ARGUMENT.match(name)), None)
    if odd is not None:
        raise UnusableSchema(f"its argument {odd[:80]!r} has a name that models' servers refuse")
    return found


def _required(parts: Iterable[Mapping[str, Any]], properties: Mapping[str, Any]) -> list[str]:
    named = [name for part in parts for name in _list(part.get("required")) if isinstance(name, str)]
    return [name for name in dict.fromkeys(named) if name in properties]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema, with what it refers to put in the place of the reference.

    Args:
        document: what its references are within.
    """
    seen: set[str] = set()
    while "$ref" in schema:
        others = {key: value for key, value in schema.items() if key != "$ref"}
        place = schema["$ref"]
        found = _at(document, place) if isinstance(place, str) and place not in seen else None
        if not isinstance(found, Mapping):
            raise UnusableSchema("its input schema is a reference that leads nowhere")
        seen.add(place)
        schema = {**found, **others}
    return schema


def _at(document: Mapping[str, Any], place: str) -> Any:
    """What a reference within a schema refers to; None for nothing."""
    if not place.startswith("#"):
        return None
    found: Any = document
    for step in place.removeprefix("#").split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = found[int(key)] if key.isdecimal() and int(key) < len(found) else None
        else:
            found = found.get(key) if isinstance(found, Mapping) else None
    return found if place == "#" or place.startswith("#/") else None


def _cleaned(schema: Mapping[str, Any], depth: int, whole: Mapping[str, Any]) -> Schema:
    """The schema without what it must not hold.

    Args:
        whole: what its references are within.
    """
    if depth > _DEEPEST:
        raise UnusableSchema("its input schema is nested too deeply")
    schema = _with_one_kind_of_item(schema)
    return {
        key: _cleaned_value(key, value, depth, whole)
        for key, value in schema.items()
        if key not in _DROPPED and not _leads_nowhere(key, value, whole) and _FITS.get(key, _is(object))(value)
    }


def _with_one_kind_of_item(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A list's schema with one for all its items, where it had none, or one for each position."""
    items, rest = schema.get("items"), schema.get("additionalItems")
    positions = items if isinstance(items, list) else schema.get("prefixItems")
    if not isinstance(positions, list):
        is_list = schema.get("type") == "array" or "array" in _list(schema.get("type"))
        return {**schema, "items": {}} if is_list and not isinstance(items, Mapping) else schema
    rest = rest if isinstance(items, list) else items
    kinds = [part for part in positions if isinstance(part, Mapping)]
    is_closed = rest is False
    # Where it does not say what follows, anything may; said so, the kinds would be lost.
    kinds += [rest] if isinstance(rest, Mapping) and rest else []
    kinds = [kind for number, kind in enumerate(kinds) if kind not in kinds[:number]]
    found = {key: value for key, value in schema.items() if key not in {"prefixItems", "additionalItems"}}
    found["items"] = kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}
    if is_closed:
        found.setdefault("maxItems", len(positions))
    return found


def _cleaned_value(key: str, value: Any, depth: int, whole: Mapping[str, Any]) -> Any:
    if key in _LITERAL:
        return value
    if key == "description":
        return short_description(value)
    if key in _NAMED and isinstance(value, Mapping):
        return {name: _subschema(part, depth + 2, whole) for name, part in value.items()}
    if isinstance(value, Mapping):
        return _cleaned(value, depth + 1, whole)
    if isinstance(value, list):
        return [_cleaned(part, depth + 1, whole) if isinstance(part, Mapping) else part for part in value]
    return value


def _visible(value: Any) -> Any:
    """The value with every text in it, names too, as it can be seen."""
    if isinstance(value, str):
        return without_controls(value)
    if isinstance(value, Mapping):
        return {without_controls(str(name)): _visible(part) for name, part in value.items()}
    return [_visible(part) for part in value] if isinstance(value, list) else value


def _subschema(part: Any, depth: int, whole: Mapping[str, Any]) -> Schema:
    # `true` is the schema that takes everything.
    return _cleaned(part, depth, whole) if isinstance(part, Mapping) else {}


def _leads_nowhere(key: str, value: object, whole: Mapping[str, Any]) -> bool:
    """A reference to what is not there, or is another document, which nobody fetches."""
    if key not in {"$ref", "$dynamicRef"}:
        return False
    return not isinstance(value, str) or bool(_POSITION.search(value)) or not isinstance(_at(whole, value), Mapping)
