"""`${…}` in all its forms (bash manual, 3.5.3)."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from typing import Protocol

from tools.bash.escapes import unescaped
from tools.bash.reading import UNKNOWN
from tools.bash.scope import Value

_FORM = re.compile(
    r"(?P<mark>[#!]?)(?P<name>[A-Za-z_]\w*|[@*#?$!-]|\d+)(?:\[(?P<index>[^\]]*)\])?"
    r"(?P<operator>:[-=+?]|[-=+?]|##?|%%?|//|/#|/%|/|\^\^?|,,?|@[A-Za-z]|:)?(?P<rest>[\s\S]*)",
    re.ASCII,
)
_LENGTH = re.compile(r"#([A-Za-z_]\w*|[@*]|\d+)(?:\[([^\]]*)\])?", re.ASCII)
_MAX_MATCHED = 2000
_MAX_REPLACED = 200
_MAX_STARS = 2


class Values(Protocol):
    """Where the values come from."""

    def value_of(self, name: str) -> Value | None:
        """The value of a variable or a special parameter; None where it is not known."""

    def is_set(self, name: str) -> bool:
        """Whether this script gave it a value, or may have."""

    def text(self, raw: str) -> str:
        """A word with its expansions, as one text."""

    def assign(self, name: str, value: str) -> None:
        """`${name:=value}`."""


def sums_in(content: str) -> tuple[str, ...]:
    """What of `${content}` is computed: a subscript, also of what `!name` names, and where a part begins and ends."""
    form = _FORM.fullmatch(content)
    if form is None:
        return ()
    return (
        form["index"] or "",
        form["name"] if form["mark"] == "!" else "",
        form["rest"] if form["operator"] == ":" else "",
    )


def braced(content: str, values: Values) -> Value | None:
    """The value of `${content}`; None where it is not known. Several values are a tuple."""
    if (length := _LENGTH.fullmatch(content)) is not None:
        return _length(values.value_of(length[1]), length[2])
    form = _FORM.fullmatch(content)
    if form is None:
        return None
    name = form["name"]
    if form["mark"] == "!":
        target = values.value_of(name)
        if not isinstance(target, str) or UNKNOWN in target or form["operator"] or form["rest"]:
            return None
        return braced(target, values)
    value = _item(values.value_of(name), form["index"], values)
    operator, rest = form["operator"] or "", form["rest"]
    if operator.lstrip(":")[:1] in {"-", "=", "+", "?"} and operator:
        return _default(name, value, operator, rest, values)
    if not operator:
        return value if not rest else None
    if value is None:
        return None
    if operator == ":":
        return _slice((UNKNOWN, *value) if name in "@*" and isinstance(value, tuple) else value, rest, values)
    if isinstance(value, tuple):
        changed = [_changed(item, operator, rest, values) for item in value]
        return tuple(UNKNOWN if item is None else item for item in changed)
    return _changed(value, operator, rest, values)


def _length(value: Value | None, index: str | None) -> str | None:
    if value is None:
        return None
    if isinstance(value, tuple):
        return str(len(value)) if index in {None, "@", "*"} else None
    return str(len(value)) if UNKNOWN not in value and not index else None


def _item(value: Value | None, index: str | None, values: Values) -> Value | None:
    if value is None or index in {"@", "*"}:
        return value
    if index is None:
        return value
    number = values.text(index)
    if not re.fullmatch(r"-?\d+", number):
        return None
    items = value if isinstance(value, tuple) else (value,)
    place = int(number)
    return items[place] if -len(items) <= place < len(items) else ""


def _default(name: str, value: Value | None, operator: str, rest: str, values: Values) -> Value | None:
    counts_empty = operator[0] == ":"
    kind = operator[-1]
    is_missing = not value and not values.is_set(name)
    is_empty = value is not None and counts_empty and not value
    if kind == "?":
        values.text(rest)  # what is said where there is no value
        return value
    if kind == "+":
        return "" if is_empty or (is_missing and value is not None) else values.text(rest)
    if not is_missing and not is_empty:
        return value
    # What the environment may have set is not known; what the script would do itself is.
    text = values.text(rest)
    if kind == "=":
        values.assign(name, text)
    return text


def _slice(value: Value, rest: str, values: Values) -> Value | None:
    start, _, count = values.text(rest).partition(":")
    if not re.fullmatch(r"\s*-?\d+\s*", start) or not re.fullmatch(r"\s*(-?\d+)?\s*", count):
        return None
    if isinstance(value, str) and UNKNOWN in value:
        return None
    first = int(start)
    first = max(len(value) + first, 0) if first < 0 else first
    if not count.strip():
        return value[first:]
    size = int(count)
    return value[first:size] if size < 0 else value[first : first + size]


def _changed(text: str, operator: str, rest: str, values: Values) -> str | None:
    if UNKNOWN in text or len(text) > _MAX_MATCHED:
        return None
    if operator[0] in "^,":
        change: Callable[[str], str] = str.upper if operator[0] == "^" else str.lower
        if rest:
            return None
        return change(text) if operator[1:] else change(text[:1]) + text[1:]
    if operator[0] == "@":
        return _transformed(text, operator[1])
    if operator[0] in "#%":
        return _trimmed(text, operator, values.text(rest))
    return _replaced(text, operator, rest, values)


def _transformed(text: str, how: str) -> str | None:
    known: dict[str, Callable[[str], str]] = {
        "Q": lambda word: "'" + word.replace("'", "'\\''") + "'",
        "E": unescaped,
        "U": str.upper,
        "L": str.lower,
        "u": lambda word: word[:1].upper() + word[1:],
    }
    transform = known.get(how)
    return transform(text) if transform else None


def _trimmed(text: str, operator: str, pattern: str) -> str | None:
    if UNKNOWN in pattern or pattern.count("*") > _MAX_STARS:
        return None
    matches = re.compile(fnmatch.translate(pattern)).match
    is_greedy = len(operator) > 1
    if operator[0] == "#":
        ends = range(len(text), -1, -1) if is_greedy else range(len(text) + 1)
        return next((text[end:] for end in ends if matches(text[:end])), text)
    starts = range(len(text) + 1) if is_greedy else range(len(text), -1, -1)
    return next((text[:start] for start in starts if matches(text[start:])), text)


def _replaced(text: str, operator: str, rest: str, values: Values) -> str | None:
    cut = re.match(r"((?:\\[\s\S]|[^/\\])+)(?:/([\s\S]*))?", rest)
    if cut is None:
        return text
    pattern, new = values.text(cut[1]), values.text(cut[2] or "")
    if UNKNOWN in pattern + new:
        return None
    if not re.search(r"[*?\[]", pattern) and operator in {"/", "//"}:
        return text.replace(pattern, new, 1 if operator == "/" else -1)
    if len(text) > _MAX_REPLACED or pattern.count("*") > _MAX_STARS:
        return None
    matches = re.compile(fnmatch.translate(pattern)).match
    if operator in {"/#", "/%"}:
        trimmed = _trimmed(text, {"/#": "##", "/%": "%%"}[operator], pattern)
        if trimmed is None or trimmed == text:
            return text
        return new + trimmed if operator == "/#" else trimmed + new
    done, place = [], 0
    while place < len(text):
        end = next((end for end in range(len(text), place, -1) if matches(text[place:end])), None)
        if end is None:
            done.append(text[place])
            place += 1
            continue
        done.append(new)
        place = end
        if operator == "/":
            break
    return "".join(done) + text[place:]
