"""The arguments of a tool call, repaired where that is safe: the history holds JSON that every server takes.

A model can be cut off at any character, whatever its server says of why it ended. So only arguments that are closed
run: every string and every bracket has its end, and nothing follows.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from tools.text.encoding import with_escapes

_EMPTY = "{}"
_LIMIT = "The output limit cut this call off before its arguments were complete"
_AGAIN = (
    "Nothing was run. Send the call again; if it is long, in smaller parts (a long file: write the first part, then "
    "add to it)."
)
_SHOWN = 40

_SPACE = re.compile(r"\s*")
_BEFORE = re.compile(r"\ufeff?\s*(?:```(?:json)?)?\s*", re.IGNORECASE)
_CLOSING_FENCE = re.compile(r"\s*(?:```)?\s*")
_STRINGS = {quote: re.compile(rf"[^{quote}\\]*+(?:\\.[^{quote}\\]*+)*+{quote}", re.DOTALL) for quote in "\"'"}
_SPECIAL = re.compile(r'\\(?:u[0-9a-fA-F]{4}|.)|"', re.DOTALL)
_PLAIN_KEY = re.compile(r"""(["'])[\w.-]+\1\s*:""")
_BARE_KEY = re.compile(r"[A-Za-z_$][\w$-]*")
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])|(?:true|false|null|True|False|None)\b")
_CUT_SCALAR = re.compile(r"[\w.+-]+\Z")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_NO_COMMA = 'a comma or a bracket is missing (a quotation mark in a text is written \\")'
_TOO_DEEP = "they are nested too deeply"
_NOT_AN_OBJECT = "The arguments must be one JSON object. Nothing was run."


def settled_arguments(text: str, *, cut: bool = False) -> tuple[str, str | None]:
    """The text of a JSON object, and what is wrong with the call if it must not run.

    Valid arguments stay byte for byte. Others are repaired where they are closed.

    Args:
        cut: the answer was cut off at the output limit, and this call was the last of it.
    """
    if text.strip() in {"", "null"}:
        return _EMPTY, f"{_LIMIT}. {_AGAIN}" if cut else None
    try:
        found = _JSON.decode(text)
    except (ValueError, RecursionError):
        return _repaired(text, cut=cut)
    if isinstance(found, str):  # an object that was encoded twice
        text, found = found, _object_or_none(found)
    return (text, None) if isinstance(found, dict) else (_EMPTY, _NOT_AN_OBJECT)


def _object_or_none(text: str) -> Any:
    try:
        return _JSON.decode(text)
    except (ValueError, RecursionError):
        return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs) and any(found[key] != value for key, value in pairs):
        raise ValueError("a key has two values")  # which of them is meant nobody knows
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


_JSON = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number)


def _repaired(text: str, *, cut: bool) -> tuple[str, str | None]:
    reader = _Reader(text)
    try:
        mended = with_escapes(json.dumps(reader.read(), ensure_ascii=False))
    except _Unclosed as problem:
        what = f"{_LIMIT}: they" if cut else "The arguments are not valid JSON, for they were cut off: they"
        return _EMPTY, f"{what} end {problem}. {_AGAIN}"
    except (ValueError, RecursionError) as problem:
        why = _TOO_DEEP if isinstance(problem, RecursionError) else problem
        return _EMPTY, f"The arguments are not valid JSON: {why}. Nothing was run. Send one JSON object."
    if cut:
        return _EMPTY, f"{_LIMIT}. {_AGAIN}"
    return mended, None


class _Unclosed(Exception):
    """The text ends within something; says within what."""


class _Malformed(ValueError):
    """The text is not JSON, and not nearly; says where and why."""


