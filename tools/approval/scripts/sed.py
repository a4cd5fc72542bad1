"""Scripts of sed: what they run, write and read besides their input."""

from __future__ import annotations

import re

from tools.approval.scripts.effects import HIDDEN, TOO_MUCH, Effects
from tools.approval.scripts.verdict import ScriptVerdict
from tools.bash.reading import UNKNOWN

_MAX_CHARS = 16_000
_BLANK = re.compile(r"[\s;{}]*(?:#[^\n]*)?")
_LINE_END = re.compile(r"[^\n]*")
_NUMBERED = re.compile(rf"\s*(?:[\d{UNKNOWN}]+(?:~\d+)?|\$|[+~]\d+)")
_AFTER_ADDRESS = re.compile(r"\s*,?\s*")
# Also where a blank ends it: `:a e x` runs x with GNU's.
_LABEL = re.compile(r"[ \t]*[^\s;}]*")
# Text to add: up to the first line that no backslash continues.
_ADDED = re.compile(r"(?:[^\\\n]|\\[\s\S])*\\?")
_BRACKETS = re.compile(r"\[\^?+\]?+(?:\[:\w{1,9}:\]|[^\]\n]){0,200}+\]")
_FLAGS = re.compile(r"[gpiImM\d]*")
_STREAMS = frozenset({"/dev/stdout", "/dev/stderr"})
_PLAIN_COMMANDS = frozenset("=dDgGhHlLnNpPqQxzF")


def judge_sed(source: str, effects: Effects) -> ScriptVerdict:
    """How far a script of sed reaches. Safe: it prints what it makes of its input, and names no file."""
    if len(source) > _MAX_CHARS:
        effects.doubt()
        effects.add(TOO_MUCH)
        return effects.verdict
    if UNKNOWN in source:
        effects.doubt()
    _Reader(source, effects).read()
    return effects.verdict


class _Reader:
    """Goes through a script once, command by command."""

    def __init__(self, source: str, effects: Effects) -> None:
        self._source = source
        self._effects = effects
        self._place = 0

    def read(self) -> None:
        while True:
            self._skip(_BLANK)
            while self._place < len(self._source) and self._source[self._place] == "#":
                self._skip(_LINE_END)
            start = self._place
            if start >= len(self._source):
                return
            if self._source[start] in " \t\n;{}":
                continue
            if not self._address():
                self._give_up()
                return
            if self._place < len(self._source) and self._source[self._place] in "{}":
                continue
            if not self._command() or self._place == start:
                self._give_up()
                return

    def _give_up(self) -> None:
        """Nobody knows what the rest does."""
        self._effects.doubt()
        rest = self._source[self._place :]
        # `e`, `w` and the flags of `s` that run and write need one of these letters.
        if self._source.rstrip().endswith(UNKNOWN) or UNKNOWN in rest or re.search(r"[ewW]", rest):
            self._effects.add(HIDDEN)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._source, self._place)
        if found is None:
            return ""
        self._place = found.end()
        return found[0]

    def _address(self) -> bool:
        """Pass over `1,/x/I!`."""
        for _ in range(2):
            if not self._skip(_NUMBERED) and not self._pattern_address():
                break
            before = self._place
            separator = self._skip(_AFTER_ADDRESS)
            if "," not in separator:
                self._place = before
                break
        while self._place < len(self._source) and self._source[self._place] in " \t!":
            self._place += 1
        return True

    def _pattern_address(self) -> bool:
        found = re.compile(r"\s*(?:/|\\(.))").match(self._source, self._place)
        if found is None:
            return False
        start = self._place
        self._place = found.end()
        if self._until(found[1] or "/", is_pattern=True) is None:
            self._place = start
            return False
        self._skip(re.compile(r"[IM]*"))
        return True

    def _until(self, mark: str, *, is_pattern: bool = False) -> str | None:
        """What is before the next `mark` that is not escaped; the place is behind it then.

        Args:
            is_pattern: a mark in brackets (`[/]`) does not count.
        """
        taken: list[str] = []
        while self._place < len(self._source):
            if is_pattern and (brackets := self._skip(_BRACKETS)):
                if mark in brackets:
                    self._effects.doubt()  # whether the mark counts there, each sed decides differently
                taken.append(brackets)
                continue
            char = self._source[self._place]
            if char == "\\":
                taken.append(self._source[self._place : self._place + 2])
                self._place += 2
                continue
            self._place += 1
            if char == mark:
                return "".join(taken)
            taken.append(char)
        return None

    def _command(self) -> bool:
        if self._place >= len(self._source):
            return not self._source.rstrip().endswith(UNKNOWN)
        letter = self._source[self._place]
        self._place += 1
        if letter in _PLAIN_COMMANDS:
            self._skip(re.compile(r"[ \t]*\d*"))
            return self._ends()
        if letter in "btT:":
            self._skip(_LABEL)
            return True
        if letter in "aic":
            self._skip(_ADDED)
            return True
        if letter in "rRwW":
            self._file(letter)
            return True
        if letter == "s":
            return self._substitution()
        if letter == "y":
            mark = self._source[self._place : self._place + 1]
            self._place += 1
            return bool(mark) and self._until(mark) is not None and self._until(mark) is not None and self._ends()
        if letter == "e":
            command = self._skip(_LINE_END).strip()
            self._run(command)
            return True
        if letter == "v":
            self._skip(_LABEL)
            return True
        self._place -= 1
        return False

    def _ends(self) -> bool:
        self._skip(re.compile(r"[ \t\r]*"))
        return self._place >= len(self._source) or self._source[self._place] in ";\n}#"

    def _substitution(self) -> bool:
        mark = self._source[self._place : self._place + 1]
        self._place += 1
        if not mark or mark in "\\\n" or self._until(mark, is_pattern=True) is None:
            return False
        if self._until(mark) is None:
            return False
        while True:
            self._skip(_FLAGS)
            letter = self._source[self._place : self._place + 1]
            if letter == "e":
                self._place += 1
                self._run("")
            elif letter == "w":
                self._place += 1
                self._file("w")
                return True
            else:
                return self._ends()

    def _run(self, command: str) -> None:
        # Without a command, what stands in the input is run.
        self._effects.runs(command or UNKNOWN)

    def _file(self, letter: str) -> None:
        name = self._skip(_LINE_END).strip()
        self._effects.doubt()
        if letter in "rR":
            self._effects.reads(name)
        elif name not in _STREAMS:
            self._effects.writes(name)
