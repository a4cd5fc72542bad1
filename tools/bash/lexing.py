"""Where the parts of a word end: quotes, escapes and expansions (bash manual, 3.1.2 and 3.5)."""

from __future__ import annotations

import re

from tools.bash.budget import Budget, check_depth

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_IN_DOUBLE = re.compile(r'[^"\\$`]+')
_PLAIN_IN_BRACES = re.compile(r"""[^}'"\\$`]+""")
_PLAIN_IN_SUM = re.compile(r"""[^()'"\\$`]+""")
_SPECIAL = frozenset("@*#?-$!0123456789")


class Lexer:
    """Finds ends in `raw`. What is never closed reaches to the end of the text, and makes the text broken."""

    def __init__(self, raw: str, budget: Budget, depth: int = 0) -> None:
        check_depth(depth)
        self.raw = raw
        self.budget = budget
        self.depth = depth
        self.is_broken = False

    def part_end(self, at: int, *, in_double: bool = False) -> int:
        """The end of the quote, escape or expansion that begins at `at`; one character where none does."""
        self.budget.spend()
        first = self.raw[at]
        if first == "\\":
            return min(at + 2, len(self.raw))
        if first == "'" and not in_double:
            return self._after("'", at + 1)
        if first == '"' and not in_double:
            return self.double_end(at)
        if first == "`":
            return self.backtick_end(at)
        if first == "$":
            return self._dollar_end(at, in_double=in_double)
        return at + 1

    def double_end(self, at: int) -> int:
        """The end of the double quotes that open at `at`."""
        return self._until('"', at + 1, _PLAIN_IN_DOUBLE, in_double=True)

    def backtick_end(self, at: int) -> int:
        """The end of the backticks that open at `at`."""
        found = re.compile(r"(?:[^`\\]|\\[\s\S])*+`").match(self.raw, at + 1)
        return found.end() if found else self._broken()

    def braces_end(self, at: int, *, in_double: bool) -> int:
        """The end of the `${` at `at`."""
        return self._until("}", at + 2, _PLAIN_IN_BRACES, in_double=in_double)

    def sum_end(self, at: int) -> int | None:
        """The end of `((…))` at `at`; None where it is no arithmetic but two parentheses of commands."""
        place, opened, was_broken = at + 2, 0, self.is_broken
        while place < len(self.raw):
            self.budget.spend()
            if plain := _PLAIN_IN_SUM.match(self.raw, place):
                place = plain.end()
                continue
            char = self.raw[place]
            if char == ")" and not opened:
                self.is_broken = was_broken
                return place + 2 if self.raw.startswith("))", place) else None
            opened += {"(": 1, ")": -1}.get(char, 0)
            place = self.part_end(place)
        self.is_broken = was_broken
        return None

    def script_end(self, at: int) -> int:
        """The end of a command substitution whose commands begin at `at`, behind its closing parenthesis."""
        raise NotImplementedError

    def _dollar_end(self, at: int, *, in_double: bool) -> int:
        raw = self.raw
        follows = raw[at + 1 : at + 2]
        if follows == "(":
            if raw.startswith("((", at + 1) and (end := self.sum_end(at + 1)) is not None:
                return end
            return self.script_end(at + 2)
        if follows == "{":
            return self.braces_end(at, in_double=in_double)
        if follows == "[":  # the old way to write arithmetic
            return self._until("]", at + 2, re.compile(r"[^\]'\"\\$`]+"), in_double=True)
        if follows == "'" and not in_double:
            found = re.compile(r"(?:[^'\\]|\\[\s\S])*+'").match(raw, at + 2)
            return found.end() if found else self._broken()
        if follows == '"' and not in_double:
            return self.double_end(at + 1)
        if name := NAME.match(raw, at + 1):
            return name.end()
        return at + 2 if follows in _SPECIAL and follows else at + 1

    def _until(self, closing: str, at: int, plain: re.Pattern[str], *, in_double: bool) -> int:
        place = at
        while place < len(self.raw):
            if self.raw[place] == closing:
                return place + 1
            run = plain.match(self.raw, place)
            if run:
                place = run.end()
            elif self.raw[place] == '"' and in_double and closing != '"':
                place = self.double_end(place)
            else:
                place = self.part_end(place, in_double=in_double)
        return self._broken()

    def _after(self, closing: str, at: int) -> int:
        found = self.raw.find(closing, at)
        return found + 1 if found >= 0 else self._broken()

    def _broken(self) -> int:
        self.is_broken = True
        return len(self.raw)
