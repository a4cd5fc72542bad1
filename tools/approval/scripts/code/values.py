"""Texts that scripts work out in well-known ways: the home, a path of parts."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from tools.approval.scripts.code.syntax import Token
from tools.approval.scripts.homes import at_home, home

_HOME = (
    ("process", ".", "env", ".", "HOME"),
    ("process", ".", "env", "[", "HOME", "]"),
    ("os", ".", "homedir", "(", ")"),
    ("require", "(", "os", ")", ".", "homedir", "(", ")"),
    ("require", "(", "node:os", ")", ".", "homedir", "(", ")"),
    ("ENV", "[", "HOME", "]"),
    ("ENV", ".", "fetch", "(", "HOME", ")"),
    ("Dir", ".", "home"),
    ("$ENV", "{", "HOME", "}"),
    ("getenv", "(", "HOME", ")"),
    ("os", ".", "getenv", "(", "HOME", ")"),
    ("Sys.getenv", "(", "HOME", ")"),
)
_HERE = (("process", ".", "cwd", "(", ")"), ("__dirname",), ("Dir", ".", "pwd"), ("getcwd", "(", ")"))
_JOINS = (
    ("path", ".", "join", "("),
    ("path", ".", "resolve", "("),
    ("File", ".", "join", "("),
    ("File", ".", "expand_path", "("),
)
_STARTS = frozenset(sequence[0] for sequence in (*_HOME, *_HERE, *_JOINS))


def with_known_values(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with texts in place of expressions whose value is known."""
    return _joined(_replaced(tokens))


def _replaced(tokens: Sequence[Token]) -> list[Token]:
    result: list[Token] = []
    place = 0
    while place < len(tokens):
        found, value = None, ""
        if tokens[place].kind == "name" and tokens[place].text in _STARTS:
            found = _matching(tokens, place, _HOME)
            value = home()
            if found is None:
                found, value = _matching(tokens, place, _HERE), "."
        if found is None:
            result.append(tokens[place])
            place += 1
        else:
            result.append(Token("text", value))
            place += found
    return result


def _joined(tokens: Sequence[Token]) -> list[Token]:
    result: list[Token] = []
    place = 0
    while place < len(tokens):
        found = (
            _matching(tokens, place, _JOINS)
            if tokens[place].kind == "name" and tokens[place].text in _STARTS
            else None
        )
        end = None if found is None else _end_of_texts(tokens, place + found)
        if found is None or end is None:
            result.append(tokens[place])
            place += 1
        else:
            parts = [token.text for token in tokens[place + found : end] if token.kind == "text"]
            result.append(Token("text", at_home(posixpath.join(*parts))))
            place = end + 1
    return result


def _matching(tokens: Sequence[Token], place: int, sequences: Sequence[tuple[str, ...]]) -> int | None:
    """How many tokens one of the sequences takes at `place`."""
    for sequence in sequences:
        if tuple(token.text for token in tokens[place : place + len(sequence)]) == sequence:
            return len(sequence)
    return None


def _end_of_texts(tokens: Sequence[Token], place: int) -> int | None:
    """Where the parenthesis closes, if there is nothing but texts before."""
    start = place
    while place < len(tokens) and (tokens[place].kind == "text" or tokens[place].text == ","):
        place += 1
    return place if place > start and place < len(tokens) and tokens[place].text == ")" else None
