"""Backslash sequences of `$'…'`, `echo -e` and `printf` (bash manual, 3.1.2.4)."""

from __future__ import annotations

import re

_SEQUENCE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|(0?[0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_THEMSELVES = frozenset("\\'\"?")


def unescaped(text: str, *, is_echo: bool = False) -> str:
    """`text` with its sequences resolved.

    Args:
        is_echo: as `echo -e` and `%b` do it: octal numbers begin with a zero, a `c` ends the text, and quotes stay
            escaped.
    """
    if "\\" not in text:
        return text
    if is_echo and (end := re.search(r"(?<!\\)(?:\\\\)*\\c", text)):
        text = text[: end.end() - 2]
    return _joined(_SEQUENCE.sub(lambda found: _value(found, is_echo=is_echo), text))


def _value(found: re.Match[str], *, is_echo: bool) -> str:
    hexadecimal, short, long, octal, control, letter = found.groups()
    if hexadecimal:
        return _byte(int(hexadecimal, 16))
    if short or long:
        number = int(short or long, 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"  # noqa: PLR2004
    if octal:
        return _byte(int(octal[: 4 if is_echo and octal[0] == "0" else 3], 8) & 0xFF) + (
            "" if is_echo and octal[0] == "0" else octal[3:]
        )
    if control:
        return chr(ord(control.upper()) & 0x1F)
    if letter in _LETTERS:
        return _LETTERS[letter]
    return letter if letter == "\\" or (letter in _THEMSELVES and not is_echo) else found[0]


def _byte(number: int) -> str:
    # Bytes beyond ASCII are joined to characters afterwards.
    return chr(number) if number < 0x80 else chr(0xDC00 + number)  # noqa: PLR2004


def _joined(text: str) -> str:
    if text.isascii():
        return text
    return re.sub(
        "[\udc80-\udcff]+",
        lambda found: found[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
        text,
    )
