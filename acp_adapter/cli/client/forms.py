"""A form that the agent wants filled in (ACP v1, `elicitation/create`), field by field at the terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from acp_adapter.cli.client.asking import Asking, Left, Withdrawn
from acp_adapter.cli.client.interrupts import QuestionAborted
from acp_adapter.cli.terminal.menu import Entry, Menu
from acp_adapter.cli.terminal.safe_text import one_line

Json = dict[str, Any]

_OTHER = "_other"
_HINT = "Enter chooses, Esc declines, Ctrl-C cancels the turn"
_HINT_SEVERAL = f"Space marks, {_HINT}"
_ELSE = "Something else"
_LEAVE_OUT = "No answer"


class WrongValue(Exception):
    """What was written is no value for the field; the text says what would be."""


class Forms:
    """Asks what a form asks."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    @staticmethod
    def possible(asking: Asking) -> bool:
        """Whether there is a terminal to ask on."""
        return asking.style.live and sys.stdin.isatty() and sys.stdout.isatty()

    def fill(self, params: Mapping[str, Any]) -> tuple[Json, str]:
        """The answer to an `elicitation/create` with `params`, and words for the transcript."""
        try:
            if params.get("mode") == "url":
                return self._page()
            content = self._fields(params.get("requestedSchema"))
        except (QuestionAborted, Withdrawn):
            return {"action": "cancel"}, "cancelled"
        except Left:
            return {"action": "decline"}, "declined"
        return {"action": "accept", "content": content}, "; ".join(map(_told, content.values())) or "nothing"

    def _page(self) -> tuple[Json, str]:
        menu = Menu([Entry("I have opened it", "y"), Entry("No", "n")])
        self._asking.choose(menu, _HINT)
        if menu.at:
            raise Left
        return {"action": "accept"}, "opened"

    def _fields(self, schema: object) -> Json:
        fields = schema.get("properties") if isinstance(schema, Mapping) else None
        required = schema.get("required") if isinstance(schema, Mapping) else None
        fields = fields if isinstance(fields, Mapping) else {}
        fields = {str(name): field for name, field in fields.items() if isinstance(field, Mapping)}
        content: Json = {}
        for name, field in fields.items():
            base = name.removesuffix(_OTHER)
            if base != name and base in fields:
                continue  # asked about with the choices that it stands beside
            has_other = f"{name}{_OTHER}" in fields
            is_needed = name in _list(required)
            content.update(self._field(name, field, has_other=has_other, is_needed=is_needed, alone=len(fields) == 1))
        return content

    def _field(self, name: str, field: Mapping[str, Any], *, has_other: bool, is_needed: bool, alone: bool) -> Json:
        choices = list(_choices(field))
        title = one_line(str(field.get("title") or name))
        if not (alone or (has_other and choices)) or field.get("description"):
            description = one_line(str(field.get("description") or ""))
            print(f"    {title}{f': {description}' if description else ''}", flush=True)
        if field.get("type") == "array":
            return self._several(name, field, choices, has_other=has_other)
        if choices:
            return self._one(name, field, choices, has_other=has_other, is_needed=is_needed)
        return self._written(name, field, is_needed=is_needed)

    def _one(
        self, name: str, field: Mapping[str, Any], choices: list[tuple[Any, str]], *, has_other: bool, is_needed: bool
    ) -> Json:
        entries = [Entry(label) for _, label in choices]
        if has_other:
            entries.append(Entry(_ELSE))
        elif not is_needed:
            entries.append(Entry(_LEAVE_OUT))
        values = [value for value, _ in choices]
        default = field.get("default")
        menu = Menu(entries, at=values.index(default) if default in values else 0)
        self._asking.choose(menu, _HINT)
        if menu.at < len(choices):
            return {name: values[menu.at]}
        return self._own_words(name) if has_other else {}

    def _several(
        self, name: str, field: Mapping[str, Any], choices: list[tuple[Any, str]], *, has_other: bool
    ) -> Json:
        default = _list(field.get("default"))
        marked = [number for number, (value, _) in enumerate(choices) if value in default]
        entries = [Entry(label) for _, label in choices] + ([Entry(_ELSE)] if has_other else [])
        if not entries:
            return {}
        menu = Menu(entries, several=True, marked=marked)
        self._asking.choose(menu, _HINT_SEVERAL)
        chosen = [value for number, (value, _) in enumerate(choices) if number in menu.marked]
        content: Json = {name: chosen} if chosen else {}
        return {**content, **(self._own_words(name) if len(choices) in menu.marked else {})}

    def _own_words(self, name: str) -> Json:
        words = self._asking.line(f"    {_ELSE}: ").strip()
        return {f"{name}{_OTHER}": words} if words else {}

    def _written(self, name: str, field: Mapping[str, Any], *, is_needed: bool) -> Json:
        default = field.get("default")
        hint = f" [{one_line(str(default))}]" if default is not None else ""
        while True:
            text = self._asking.line(f"    >{hint} ").strip()
            if not text and (default is not None or not is_needed):
                return {} if default is None else {name: default}
            try:
                return {name: _value(text, str(field.get("type")))}
            except WrongValue as problem:
                print(f"    {problem}", flush=True)


def _choices(field: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """The values to choose from, and what to call them."""
    if field.get("type") == "boolean":
        yield from ((True, "Yes"), (False, "No"))
        return
    items = field.get("items") if field.get("type") == "array" else field
    items = items if isinstance(items, Mapping) else {}
    for value in _list(items.get("enum")):
        yield value, one_line(str(value))
    for named in (*_list(items.get("oneOf")), *_list(items.get("anyOf"))):
        if isinstance(named, Mapping) and "const" in named:
            yield named["const"], one_line(str(named.get("title") or named["const"]))


def _value(text: str, kind: str) -> str | int | float:
    if not text:
        raise WrongValue("It has to be answered; Ctrl-D declines.")
    try:
        match kind:
            case "integer":
                return int(text)
            case "number":
                return _finite(float(text))
    except ValueError as problem:
        raise WrongValue("It has to be a number; Ctrl-D declines.") from problem
    return text


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(number)
    return number


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
