"""Reads the words of a shell text: quotes, escapes, variables, and the scripts inside of a word."""

from __future__ import annotations

import re
from typing import Protocol

from tools.changes.shell_syntax import Part, Script, Word

_PLAIN = re.compile(r"[^ \t\n'\"`$\\;&|()<>]+")
_PLAIN_QUOTED = re.compile(r"[^\"\\$`]+")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_PARAMETER = re.compile(r"\$[0-9@*#?$!-]")
# Those of `${…}` that neither assign nor run anything, and `$((…))` without names.
_HARMLESS = re.compile(r"#?\w+(?:(?:%%?|##?|//?|:?-|:?\+|\^\^?|,,?)[^$`(){}\[\]@!='\"\\]*)?", re.ASCII)
_NUMBERS = re.compile(r"[\d\s+*/%<>=!&|^~?:()-]*", re.ASCII)
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*+)`", re.DOTALL)
_ESCAPED_IN_BACKTICKS = re.compile(r"\\([`$\\])")
_ESCAPED_IN_QUOTED_BACKTICKS = re.compile(r"\\([`$\\\"])")
_ANSI_QUOTED = re.compile(r"\$'((?:[^'\\]|\\.)*+)'", re.DOTALL)
_ANSI_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4}|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_BRACES, _PARENTHESES = re.compile(r"[{}]"), re.compile(r"[()]")
_MAX_DEPTH = 20
_UNKNOWN = Part("unknown")


class TooMuch(Exception):
    """The text is too long or too nested to be read on."""


class Budget:
    """How many steps a reading may still take, nested scripts included."""

    def __init__(self, steps: int = 4_000) -> None:
        self._left = steps

    def spend(self) -> None:
        """Take one step.

        Raises:
            TooMuch: none is left.
        """
        if self._left <= 0:
            raise TooMuch
        self._left -= 1


class NestedReader(Protocol):
    """Reads the script at a reader's place."""

    def __call__(self, words: WordReader, *, closed: bool) -> Script:
        """Up to a closing parenthesis, which is taken too (`closed`), or to the end of the text."""
        ...


