"""Secrets taken out of structures: dataclasses, mappings and sequences with text somewhere in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from tools.redaction.redactor import Redact

T = TypeVar("T")


def redacted(value: T, redact: Redact) -> T:
    """`value` with every text in it redacted, as deep as it goes; what holds none is the same object.

    Keys of mappings stay, and so do bytes and paths. A text under a secret's name in a mapping (`"api_key": "…"`) is
    judged with that name before it.
    """
    return cast("T", _redacted(value, redact))


def _redacted(value: Any, redact: Redact) -> Any:
    match value:
        case str():
            return redact(value)
        case tuple() | list():
            return type(value)(_redacted(each, redact) for each in value)
        case Mapping():
            return {key: _under_name(key, each, redact) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return _of_dataclass(value, redact)
    return value


def _of_dataclass(value: Any, redact: Redact) -> Any:
    changed = {}
    for each in fields(value):
        if not each.init:
            continue
        before = getattr(value, each.name)
        after = _redacted(before, redact)
        if after != before:
            changed[each.name] = after
    return replace(value, **changed) if changed else value


def _under_name(key: object, value: Any, redact: Redact) -> Any:
    if not isinstance(value, str) or not isinstance(key, str):
        return _redacted(value, redact)
    told = redact(f"{key}={value}")
    return told.removeprefix(f"{key}=") if told.startswith(f"{key}=") else redact(value)
