"""What the keywords of JSON Schema may hold. Some models' servers refuse a whole request for one that is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})


def is_fit(keyword: str, value: object) -> bool:
    """Whether `value` is one for the keyword (draft 2020-12); a keyword that is not known may hold anything."""
    fits = _FITS.get(keyword)
    return fits is None or fits(value)


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


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_schema(value: object) -> bool:
    return isinstance(value, Mapping | bool)


def _are_schemas(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value))


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _are_choices(value: object) -> bool:
    return isinstance(value, list) and bool(value)


_KINDS: tuple[tuple[Callable[[object], bool], str], ...] = (
    (_is_type, "type"),
    (_is_number, "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"),
    (_is_count, "minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties"),
    (_is_text, "title description format pattern contentEncoding contentMediaType $anchor $ref $dynamicRef"),
    (_is_flag, "uniqueItems readOnly writeOnly deprecated"),
    (_is_object, "properties patternProperties $defs definitions dependentSchemas dependentRequired"),
    (
        _is_schema,
        "items additionalProperties unevaluatedItems unevaluatedProperties propertyNames contains not if then else",
    ),
    (_are_schemas, "anyOf oneOf allOf prefixItems"),
    (_are_names, "required"),
    (_are_choices, "enum"),
    (_is_list, "examples"),
)
_FITS: Mapping[str, Callable[[object], bool]] = {name: fits for fits, names in _KINDS for name in names.split()}
