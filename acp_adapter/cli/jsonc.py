"""JSON with comments and trailing commas, as editors keep their settings: read, and changed in one place alone."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_PLAIN = re.compile(r"[^\s,\[\]{}\"/:]+")
_INDENT = "  "
_DEEPEST = 200


class JsoncError(ValueError):
    """The text is no JSON with comments; says where."""


@dataclass(frozen=True, slots=True)
class _Member:
    key: str
    value: _Value


@dataclass(frozen=True, slots=True)
class _Value:
    """A value's place in the text; `members` of an object, `items` of an array, `plain` of anything else."""

    start: int
    end: int
    kind: str
    members: tuple[_Member, ...] = ()
    items: tuple[_Value, ...] = ()
    plain: Any = None
    # Of an object: whether a comma stands behind its last member.
    trails: bool = field(default=False)

    def data(self) -> Any:
        if self.kind == "object":
            return {member.key: member.value.data() for member in self.members}
        return [item.data() for item in self.items] if self.kind == "array" else self.plain


def loads(text: str) -> Any:
    """The value that `text` holds; of keys that stand there twice the last counts.

    Raises:
        JsoncError: it holds none.
    """
    return _Parser(text).document().data()


def member(text: str, path: Sequence[str]) -> Any:
    """What stands at `path`; None where nothing does.

    Raises:
        JsoncError: the text cannot be read.
    """
    found: Any = loads(text) if _BLANK.sub("", text.removeprefix("\ufeff"), count=1) else {}
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def with_member(text: str, path: Sequence[str], value: object) -> str:
    """`text`, an object, with `value` at `path`; everything else stays as it is, comments and layout too.

    Objects on the way are made where they are missing. A blank text counts as an empty object.

    Raises:
        JsoncError: the text cannot be read, or what stands on the way is no object.
    """
    if not _BLANK.sub("", text.removeprefix("\ufeff"), count=1):
        made = json.dumps(_nested(path, value), indent=_INDENT, ensure_ascii=False)
        return f"{text.rstrip()}\n{made}\n" if text.strip() else f"{made}\n"
    root = _Parser(text).document()
    changed = _set(text, root, tuple(path), value)
    if loads(changed) != _expected(root.data(), path, value):
        raise JsoncError("the entry could not be put in without changing something else")
    return changed


def _set(text: str, at: _Value, path: tuple[str, ...], value: object) -> str:
    if at.kind != "object":
        raise JsoncError(f"there is no object where {path[0]!r} belongs (line {_line(text, at.start)})")
    key, *rest = path
    found = next((member for member in reversed(at.members) if member.key == key), None)
    if found is None:
        return _inserted(text, at, key, _nested(rest, value))
    if rest:
        return _set(text, found.value, tuple(rest), value)
    lead = _lead(text, found.value.start)
    return text[: found.value.start] + _shown(text, value, lead) + text[found.value.end :]


def _inserted(text: str, at: _Value, key: str, value: object) -> str:
    """The member goes behind the object's last one, on a line of its own."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text)
    if at.members:
        lead = _lead(text, at.members[-1].value.start)
        place = at.members[-1].value.end
        if at.trails:
            place = text.index(",", _BLANK.match(text, place).end()) + 1  # type: ignore[union-attr]
        comma = "" if at.trails else ","
    else:
        lead, place, comma = _lead(text, at.start) + unit, at.start + 1, ""
    member = f"{line_end}{lead}{json.dumps(key, ensure_ascii=False)}: {_shown(text, value, lead)}"
    if at.members:
        # A comment behind the last member stays on its line.
        rest = re.match(r"[ \t]*(//[^\n\r]*|/\*[^\n\r]*?\*/)?", text[place:])
        behind = place + (rest.end() if rest is not None and rest[1] else 0)
        return f"{text[:place]}{comma}{text[place:behind]}{member}{',' if at.trails else ''}{text[behind:]}"
    inside = text[place : at.end - 1].rstrip()
    return f"{text[:place]}{inside}{member}{line_end}{_lead(text, at.start)}{text[at.end - 1 :]}"


def _shown(text: str, value: object, lead: str) -> str:
    line_end = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", f"{line_end}{lead}")


def _lead(text: str, place: int) -> str:
    """The blanks that the line of `place` begins with."""
    start = text.rfind("\n", 0, place) + 1
    found = re.match(r"[ \t]*", text[start:])
    return found[0] if found is not None else ""


def _unit(text: str) -> str:
    """What the file indents by: as its first indented line."""
    found = re.search(r"\n([ \t]+)\"", text)
    return found[1] if found is not None else _INDENT


def _nested(path: Sequence[str], value: object) -> object:
    for key in reversed(path):
        value = {key: value}
    return value


def _expected(data: Any, path: Sequence[str], value: object) -> Any:
    if not path:
        return value
    key, *rest = path
    return {**data, key: _expected(data.get(key, {}), rest, value)}


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


class _Parser:
    """Reads one value and knows where everything in it stands."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 1 if text.startswith("\ufeff") else 0

    def document(self) -> _Value:
        value = self._value(0)
        self._skip()
        if self._at < len(self._text):
            raise self._wrong("something follows the end")
        return value

    def _value(self, depth: int) -> _Value:
        self._skip()
        if depth > _DEEPEST:
            raise self._wrong("it is nested too deeply")
        start, sign = self._at, self._text[self._at : self._at + 1]
        if sign == "{":
            return self._object(depth)
        if sign == "[":
            return self._array(depth)
        if sign == '"':
            plain: Any = self._string()
        else:
            plain = self._word()
        return _Value(start, self._at, "plain", plain=plain)

    def _object(self, depth: int) -> _Value:
        members: list[_Member] = []
        start, trails = self._at, False
        self._at += 1
        while not self._takes("}"):
            if members and not trails:
                raise self._wrong("a comma is missing")
            if self._text[self._at : self._at + 1] != '"':
                raise self._wrong("a name in quotes is missing")
            key = self._string()
            if not self._takes(":"):
                raise self._wrong("a colon is missing")
            members.append(_Member(key, self._value(depth + 1)))
            trails = self._takes(",")
        return _Value(start, self._at, "object", members=tuple(members), trails=trails)

    def _array(self, depth: int) -> _Value:
        items: list[_Value] = []
        start, trails = self._at, False
        self._at += 1
        while not self._takes("]"):
            if items and not trails:
                raise self._wrong("a comma is missing")
            items.append(self._value(depth + 1))
            trails = self._takes(",")
        return _Value(start, self._at, "array", items=tuple(items))

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        try:
            value = json.loads(found[0]) if found is not None else None
        except ValueError as problem:
            raise self._wrong("a text is malformed") from problem
        if found is None or not isinstance(value, str):
            raise self._wrong("a text does not end")
        self._at = found.end()
        return value

    def _word(self) -> Any:
        found = _PLAIN.match(self._text, self._at)
        try:
            value = json.loads(found[0]) if found is not None else None
        except ValueError as problem:
            raise self._wrong(f"{found[0] if found else ''} is no value") from problem
        if found is None:
            raise self._wrong("a value is missing")
        self._at = found.end()
        return value

    def _takes(self, sign: str) -> bool:
        """Whether `sign` comes next; then it is taken, with what is blank around it."""
        self._skip()
        if not self._text.startswith(sign, self._at):
            return False
        self._at += 1
        if sign not in "}]":
            self._skip()
        return True

    def _skip(self) -> None:
        found = _BLANK.match(self._text, self._at)
        self._at = found.end() if found is not None else self._at

    def _wrong(self, what: str) -> JsoncError:
        return JsoncError(f"{what} (line {_line(self._text, self._at)})")
