"""A value that a model sent, as the one that the tool's schema asks for, where it is clear what was meant.

Where a schema says more than is read here (`$ref`, `allOf`, several alternatives), the value stays as it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]

_UNREAD = frozenset({"$ref", "allOf", "not", "if", "$dynamicRef"})
_CHOICES = frozenset({"anyOf", "oneOf"})
# Most values are what they should be, and there is nothing in them to look at.
_EXACT = {"string": str, "integer": int, "number": float, "boolean": bool}
_MAX_SHOWN_CHARS = 60
_MOST_CHOICES = 20
_LONGEST_NUMBER = 400
_TRUE = frozenset({"true", "yes", "1", "on"})
_FALSE = frozenset({"false", "no", "0", "off"})
_WORDS = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class DoesNotFit(ValueError):
    """The value is not what the schema asks for. `expected` completes «it has to be …»."""

    def __init__(self, expected: str, value: object, where: str = "") -> None:
        super().__init__(expected)
        self.expected = expected
        self.value = value
        self.where = where


def coerced(value: Any, schema: Schema, where: str = "") -> Any:
    """The value in the type that `schema` asks for.

    Args:
        where: the path of the value inside its argument, as «[0].text»; '' is the argument itself.

    Raises:
        DoesNotFit: it has another type, and it is not clear what was meant.
    """
    kind = schema.get("type")
    if isinstance(kind, str) and type(value) is _EXACT.get(kind) and "enum" not in schema:
        return value
    if not _UNREAD.isdisjoint(schema):
        return value
    if not _CHOICES.isdisjoint(schema):
        return _alternative(value, schema, where)
    kinds = kinds_of(schema)
    if kinds:
        value = _typed(value, kinds, schema, where)
    choices = schema.get("enum")
    if isinstance(choices, Sequence) and not isinstance(choices, str):
        return _chosen(value, choices, where)
    if isinstance(value, list):
        return _list(value, schema, where)
    return _object(value, schema, where) if isinstance(value, dict) else value


def kinds_of(schema: Schema) -> tuple[str, ...]:
    """The JSON types that a schema names; none where it names none."""
    kinds = schema.get("type")
    if isinstance(kinds, str):
        return (kinds,)
    return tuple(kind for kind in kinds if isinstance(kind, str)) if isinstance(kinds, Sequence) else ()


def takes_null(schema: Schema) -> bool:
    """Whether null may be a value; True where the schema does not tell."""
    if not _UNREAD.isdisjoint(schema) or schema.get("nullable") is True:
        return True
    alternatives = _alternatives(schema)
    if alternatives:
        return any(not isinstance(part, Mapping) or takes_null(part) for part in alternatives)
    if "enum" in schema:
        return None in schema["enum"]
    kinds = kinds_of(schema)
    return not kinds or "null" in kinds


def expectation(schema: Schema) -> str:
    """What a schema asks for, to complete «it has to be …»; '' where it does not tell."""
    choices = schema.get("enum")
    if isinstance(choices, Sequence) and not isinstance(choices, str) and choices:
        shown = ", ".join(str(choice) for choice in choices[:_MOST_CHOICES])
        return f"one of {shown}{', …' if len(choices) > _MOST_CHOICES else ''}"
    words = [_WORDS.get(kind, kind) for kind in kinds_of(schema) if kind != "null"]
    return " or ".join(words)


def shown(value: object) -> str:
    """A value for a message, shortened."""
    if isinstance(value, dict):
        return "an object"
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"


def _alternative(value: Any, schema: Schema, where: str) -> Any:
    """The value as the only alternative beside null would have it; as it is where there are several."""
    parts = [part for part in _alternatives(schema) if isinstance(part, Mapping)]
    real = [part for part in parts if kinds_of(part) != ("null",)]
    if value is None or len(real) != 1:
        return value
    return coerced(value, real[0], where)


def _alternatives(schema: Schema) -> list[Any]:
    return [*schema.get("anyOf", ()), *schema.get("oneOf", ())]


def _typed(value: Any, kinds: tuple[str, ...], schema: Schema, where: str) -> Any:
    if any(_is(value, kind) for kind in kinds):
        return value
    for kind in kinds:
        convert = _CONVERSIONS.get(kind)
        if convert is None:
            continue
        try:
            return convert(value, schema)
        except ValueError:
            continue
    raise DoesNotFit(expectation(schema), value, where)


def _is(value: Any, kind: str) -> bool:
    match kind:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
        case _:  # not a type of JSON Schema: it cannot be judged
            return True


def _integer(value: Any, _schema: Schema) -> int:
    number = _number(value, _schema)
    if isinstance(number, float) and not number.is_integer():
        raise ValueError
    return int(number)


def _number(value: Any, _schema: Schema) -> int | float:
    if isinstance(value, float):
        return value
    if not isinstance(value, str) or len(value) > _LONGEST_NUMBER:
        raise ValueError
    try:
        return int(value.strip())
    except ValueError:
        number = float(value.strip())
    if not math.isfinite(number):
        raise ValueError
    return number


def _boolean(value: Any, _schema: Schema) -> bool:
    word = str(value).strip().lower() if isinstance(value, (str, int)) else ""
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError


def _string(value: Any, _schema: Schema) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise ValueError


def _array(value: Any, schema: Schema) -> list[Any]:
    """A list from its JSON text, or of the one item that was sent instead."""
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return []
        if text.startswith("["):  # it cannot but be a list; one that is broken is no item
            return _list_from(text)
    items = schema.get("items")
    kinds = kinds_of(items) if isinstance(items, Mapping) else ()
    if isinstance(value, str) and "object" in kinds and "string" not in kinds:
        return [_object_from(value, schema)]
    if value is None or (kinds and not isinstance(value, str) and not any(_is(value, kind) for kind in kinds)):
        raise ValueError
    return [value]


def _list_from(text: str) -> list[Any]:
    parsed = json.loads(text)
    if isinstance(parsed, list):
        return parsed
    raise ValueError


def _object_from(value: Any, _schema: Schema) -> dict[str, Any]:
    parsed = json.loads(value) if isinstance(value, str) else None
    if isinstance(parsed, dict):
        return parsed
    raise ValueError


_CONVERSIONS: Mapping[str, Callable[[Any, Schema], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "string": _string,
    "array": _array,
    "object": _object_from,
}


def _chosen(value: Any, choices: Sequence[Any], where: str) -> Any:
    if any(value == choice and type(value) is type(choice) for choice in choices):
        return value
    wanted = str(value).strip().lower()
    same = [choice for choice in choices if str(choice).lower() == wanted]
    if len(same) == 1:
        return same[0]
    raise DoesNotFit(expectation({"enum": choices}), value, where)


def _list(value: list[Any], schema: Schema, where: str) -> list[Any]:
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return value
    return [coerced(item, items, f"{where}[{position}]") for position, item in enumerate(value)]


def _object(value: dict[str, Any], schema: Schema, where: str) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return value
    required = schema.get("required", ())
    fitted: dict[str, Any] = {}
    for name, part in value.items():
        known = properties.get(name)
        if not isinstance(known, Mapping):
            fitted[name] = part
        elif part is not None or takes_null(known):
            fitted[name] = coerced(part, known, f"{where}.{name}")
    for name in required:
        if name not in fitted:
            raise DoesNotFit(f"an object with {name!r}", value, where)
    return fitted
