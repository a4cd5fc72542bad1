"""A server's question to the person (MCP, elicitation) as one of ours, and the answer as the server wants it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tools.agent_ports import Field, Kind, PersonPage, PersonQuestion, Value, wants_secret
from tools.light_dataclass import dataclass
from tools.untrusted.invisible import without_controls

_MOST_FIELDS = 20
_LONGEST_TEXT = 2_000
_KINDS: Mapping[str, Kind] = {"string": "text", "number": "number", "integer": "integer", "boolean": "boolean"}
_FORMATS = {
    "email": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"),
    "uri": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+"),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "date-time": re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)?"),
}

_WORD_BREAK = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")
_SECRET_FIELD = re.compile(
    r"(?:\w+ ){0,3}(?:token|secret|passw(?:or)?d|passphrase|pwd|api ?key)(?: value)?", re.IGNORECASE
)


class NoForm(ValueError):
    """A server's question cannot be put to the person; the text is for the server."""


@dataclass(frozen=True, slots=True)
class Form:
    """A question with what its answer must be.

    Attributes:
        schemas: of each field, by its name.
        meant: by field, what the server has for each choice that the person reads.
    """

    question: PersonQuestion
    schemas: Mapping[str, Mapping[str, Any]]
    meant: Mapping[str, Mapping[str, str]]

    def content(self, values: Mapping[str, Value]) -> dict[str, Any]:
        """What the person filled in, as the server has it."""
        return {name: self._meant(name, value) for name, value in values.items()}

    def unfit(self, values: Mapping[str, Value]) -> str:
        """What is wrong with an answer, for the person; '' if nothing is."""
        found = (_unfit(self.schemas.get(name, {}), value) for name, value in values.items())
        titles = {field.name: field.title for field in self.question.fields}
        return "; ".join(
            f"{titles.get(name, name)} {why}" for name, why in zip(values, found, strict=True) if why
        )  # fmt: skip

    def _meant(self, name: str, value: Value) -> Any:
        choices = self.meant.get(name, {})
        if isinstance(value, tuple):
            return [choices.get(each, each) for each in value]
        return choices.get(value, value) if isinstance(value, str) else value


def page_of(server: str, params: Mapping[str, Any]) -> PersonPage:
    """The page that a server wants to be opened."""
    return PersonPage(_asked(server, params), str(params.get("url", "")))


def form_of(server: str, params: Mapping[str, Any]) -> Form:
    """The form of a server's question.

    Raises:
        NoForm: it has no fields, or such as a form cannot have, or asks for a secret.
    """
    schema = params.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not properties or len(properties) > _MOST_FIELDS:
        raise NoForm(f"A form has between one and {_MOST_FIELDS} fields.")
    required = schema.get("required") if isinstance(schema, Mapping) else None
    needed = set(required) if isinstance(required, list) else set()
    fields, meant = [], {}
    for name, described in properties.items():
        field, choices = _field(str(name), described, required=name in needed)
        fields.append(field)
        meant[field.name] = choices
    text = _asked(server, params)
    if wants_secret(text) or any(map(_is_secret, fields)) or _is_hidden(properties.values()):
        raise NoForm("Secrets are not asked for by a form. Use the url mode.")
    return Form(PersonQuestion(text, tuple(fields)), dict(properties), meant)


def _is_secret(field: Field) -> bool:
    """Whether a field is for a secret, by any of the words that it is called or described with."""
    named, titled = (_WORD_BREAK.sub(" ", words).strip() for words in (field.name, field.title))
    if field.kind == "text" and any(map(_SECRET_FIELD.fullmatch, (named, titled))):
        return True
    return any(
        wants_secret(words) for words in (f"enter your {field.title}", f"enter your {named}", field.description)
    )


def _is_hidden(schemas: Iterable[object]) -> bool:
    """Whether something is to be typed that nobody may see."""
    return any(isinstance(schema, Mapping) and schema.get("format") == "password" for schema in schemas)


def _asked(server: str, params: Mapping[str, Any]) -> str:
    words = without_controls(str(params.get("message", ""))).strip()[:_LONGEST_TEXT]
    return f"The MCP server {server} asks: {words}"


def _field(name: str, raw: object, *, required: bool) -> tuple[Field, dict[str, str]]:
    described: Mapping[str, Any] = raw if isinstance(raw, Mapping) else {}
    kind, choices = _kind(name, described)
    told = {"title": described.get("title") or name, "description": described.get("description") or ""}
    titles = {key: without_controls(str(text)) for key, text in told.items()}
    default = _default(described.get("default"), kind, choices)
    field = Field(name, kind=kind, choices=tuple(choices), other=False, required=required, default=default, **titles)
    return field, choices


def _kind(name: str, described: Mapping[str, Any]) -> tuple[Kind, dict[str, str]]:
    """The kind of a field, and its choices as the person reads them with what is meant."""
    if described.get("type") == "array":
        items = described.get("items")
        choices = _choices(items) if isinstance(items, Mapping) else {}
        if choices:
            return "choices", choices
    elif choices := _choices(described):
        return "choice", choices
    kind = _KINDS.get(str(described.get("type")))
    if kind is None:
        raise NoForm(f"The field {name!r} is of a kind that forms do not have.")
    return kind, {}


def _choices(described: Mapping[str, Any]) -> dict[str, str]:
    titled = described.get("oneOf") or described.get("anyOf")
    if isinstance(titled, list):
        entries = [entry for entry in titled if isinstance(entry, Mapping) and isinstance(entry.get("const"), str)]
        return {without_controls(str(entry.get("title") or entry["const"])): entry["const"] for entry in entries}
    values = described.get("enum")
    if not isinstance(values, list):
        return {}
    names = described.get("enumNames")
    shown = names if isinstance(names, list) and len(names) == len(values) else values
    return {without_controls(str(name)): str(value) for name, value in zip(shown, values, strict=True)}


def _default(value: object, kind: Kind, choices: Mapping[str, str]) -> Value | None:
    shown = {meant: title for title, meant in choices.items()}
    if kind == "choices":
        return tuple(shown[each] for each in value if each in shown) if isinstance(value, list) else None
    if kind == "choice":
        return shown.get(value) if isinstance(value, str) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind == "text":
        return value if isinstance(value, str) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _unfit(schema: Mapping[str, Any], value: Value) -> str:
    if isinstance(value, str):
        return _unfit_text(schema, value)
    if isinstance(value, tuple):
        return _outside(len(value), schema.get("minItems"), schema.get("maxItems"), "choices")
    if isinstance(value, bool):
        return ""
    return _outside(value, schema.get("minimum"), schema.get("maximum"), "")


def _unfit_text(schema: Mapping[str, Any], value: str) -> str:
    pattern = _FORMATS.get(str(schema.get("format")))
    if pattern is not None and not pattern.fullmatch(value):
        return f"must have the form of {schema['format']}"
    return _outside(len(value), schema.get("minLength"), schema.get("maxLength"), "characters")


def _outside(size: float, least: object, most: object, unit: str) -> str:
    if isinstance(least, int | float) and size < least:
        return f"must be at least {least:g} {unit}".rstrip()
    if isinstance(most, int | float) and size > most:
        return f"must be at most {most:g} {unit}".rstrip()
    return ""