class _Reader:
    """Reads one object, as JSON or as some models write it.

    That is: raw line breaks and tabs in strings, single quotes, bare keys, Python's words, a comma too many, a comma
    missing before a plain key, a byte order mark or a Markdown fence around it.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._keys: list[str] = []

    def read(self) -> dict[str, Any]:
        """The object.

        Raises:
            _Unclosed: the text ends before the object does.
            _Malformed: it is something else, or more than one object.
        """
        self._skip(_BEFORE)
        if self._peek() != "{":
            self._fail("they do not begin with {")
        value = self._object()
        self._skip(_CLOSING_FENCE)
        if self._at < len(self._text):
            second = self._peek() == "{"
            self._fail("a second object follows; send a call for each" if second else "something follows it")
        return value

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._at += 1
        while self._next() != "}":
            key = self._key()
            self._expect(":")
            self._keys.append(key)
            value = self._value()
            if found.setdefault(key, value) != value:
                self._fail(f"the key “{key[:_SHOWN]}” has two values")
            self._keys.pop()
            # A comma that is missing before a plain key is clear; a quotation mark within a text looks otherwise.
            if self._next() == ",":
                self._at += 1
            elif self._peek() != "}" and not _PLAIN_KEY.match(self._text, self._at):
                self._fail(_NO_COMMA)
        self._at += 1
        return found

    def _array(self) -> list[Any]:
        found: list[Any] = []
        self._at += 1
        while self._next() != "]":
            found.append(self._value())
            if self._next() == ",":
                self._at += 1
            elif self._peek() != "]":
                self._fail(_NO_COMMA)
        self._at += 1
        return found

    def _key(self) -> str:
        if self._peek() in _STRINGS:
            return self._string()
        bare = _BARE_KEY.match(self._text, self._at)
        if bare is None:
            self._fail("a key is expected")
        self._at = bare.end()
        if self._at == len(self._text):
            raise self._unclosed("inside a key")
        return bare[0]

    def _value(self) -> Any:
        sign = self._next()
        if sign == "{":
            return self._object()
        if sign == "[":
            return self._array()
        if sign in _STRINGS:
            return self._string()
        scalar = _SCALAR.match(self._text, self._at)
        if scalar is None:
            if _CUT_SCALAR.match(self._text, self._at):
                raise self._unclosed("inside a value")
            self._fail("a value is expected")
        self._at = scalar.end()
        if scalar[0] in _WORDS:
            return _WORDS[scalar[0]]
        try:
            number = json.loads(scalar[0])
        except ValueError:  # thousands of digits
            number = math.inf
        if math.isinf(number):
            self._fail("a number is too large")
        return number

    def _string(self) -> str:
        start = self._at + 1
        found = _STRINGS[self._text[self._at]].match(self._text, start)
        if found is None:
            raise self._unclosed("inside a string")
        self._at = found.end()
        value: str = json.loads(f'"{_SPECIAL.sub(_escaped, self._text[start : self._at - 1])}"', strict=False)
        return value

    def _expect(self, sign: str) -> None:
        if self._next() != sign:
            self._fail(f"a {sign} is missing")
        self._at += 1

    def _next(self) -> str:
        """The next character that is no blank."""
        self._skip(_SPACE)
        if self._at == len(self._text):
            raise self._unclosed("where a bracket is open")
        return self._text[self._at]

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        if (found := pattern.match(self._text, self._at)) is not None:
            self._at = found.end()

    def _unclosed(self, where: str) -> _Unclosed:
        of = f", in “{self._keys[-1][:_SHOWN]}”" if self._keys else ""
        tail = " ".join(self._text[-_SHOWN:].split())
        return _Unclosed(f"{where}{of}, after {len(self._text):,} characters (“…{tail}”)")

    def _fail(self, why: str) -> NoReturn:
        near = " ".join(self._text[max(self._at - _SHOWN // 2, 0) : self._at + _SHOWN // 2].split())
        raise _Malformed(f"{why}, at character {self._at + 1:,} (“{near}”)")


def _escaped(found: re.Match[str]) -> str:
    """A piece of a string as JSON has it: an escape that it does not know is a backslash and a character."""
    piece = found[0]
    if piece == '"':
        return '\\"'
    if piece == "\\'":
        return "'"
    return piece if len(piece) > 2 or piece[1] in '"\\/bfnrt' else f"\\{piece}"  # noqa: PLR2004 - \\uXXXX
