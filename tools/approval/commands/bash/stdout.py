"""What programs print, where it follows from their words: `echo`, `printf`, `base64 -d` …"""

from __future__ import annotations

import base64
import posixpath
import re
from collections.abc import Callable

from tools.approval.commands.bash.reading import MAX_TEXT, UNKNOWN
from tools.approval.commands.bash.state import Call
from tools.approval.commands.bash.words import unescaped

_ECHO_OPTION = re.compile(r"-[neE]+")
_FORMAT = re.compile(r"%(?:%|([-+ #0]*)(\d*)(?:\.(\d+))?([sbqdiuxXocT]))")
_DECODES = re.compile(r"(?:(?:-d|-D|-di|-id|-i|--decode|--ignore-garbage)(?: |$))+")
_TEMPORARY = "/tmp/tmp."  # noqa: S108 - where mktemp makes its files


def printed(call: Call) -> str | None:
    """The standard output of a call; None where it is not known. Unknown parts are `UNKNOWN`."""
    printer = _PRINTERS.get(call.name)
    if printer is None or call.elsewhere or call.adds_unknown:
        return None
    if any(word.expands or word.splits for word in call.arguments):
        return None
    text = printer(call)
    return text if text is not None and len(text) <= MAX_TEXT else None


def _echo(call: Call) -> str | None:
    words = [word.text for word in call.arguments]
    ends_line, has_escapes = True, False
    while words and _ECHO_OPTION.fullmatch(words[0]):
        option = words.pop(0)
        ends_line = ends_line and "n" not in option
        has_escapes = ("e" in option) or (has_escapes and "E" not in option)
    text = " ".join(words)
    return (unescaped(text, is_echo=True) if has_escapes else text) + ("\n" if ends_line else "")


def _printf(call: Call) -> str | None:
    words = [word.text for word in call.arguments]
    if words[:1] == ["--"]:
        words = words[1:]
    if not words or words[0] == "-v":
        return "" if words else None
    return formatted(words[0], words[1:])


def formatted(template: str, values: list[str]) -> str | None:
    """What `printf` makes of a format and its values."""
    if UNKNOWN in template:
        return None
    left = list(values)
    pieces = []
    while True:
        count = len(left)
        pieces.append(_once(template, left))
        if not left or len(left) == count or len(pieces) > MAX_TEXT // 64:
            return "".join(pieces)


def _once(template: str, left: list[str]) -> str:
    pieces, place = [], 0
    for found in _FORMAT.finditer(template):
        pieces.append(unescaped(template[place : found.start()]))
        place = found.end()
        if found[0] == "%%":
            pieces.append("%")
            continue
        value = left.pop(0) if left else ""
        pieces.append(_converted(value, found[4], found[1], found[2], found[3]))
    return "".join(pieces) + unescaped(template[place:])


def _converted(value: str, kind: str, flags: str, width: str, precision: str | None) -> str:
    if kind in "diuxXoc":
        if kind == "c":
            return value[:1]
        digits = re.fullmatch(r"\s*(-?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)", value)
        if digits is None:
            return UNKNOWN if value else "0"
        number = int(digits[2], 8 if re.fullmatch(r"0[0-7]+", digits[2]) else 0)
        shown = format(-number if digits[1] else number, {"x": "x", "X": "X", "o": "o"}.get(kind, "d"))
        return shown.zfill(int(width or 0)) if "0" in flags else shown.rjust(int(width or 0))
    text = unescaped(value, is_echo=True) if kind == "b" else value
    text = text if precision is None else text[: int(precision)]
    if int(width or 0) > len(text) + 200:
        return UNKNOWN
    return text.ljust(int(width or 0)) if "-" in flags else text.rjust(int(width or 0))


def _input(call: Call) -> str | None:
    return call.input.text if call.input.kind == "text" else None


def _cat(call: Call) -> str | None:
    return _input(call) if all(word.text in {"-", "-u"} for word in call.arguments) else None


def _base64(call: Call) -> str | None:
    """The input decoded, where it is known."""
    options = " ".join(word.text for word in call.arguments)
    text = _input(call)
    if text is None or UNKNOWN in text or not _DECODES.fullmatch(options):
        return None
    digits = re.sub(r"[^A-Za-z0-9+/]", "", text)
    try:
        return base64.b64decode(digits + "=" * (-len(digits) % 4)).decode("utf-8", "replace")
    except ValueError:
        return None


def _which(call: Call) -> str | None:
    words = [word.text for word in call.arguments if word.text not in {"-v", "-a", "-p", "-P"}]
    is_asking = call.name != "command" or any(word.text == "-v" for word in call.arguments)
    # Where it is does not matter for what it is.
    return "\n".join(words) + "\n" if is_asking and words else None


def _base_name(call: Call) -> str | None:
    words = [word.text for word in call.arguments]
    if not words or words[0].startswith("-") or len(words) > 2:  # noqa: PLR2004 - a path and an ending
        return None
    name = words[0].rstrip("/").rpartition("/")[2]
    return name.removesuffix(words[1]) + "\n" if len(words) > 1 else name + "\n"


def _folder_name(call: Call) -> str | None:
    words = [word.text for word in call.arguments]
    if len(words) != 1 or words[0].startswith("-"):
        return None
    return (posixpath.dirname(words[0].rstrip("/")) or ("/" if words[0].startswith("/") else ".")) + "\n"


def _temporary(call: Call) -> str | None:
    options = {word.text for word in call.arguments}
    return _TEMPORARY + UNKNOWN + "\n" if options <= {"-d", "--directory", "-q", "--quiet"} else None


def _working_folder(call: Call) -> str | None:
    return None if call.cwd is None else call.cwd + "\n"


def _nothing(call: Call) -> str | None:
    del call
    return ""


_PRINTERS: dict[str, Callable[[Call], str | None]] = {
    "echo": _echo, "printf": _printf, "cat": _cat, "base64": _base64, "gbase64": _base64, "which": _which,
    "command": _which, "basename": _base_name, "dirname": _folder_name, "mktemp": _temporary, "pwd": _working_folder,
    "tee": _input, "cd": _nothing, ":": _nothing, "true": _nothing, "set": _nothing, "export": _nothing,
    "sleep": _nothing, "exit": _nothing, "return": _nothing, "umask": _nothing,
    "unset": _nothing, "local": _nothing, "shift": _nothing, "wait": _nothing, "read": _nothing,
}  # fmt: skip
PRINTERS = frozenset(_PRINTERS)
"""The programs whose output is known, where their words are; they complain about nothing then."""
