"""Values as a schema wants them, by chance: every field of every method comes up, with and without its neighbours."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.schemas import Schema

_WORDS = ("", "a", "default", "Zed", "ä ö ü", "日本語", "\u2028", "emoji 🎉", "two\nlines", "x" * 300)
_DEEPEST = 6
_SOMETIMES = 0.4


@dataclass
class Grammar:
    """Makes valid values.

    Attributes:
        known: what a field of that name is worth trying with: ids of sessions that are there, directories.
    """

    chance: random.Random
    known: dict[str, Sequence[Any]] = field(default_factory=dict)

    def value(self, schema: Schema) -> Any:
        """A value that fits."""
        return self._value(schema, schema.get("$defs", {}), "", 0)

    def _value(self, schema: Schema, defs: Schema, name: str, depth: int) -> Any:
        if "$ref" in schema:
            return self._value(defs[schema["$ref"].rpartition("/")[2]], defs, name, depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.chance.choice(schema["enum"])
        for union in ("anyOf", "oneOf", "allOf"):
            if union in schema:
                return self._value(self.chance.choice(schema[union]), defs, name, depth)
        if schema.get("type") == "string" and self.known.get(name) and self.chance.random() < 0.9:
            return self.chance.choice(self.known[name])
        return self._of_type(schema, defs, name, depth)

    def _of_type(self, schema: Schema, defs: Schema, name: str, depth: int) -> Any:
        match schema.get("type"):
            case "object":
                return self._object(schema, defs, depth)
            case "array":
                most = 0 if depth > _DEEPEST else self.chance.choice((0, 1, 1, 2, 3))
                return [self._value(schema.get("items", {}), defs, name, depth + 1) for _ in range(most)]
            case "integer":
                least, most = schema.get("minimum", -5), schema.get("maximum", 2**40)
                return self.chance.choice((least, most, max(least, 1), self.chance.randint(int(least), int(most))))
            case "number":
                return self.chance.choice((0, 1.5, -2, 1e300))
            case "boolean":
                return self.chance.random() < 0.5
            case "null":
                return None
            case "string":
                return self.chance.choice(_WORDS)
        return self.chance.choice((None, 1, "any", [], {"any": "thing"}))

    def _object(self, schema: Schema, defs: Schema, depth: int) -> dict[str, Any]:
        needed = schema.get("required", ())
        made = {
            name: self._value(part, defs, name, depth + 1)
            for name, part in schema.get("properties", {}).items()
            if name in needed or (depth <= _DEEPEST and self.chance.random() < _SOMETIMES)
        }
        if schema.get("additionalProperties") and self.chance.random() < _SOMETIMES:
            made[self.chance.choice(("hermes", "key", "self", "session_id"))] = self.chance.choice(({}, "x", 1))
        return made
