"""A question as the flat schema of a form (ACP v1, elicitation), and what a filled one holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tools.agent_ports import Field, PersonQuestion, Value

_OTHER = "_other"
_OTHER_TITLE = "Something else"
_OTHER_HINT = "Your own words, in place of the choices"


class WrongForm(Exception):
    """A filled form does not fit the question. The text names fields, never what was filled in."""


class UnfitValue(WrongForm):
    """A value was sent, and it is not one that its field can hold: the person has answered, but not so."""


def requested_schema(question: PersonQuestion) -> dict[str, Any]:
    """The form's schema: one property for each field, and a free text beside each open choice."""
    properties: dict[str, Any] = {}
    for field in question.fields:
        properties[field.name] = _property(field)
        if field.is_open:
            properties[_other(field)] = {"type": "string", "title": _OTHER_TITLE, "description": _OTHER_HINT}
    # Of an open choice neither part alone is required.
    required = [field.name for field in question.fields if field.required and not field.is_open]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def read_form(question: PersonQuestion, content: object) -> dict[str, Value]:
    """The values of a filled form, by the fields' names.

    Raises:
        UnfitValue: one is not what its field asks for. WrongForm: a required one is missing.
    """
    if content is not None and not isinstance(content, Mapping):
        raise WrongForm("its content is no object")
    filled: Mapping[str, Any] = content or {}
    values: dict[str, Value] = {}
    for field in question.fields:
        value = _own_words(field, filled)
        if value is None:
            value = _value(field, filled.get(field.name))
        if value is not None:
            values[field.name] = value
        elif field.required:
            raise WrongForm(f"the field {field.name!r} is missing")
    return values


def as_text(question: PersonQuestion) -> str:
    """The question as a message, for editors without forms."""
    lines = [question.text]
    several = len(question.fields) > 1
    for field in question.fields:
        if several:
            lines += ["", f"**{field.title}**{f': {field.description}' if field.description else ''}"]
        if field.choices:
            lines += ["", *(f"{number}. {choice}" for number, choice in enumerate(field.choices, 1))]
    return "\n".join(lines)


def _other(field: Field) -> str:
    return f"{field.name}{_OTHER}"


def _property(field: Field) -> dict[str, Any]:
    told: dict[str, Any] = {"title": field.title}
    if field.description:
        told["description"] = field.description
    if field.default is not None:
        told["default"] = list(field.default) if isinstance(field.default, tuple) else field.default
    match field.kind:
        case "text":
            return {"type": "string", **told}
        case "choice":
            return {"type": "string", **told, "enum": list(field.choices)}
        case "choices":
            least = {"minItems": 1} if field.required and not field.is_open else {}
            return {"type": "array", **told, **least, "items": {"type": "string", "enum": list(field.choices)}}
        case kind:
            return {"type": kind, **told}


def _own_words(field: Field, filled: Mapping[str, Any]) -> Value | None:
    """What was written beside the choices; it goes before a choice, which may have been filled in already."""
    if not field.is_open:
        return None
    text = filled.get(_other(field))
    if text is None:
        return None
    if not isinstance(text, str):
        raise UnfitValue(f"the field {_other(field)!r} is no text")
    text = text.strip()
    if not text:
        return None
    if field.kind == "choice":
        return text
    chosen = _value(field, filled.get(field.name))
    return (*chosen, text) if isinstance(chosen, tuple) else (text,)


def _value(field: Field, value: object) -> Value | None:
    """The value of a field; None where nothing was filled in."""
    if value is None:
        return None
    match field.kind, value:
        case "text", str():
            return value if value.strip() else None
        case "choice", str():
            return _one_of(field, value)
        case "choices", list() if all(isinstance(item, str) for item in value):
            told = (each for item in value if (each := _one_of(field, item)) is not None)
            return tuple(dict.fromkeys(told)) or None
        case "boolean", bool():
            return value
        case (("number" | "integer"), (bool() | str())):
            pass
        case "integer", int():
            return value
        case "integer", float() if value.is_integer():
            return int(value)
        case "number", int() | float() if math.isfinite(value):
            return value
    raise UnfitValue(f"the field {field.name!r} holds what it cannot hold ({type(value).__name__})")


def _one_of(field: Field, text: str) -> str | None:
    """A choice; else, where the field is open, the person's own words: some editors have one input for both."""
    if text in field.choices:
        return text
    own = text.strip()
    if own and not field.is_open:
        raise UnfitValue(f"the field {field.name!r} holds none of its {len(field.choices)} choices")
    return own or None
