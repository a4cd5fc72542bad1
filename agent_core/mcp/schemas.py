"""Makes the argument schema of a server's tool one that every model's server takes, or says why it cannot be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from agent_core.mcp.keywords import is_fit
from tools.untrusted.invisible import without_controls

LONGEST_DESCRIPTION = 1_024

_MOST_CHARS = 48_000
_DEEPEST = 40
# Names of arguments that models' servers take; one other name makes them refuse the whole request.
_ARGUMENT = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
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
    if not isinstance(raw, Mapping):
        raise UnusableSchema("its input schema is not an object")
    if raw.get("type", "object") != "object":
        raise UnusableSchema("its input schema is not that of an object")
    properties = _properties(raw)
    schema = {key: value for key, value in raw.items() if key not in _NOT_AT_TOP}
    schema = _cleaned({**schema, "type": "object", "properties": properties}, 0)
    schema["required"] = _required(raw.get("required"), properties)
    if not schema["required"]:
        del schema["required"]
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


def _properties(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, also those that only an alternative at the top names."""
    found: dict[str, Any] = {}
    alternatives = [branch for key in _NOT_AT_TOP[:3] for branch in _list(raw.get(key))]
    for part in (raw, *(branch for branch in alternatives if isinstance(branch, Mapping))):
        properties = part.get("properties", {})
        if not isinstance(properties, Mapping):
            raise UnusableSchema("the properties of its input schema are not an object")
        for name, value in properties.items():
            found.setdefault(name, value)
    odd = next((name for name in found if not _ARGUMENT.match(name)), None)
    if odd is not None:
        raise UnusableSchema(f"its argument {odd[:80]!r} has a name that models' servers refuse")
    return found


def _required(raw: object, properties: Mapping[str, Any]) -> list[str]:
    return [name for name in _list(raw) if isinstance(name, str) and name in properties]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _cleaned(schema: Mapping[str, Any], depth: int) -> Schema:
    if depth > _DEEPEST:
        raise UnusableSchema("its input schema is nested too deeply")
    return {
        key: _cleaned_value(key, value, depth)
        for key, value in schema.items()
        if key not in _DROPPED and not _is_elsewhere(key, value) and is_fit(key, value)
    }


def _cleaned_value(key: str, value: Any, depth: int) -> Any:
    if key in _LITERAL:
        return value
    if key == "description":
        return short_description(value)
    if key in _NAMED and isinstance(value, Mapping):
        return {name: _subschema(part, depth + 2) for name, part in value.items()}
    if isinstance(value, Mapping):
        return _cleaned(value, depth + 1)
    if isinstance(value, list):
        return [_cleaned(part, depth + 1) if isinstance(part, Mapping) else part for part in value]
    return value


def _visible(value: Any) -> Any:
    """The value with every text in it, names too, as it can be seen."""
    if isinstance(value, str):
        return without_controls(value)
    if isinstance(value, Mapping):
        return {without_controls(str(name)): _visible(part) for name, part in value.items()}
    return [_visible(part) for part in value] if isinstance(value, list) else value


def _subschema(part: Any, depth: int) -> Schema:
    # `true` is the schema that takes everything.
    return _cleaned(part, depth) if isinstance(part, Mapping) else {}


def _is_elsewhere(key: str, value: object) -> bool:
    """A reference to another document: nobody fetches it."""
    return key in {"$ref", "$dynamicRef"} and not (isinstance(value, str) and value.startswith("#"))
