"""The values of texts: their escapes, and the code that is put into them."""

from __future__ import annotations

import re

from tools.approval.scripts.code.syntax import Syntax
from tools.bash.reading import UNKNOWN

_LAST_CHARACTER = 0x10FFFF
_MAX_KEY = 80
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(
    r"\\(?:x(\{[0-9a-fA-F]{1,6}\}|[0-9a-fA-F]{1,2})|u(\{[0-9a-fA-F]{1,6}\}|[0-9a-fA-F]{4})|([0-7]{1,3})|([\s\S]))"
)
_VARIABLES = frozenset({"ENV", "_ENV", "_SERVER"})


def unescaped(syntax: Syntax, text: str) -> str:
    """The text that these escapes mean."""
    if syntax.decimals:
        text = re.sub(r"\\(\d{1,3})", lambda found: chr(int(found[1])), text)
    return _ESCAPE.sub(_meant, text)


def interpolated(syntax: Syntax, text: str, marker: str) -> tuple[str, list[str]]:
    """The text with `UNKNOWN` where code is put in, and the pieces of code.

    Args:
        marker: what begins code, as `#{`.
    """
    pieces: list[str] = []
    codes: list[str] = []
    place = 0
    opening = _opening(syntax, marker)
    while found := opening.search(text, place):
        pieces.append(text[place : found.start()])
        place = found.end()
        if found[0].startswith("\\"):
            pieces.append(found[0])
            continue
        pieces.append(UNKNOWN)
        if found[0][1:] in _VARIABLES:
            codes.append(found[0] + text[place : place + _MAX_KEY].partition("}")[0] + "}")
        elif found[0].endswith("{") or found[0] == "{$":
            code, place = balanced(text, place)
            codes.append(("$" if found[0] == "{$" else "") + code)
    return "".join((*pieces, text[place:])), codes


def balanced(text: str, place: int, opening: str = "{", closing: str = "}") -> tuple[str, int]:
    """What is before the closing mark that belongs to an opening one just passed, and where it ends."""
    depth, start = 1, place
    while place < len(text):
        char = text[place]
        place += 2 if char == "\\" else 1
        depth += (char == opening) - (char == closing)
        if depth == 0:
            return text[start : place - 1], place
    return text[start:], len(text)


def _opening(syntax: Syntax, marker: str) -> re.Pattern[str]:
    pattern = rf"\\[\s\S]|{re.escape(marker)}"
    if syntax.sigils:
        pattern += rf"|[{re.escape(syntax.sigils)}][\w:]+|[$@]\{{|\{{\$"
    return re.compile(pattern)


def _meant(found: re.Match[str]) -> str:
    hexadecimal, unicode, octal, letter = found.groups()
    if hexadecimal or unicode:
        number = int((hexadecimal or unicode).strip("{}"), 16)
        return chr(number) if number <= _LAST_CHARACTER else UNKNOWN
    if octal:
        return chr(int(octal, 8))
    return _ESCAPES.get(letter, letter)
