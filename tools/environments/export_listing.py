"""Reads what `export -p` prints: names and values as a shell quotes them for itself."""

from __future__ import annotations

import os
import re

# Compiled when they are first needed: a start should not pay for them.
_LINE = rb"""
    (?:export|declare\ -\w+|typeset\ -\w+)\ (?:-\w+\ )* (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    (?: ="(?P<plain>[^"\\]*)"(?=\n|\Z)
      | (?P<value>=(?:"(?:[^"\\]|\\.)*" | \$'(?:[^'\\]|\\.)*' | '[^']*' | \\. | [^\s"'\\$])*))?
    (?:\n|\Z)
"""
_PIECE = rb"""
    "(?P<double>(?:[^"\\]|\\.)*)" | \$'(?P<ansi>(?:[^'\\]|\\.)*)' | '(?P<single>[^']*)'
  | \\(?P<escaped>.) | (?P<bare>.)
"""
_FLAGS = re.VERBOSE | re.DOTALL
_IN_DOUBLE = rb"\\([\"$`\\\n])"
_IN_ANSI = rb"""
  \\(?:(?P<octal>[0-7]{1,3}) | x(?P<hex>[0-9A-Fa-f]{1,2}) | [uU](?P<code>[0-9A-Fa-f]{1,8}) | (?P<letter>.))
"""
_LETTERS = {b"a": b"\a", b"b": b"\b", b"e": b"\x1b", b"E": b"\x1b", b"f": b"\f", b"n": b"\n", b"r": b"\r"}
_LETTERS |= {b"t": b"\t", b"v": b"\v"}


def read_exports(listing: bytes) -> dict[str, str] | None:
    """The exported variables that have a value; None when the text is not such a list.

    Bytes that are no UTF-8 come as `os.fsdecode` gives them, like those of `os.environ`.
    """
    found: dict[str, str] = {}
    lines = re.compile(_LINE, _FLAGS)
    at = 0
    while at < len(listing):
        line = lines.match(listing, at)
        if line is None:
            return None
        at = line.end()
        if line["plain"] is not None:
            found[os.fsdecode(line["name"])] = os.fsdecode(line["plain"])
        elif line["value"] is not None:
            found[os.fsdecode(line["name"])] = os.fsdecode(_unquoted(line["value"][1:]))
    return found


def _unquoted(text: bytes) -> bytes:
    return b"".join(_piece(piece) for piece in re.finditer(_PIECE, text, _FLAGS))


def _piece(piece: re.Match[bytes]) -> bytes:
    if piece["double"] is not None:
        return re.sub(_IN_DOUBLE, _kept, piece["double"])
    if piece["ansi"] is not None:
        return re.sub(_IN_ANSI, _ansi, piece["ansi"], flags=_FLAGS)
    if piece["single"] is not None:
        return piece["single"]
    return piece["escaped"] if piece["escaped"] is not None else piece["bare"]


def _kept(escape: re.Match[bytes]) -> bytes:
    return b"" if escape[1] == b"\n" else escape[1]


def _ansi(escape: re.Match[bytes]) -> bytes:
    if escape["octal"] is not None:
        return bytes((int(escape["octal"], 8) & 0xFF,))
    if escape["hex"] is not None:
        return bytes((int(escape["hex"], 16),))
    if escape["code"] is not None:
        return chr(int(escape["code"], 16)).encode("utf-8", "surrogateescape")
    return _LETTERS.get(escape["letter"], escape["letter"])