class WordReader:
    """A place in a text, and what stands there.

    Attributes:
        at: the place; readers of scripts move it on.
        is_certain: False once something was met that is not followed exactly.
    """

    def __init__(self, text: str, budget: Budget, nested: NestedReader, depth: int = 0) -> None:
        if depth > _MAX_DEPTH:
            raise TooMuch
        self.text = text
        self.at = 0
        self.budget = budget
        self.is_certain = True
        self._nested = nested
        self._depth = depth
        self._parts: list[Part] = []
        self._scripts: list[Script] = []

    def word(self) -> Word:
        """The word at this place; empty where an operator or a blank stands there."""
        outer = self._parts, self._scripts
        self._parts, self._scripts = [], []
        try:
            while self.at < len(self.text) and self._unquoted():
                self.budget.spend()
            return Word(tuple(self._parts), tuple(self._scripts))
        finally:
            self._parts, self._scripts = outer

    def document(self, delimiter: Word, *, strips_tabs: bool) -> Word:
        """The text from here to the line that is `delimiter`, as one quoted word."""
        tabs = r"\t*" if strips_tabs else ""
        end = re.compile(rf"^{tabs}{re.escape(delimiter.literal or '')}$", re.MULTILINE).search(self.text, self.at)
        self.is_certain = self.is_certain and end is not None and delimiter.literal is not None
        body = self.text[self.at : end.start() if end else len(self.text)]
        self.at = end.end() if end else len(self.text)
        is_quoted = any(part.quoted for part in delimiter.parts)
        # A line that goes on in the next one may hide the delimiter, or make it.
        self.is_certain = self.is_certain and (is_quoted or "\\\n" not in body)
        if is_quoted or not re.search(r"[$`\\]", body):
            return Word((Part("text", body, quoted=True),))
        inner = WordReader(body, self.budget, self._nested, self._depth + 1)
        while inner.at < len(body):
            inner.budget.spend()
            if not inner._quoted():
                inner._take(1)  # a quotation mark is nothing special here
        self.is_certain = self.is_certain and inner.is_certain
        return Word(tuple(inner._parts), tuple(inner._scripts))

    def _take(self, length: int, *, quoted: bool = True) -> None:
        self._parts.append(Part("text", self.text[self.at : self.at + length], quoted))
        self.at += length

    def _unquoted(self) -> bool:
        """Take the next piece outside of quotes; False where the word ends."""
        if plain := _PLAIN.match(self.text, self.at):
            self._take(plain.end() - self.at, quoted=False)
            return True
        match self.text[self.at]:
            case "\\":
                self._escape()
            case "'":
                self._single()
            case '"':
                self._double()
            case "$":
                self._dollar(quoted=False)
            case "`":
                self._backticks(quoted=False)
            case "<" | ">" if not self._parts and self.text.startswith("(", self.at + 1):
                self._substitution(2, quoted=False)
            case _:
                return False
        return True

    def _escape(self) -> None:
        escaped = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if escaped != "\n":
            self._parts.append(Part("text", escaped or "\\", quoted=True))

    def _single(self) -> None:
        end = self._found(self.text.find("'", self.at + 1))
        self._parts.append(Part("text", self.text[self.at + 1 : end], quoted=True))
        self.at = end + 1

    def _found(self, end: int) -> int:
        """`end`, or the end of the text where the search for it failed."""
        if end >= 0:
            return end
        self.is_certain = False
        return len(self.text)

    def _double(self) -> None:
        self._parts.append(Part("text", "", quoted=True))
        self.at += 1
        while self.at < len(self.text):
            self.budget.spend()
            if not self._quoted():
                self.at += 1
                return
        self.is_certain = False

    def _quoted(self) -> bool:
        """Take the next piece inside of double quotes; False at their end."""
        if plain := _PLAIN_QUOTED.match(self.text, self.at):
            self._take(plain.end() - self.at)
            return True
        match self.text[self.at]:
            case "\\" if self.text[self.at + 1 : self.at + 2] in set('$`"\\\n'):
                self._escape()
            case "\\":
                self._take(1)
            case "$":
                self._dollar(quoted=True)
            case "`":
                self._backticks(quoted=True)
            case _:
                return False
        return True

    def _dollar(self, *, quoted: bool) -> None:
        if name := _VARIABLE.match(self.text, self.at):
            self._parts.append(Part("variable", name[1] or name[2], quoted))
            self.at = name.end()
        elif parameter := _PARAMETER.match(self.text, self.at):
            self._unknown(parameter.end(), quoted=quoted)
        elif self.text.startswith("$((", self.at):
            self._arithmetic(quoted=quoted)
        elif self.text.startswith("$(", self.at):
            self._substitution(2, quoted=quoted)
        elif self.text.startswith("${", self.at):
            end = self._balanced(_BRACES, self.at + 1)
            self.is_certain = self.is_certain and bool(_HARMLESS.fullmatch(self.text, self.at + 2, end))
            self._unknown(end + 1, quoted=quoted)
        elif not quoted and (ansi := _ANSI_QUOTED.match(self.text, self.at)):
            self._parts.append(Part("text", _ANSI_ESCAPE.sub(_ansi, ansi[1]), quoted=True))
            self.at = ansi.end()
        elif not quoted and self.text.startswith('$"', self.at):
            self.at += 1
            self._double()
        else:
            self.is_certain = self.is_certain and not self.text.startswith(("$[", "$'"), self.at)
            self._take(1)

    def _unknown(self, end: int, *, quoted: bool) -> None:
        self._parts.append(Part("unknown", "", quoted) if quoted else _UNKNOWN)
        self.at = end

    def _balanced(self, brackets: re.Pattern[str], start: int) -> int:
        """Where the bracket at `start` is closed."""
        depth = 0
        for bracket in brackets.finditer(self.text, start):
            depth += 1 if bracket[0] in "({" else -1
            if depth == 0:
                return bracket.start()
        return self._found(-1)

    def _arithmetic(self, *, quoted: bool) -> None:
        end = self._balanced(_PARENTHESES, self.at + 1)
        if end < len(self.text) and self.text[end - 1] != ")":
            self._substitution(2, quoted=quoted)  # `$((a) | b)`
            return
        self.is_certain = self.is_certain and bool(_NUMBERS.fullmatch(self.text, self.at + 3, end - 1))
        self._unknown(end + 1, quoted=quoted)

    def _substitution(self, opening: int, *, quoted: bool) -> None:
        self.at += opening
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TooMuch
        self._scripts.append(self._nested(self, closed=True))
        self._depth -= 1
        self._unknown(self.at, quoted=quoted)

    def _backticks(self, *, quoted: bool) -> None:
        found = _BACKTICKS.match(self.text, self.at)
        if found is None:
            self.is_certain = False
            self._take(len(self.text) - self.at)
            return
        escaped = _ESCAPED_IN_QUOTED_BACKTICKS if quoted else _ESCAPED_IN_BACKTICKS
        inner = WordReader(escaped.sub(r"\1", found[1]), self.budget, self._nested, self._depth + 1)
        self._scripts.append(self._nested(inner, closed=False))
        self.is_certain = self.is_certain and inner.is_certain
        self._unknown(found.end(), quoted=quoted)


def _ansi(escape: re.Match[str]) -> str:
    text = escape[1]
    if text[0] in {"x", "u"} and len(text) > 1:
        return chr(int(text[1:], 16))
    if text[0] in "01234567":
        return chr(int(text, 8) & 0xFF)
    return _ANSI_LETTERS.get(text, text)
