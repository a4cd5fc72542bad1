"""Regular expressions as `rg` reads them, for Python's `re`.

What `re` has no word for is refused by name; nothing is searched for with another meaning.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_POSIX = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "word": r"a-zA-Z0-9_",
    "space": r"\t\n\v\f\r ", "blank": r"\t ", "xdigit": "0-9A-Fa-f", "punct": r"!-/:-@\[-`{-~", "ascii": r"\x00-\x7f",
    "cntrl": r"\x00-\x1f\x7f", "graph": "!-~", "print": " -~",
}  # fmt: skip
_ESCAPES = {
    "z": r"\Z", "<": r"\b(?=\w)", ">": r"\b(?<=\w)", "b{start}": r"\b(?=\w)", "b{end}": r"\b(?<=\w)",
    "b{start-half}": r"(?<!\w)", "b{end-half}": r"(?!\w)", "h": r"[ \t]", "a": r"\a",
}  # fmt: skip
_FLAGS = re.compile(r"\(\?([a-zA-Z]*(?:-[a-zA-Z]+)?)([:)])")
_ESCAPE = re.compile(r"\\(b\{[a-z-]+\}|[xuU]\{[0-9A-Fa-f]+\}|[pP](?:\{[^}]*\}|.)|.)", re.DOTALL)
_CHARACTER = re.compile(r"[xuU]\{([0-9A-Fa-f]+)\}")
_LOOKS_AROUND = re.compile(r"\(\?<?[=!]")
_AT_AN_END = re.compile(r"\(\?<?[=!]|\\[AZ]")
_SIMPLE = re.compile(r"[\w /\"'=:;,<>@%&~`!-]")


class PatternError(ValueError):
    """The pattern is wrong, or cannot be said in Python's words."""


class Pattern(NamedTuple):
    """A compiled pattern.

    Attributes:
        literal: text that stands in every match ('' for none that is known), as bytes.
        beyond: whether it matches in a line may depend on what is around the line.
        looks_around: because it has look-around.
    """

    expression: re.Pattern[str]
    literal: bytes
    beyond: bool
    looks_around: bool


def compiled(text: str, *, fixed: bool, ignore_case: bool, dotall: bool) -> Pattern:
    """The pattern, with `^` and `$` at lines.

    Raises:
        PatternError
    """
    flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0) | (re.DOTALL if dotall else 0)
    literal = "" if ignore_case else text if fixed else _literal(text)
    source = re.escape(text) if fixed else _Translation(text).result()
    try:
        expression = re.compile(source, flags)
    except (re.error, OverflowError, RecursionError) as problem:
        raise PatternError(_explained(text, source, problem)) from problem
    looks_around = not fixed and bool(_LOOKS_AROUND.search(text))
    beyond = looks_around or (not fixed and bool(_AT_AN_END.search(source)))
    return Pattern(expression, literal.encode("utf-8", "surrogateescape"), beyond, looks_around)


def _explained(text: str, source: str, problem: Exception) -> str:
    words = {"missing ), unterminated subpattern": "unclosed group", "unbalanced parenthesis": "unopened group"}
    said = getattr(problem, "msg", str(problem))
    at = getattr(problem, "pos", None)
    caret = f"    {' ' * at}^\n" if isinstance(at, int) and source == text and "\n" not in text else ""
    return f"regex parse error:\n    {text}\n{caret}error: {words.get(said, said)}"


class _Translation:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        # For each open group, the flags set inside it: `(?i)` holds to the group's end, over its alternatives.
        self._groups: list[list[str]] = [[]]
        self._out: list[str] = []

    def result(self) -> str:
        while self._at < len(self._text):
            self._step(self._text[self._at])
        self._out.append(")" * len(self._groups[-1]))
        return "".join(self._out)

    def _step(self, char: str) -> None:
        if char == "\\":
            self._out.append(self._escape(in_class=False))
        elif char == "[":
            self._class()
        elif char == "(":
            self._open()
        else:
            self._at += 1
            self._out.append(self._closing(char))

    def _closing(self, char: str) -> str:
        scoped = self._groups[-1]
        if char == ")":
            if len(self._groups) > 1:
                self._groups.pop()
                return ")" * len(scoped) + char
        elif char == "|" and scoped:
            return ")" * len(scoped) + "|" + "".join(f"(?{flags}:" for flags in scoped)
        return char

    def _open(self) -> None:
        rest = self._text[self._at :]
        found = _FLAGS.match(rest)
        if not found:
            named = re.match(r"\(\?<(?![=!])", rest)
            self._at += named.end() if named else 1
            self._out.append("(?P<" if named else "(")
            self._groups.append([])
            return
        if set(found[1]) - set("imsxuR-"):
            raise self._unknown(found[0])
        flags = re.sub("[uR]", "", found[1]).removesuffix("-")
        self._at += found.end()
        if found[2] == ":":
            self._groups.append([])
            self._out.append(f"(?{flags}:")
        elif flags:
            self._groups[-1].append(flags)
            self._out.append(f"(?{flags}:")

    def _escape(self, *, in_class: bool) -> str:
        found = _ESCAPE.match(self._text, self._at)
        if not found:
            raise PatternError(f"regex parse error:\n    {self._text}\nerror: incomplete escape sequence")
        self._at = found.end()
        word = found[1]
        if character := _CHARACTER.fullmatch(word):
            return re.escape(chr(min(int(character[1], 16), 0x10FFFF)))
        if word[0] in "pP" or (len(word) > 1 and word not in _ESCAPES):
            raise self._unknown(found[0])
        if in_class:
            return found[0] if word not in {"<", ">", "h"} else re.escape(word)
        return _ESCAPES.get(word, found[0])

    def _class(self) -> None:
        opened = re.compile(r"\[\^?\]?").match(self._text, self._at)
        assert opened  # noqa: S101 - it begins with a bracket
        self._at = opened.end()
        parts = [re.sub(r"\]$", r"\\]", opened[0])]
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "]":
                self._at += 1
                self._out.append("".join(parts) + "]")
                return
            parts.append(self._in_class(char))
        raise PatternError(f"regex parse error:\n    {self._text}\nerror: unclosed character class")

    def _in_class(self, char: str) -> str:
        if char == "\\":
            return self._escape(in_class=True)
        posix = re.compile(r"\[:(\w+):\]").match(self._text, self._at)
        if posix and posix[1] in _POSIX:
            self._at = posix.end()
            return _POSIX[posix[1]]
        if char == "[" or self._text[self._at : self._at + 2] in {"&&", "--", "~~"}:
            raise self._unknown(f"a class inside a class ({self._text[self._at : self._at + 2]})")
        self._at += 1
        return char

    def _unknown(self, what: str) -> PatternError:
        return PatternError(f"regex parse error:\n    {self._text}\nerror: {what} is not supported without ripgrep")


def _literal(text: str) -> str:
    """The longest text that stands in every match of the expression, as far as that is easily seen."""
    if "|" in text or "(?" in text or "[" in text or "{" in text:
        return ""
    runs, run, depth, at = [""], "", 0, 0
    while at < len(text):
        char = text[at]
        depth += (char == "(") - (char == ")")
        escaped = char == "\\" and at + 1 < len(text)
        if escaped:
            at += 1
            char = text[at]
        plain = not char.isalnum() and char not in "<>_" if escaped else bool(_SIMPLE.match(char))
        if plain and not depth:
            run += char
        else:
            # What is repeated may stand there no time.
            runs.append(run[:-1] if char in "*?" and not escaped else run)
            run = ""
        at += 1
    return max([*runs, run], key=len)
