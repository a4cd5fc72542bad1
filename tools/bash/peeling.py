"""Takes a wrapper off: its own arguments apart from the command that it runs."""

from __future__ import annotations

import re

from tools.bash.reading import UNKNOWN, Argument
from tools.bash.wrappers import WRAPPERS, Wrapper
from tools.light_dataclass import dataclass

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=([\s\S]*)", re.ASCII)
_MAX_SUBCOMMAND_PLACE = 4
_MAX_WRAPPERS = 16

Words = tuple[str | None, ...]
"""Words of a command; None stands for what only the shell can know."""


@dataclass(frozen=True, slots=True)
class Peeled:
    """What a wrapper was given.

    Attributes:
        own: its own arguments.
        rest: the words of the command.
        texts: commands that options hold as a text.
        assignments: variables set for the command.
        values: options and their values.
        is_unsure: an option or an unknown word may have taken a word of the command.
    """

    own: tuple[Argument, ...]
    rest: tuple[Argument, ...]
    texts: tuple[Argument, ...] = ()
    assignments: tuple[tuple[str, Argument], ...] = ()
    values: tuple[tuple[str, Argument], ...] = ()
    is_unsure: bool = False


def peeled(arguments: tuple[Argument, ...], wrapper: Wrapper) -> Peeled | None:
    """The parts of a wrapper's arguments; None where it wraps nothing here (`uv sync`)."""
    start = 0
    if wrapper.subcommand:
        found = _subcommand(arguments, wrapper)
        if found is None:
            return None
        start = found
    if wrapper.may_lead and arguments and not arguments[0].text.startswith("-"):
        start = 1
    if wrapper.needs_dashes:
        return _after_dashes(arguments, start, wrapper)
    parsing = _Parsing(arguments, wrapper, start)
    parsing.run()
    place = parsing.place
    assignments = []
    while wrapper.assigns and place < len(arguments):
        assigned = _ASSIGNMENT.fullmatch(arguments[place].text)
        if assigned is None:
            break
        assignments.append((assigned[1], Argument(assigned[2])))
        place += 1
    place = min(place + wrapper.operands, len(arguments))
    if wrapper.operands and place < len(arguments) and arguments[place].text == "--":
        place += 1
    texts = tuple(value for name, value in parsing.values if name in wrapper.texts)
    if wrapper.operands and len(arguments) > place + 1 and arguments[place].text in wrapper.texts:
        texts, place = (*texts, arguments[place + 1]), place + 2  # `flock FILE -c TEXT`
    return Peeled(
        arguments[:place],
        arguments[place:],
        texts,
        tuple(assignments),
        tuple(parsing.values),
        parsing.is_unsure,
    )


def unwrapped(words: Words) -> Words:
    """The command that runs in the end: `sudo env A=1 rm x` is `rm x`."""
    for _ in range(_MAX_WRAPPERS):
        name = (words[0] or "").rpartition("/")[2] if words else ""
        wrapper = WRAPPERS.get(name)
        inner = () if wrapper is None else wrapped_by(wrapper, words[1:])
        if not inner:
            break
        words = inner
    return words


def wrapped_by(wrapper: Wrapper, words: Words) -> Words:
    """The command that a wrapper with these arguments runs; empty where it is none."""
    arguments = tuple(Argument(UNKNOWN, splits=True) if word is None else Argument(word) for word in words)
    parts = peeled(arguments, wrapper)
    return words[len(words) - len(parts.rest) :] if parts is not None and parts.rest else ()


def _subcommand(arguments: tuple[Argument, ...], wrapper: Wrapper) -> int | None:
    for place, argument in enumerate(arguments[:_MAX_SUBCOMMAND_PLACE]):
        if argument.text in wrapper.subcommand:
            return place + 1
        is_value = place and arguments[place - 1].text.startswith("-")
        if not argument.text.startswith("-") and not is_value:
            return None
    return None


def _after_dashes(arguments: tuple[Argument, ...], start: int, wrapper: Wrapper) -> Peeled:
    parsing = _Parsing(arguments, wrapper, start)
    while parsing.place < len(arguments) and arguments[parsing.place].text not in wrapper.dashes:
        before = parsing.place
        parsing.run()
        parsing.place += parsing.place == before
    place = next((place for place, word in enumerate(arguments) if word.text in wrapper.dashes), len(arguments))
    texts = tuple(value for name, value in parsing.values if name in wrapper.texts)
    return Peeled(arguments[:place], arguments[place + 1 :], texts, (), tuple(parsing.values))


class _Parsing:
    def __init__(self, arguments: tuple[Argument, ...], wrapper: Wrapper, start: int) -> None:
        self.place = start
        self.values: list[tuple[str, Argument]] = []
        self.is_unsure = False
        self._arguments = arguments
        self._wrapper = wrapper

    def run(self) -> None:
        while self.place < len(self._arguments):
            argument = self._arguments[self.place]
            if argument.splits and argument.text == UNKNOWN:
                self.is_unsure = True
                return
            text = argument.text
            if not text.startswith("-") or text == "-":
                return
            if text in self._wrapper.dashes and self._wrapper.needs_dashes:
                return
            self.place += 1
            if text == "--":
                return
            if text.startswith("--") or text in self._wrapper.words | self._wrapper.texts:
                self._long(argument)
            else:
                self._short(argument)

    def _long(self, argument: Argument) -> None:
        name, equals, value = argument.text.partition("=")
        if equals:
            self.values.append((name, Argument(value)))
        elif name in self._wrapper.words or name in self._wrapper.texts:
            self._take(name)
        else:
            self.values.append((name, Argument("")))
            self.is_unsure = self.is_unsure or not self._wrapper.subcommand

    def _short(self, argument: Argument) -> None:
        letters = argument.text[1:]
        for place, letter in enumerate(letters):
            name = "-" + letter
            if letter not in self._wrapper.letters and name not in self._wrapper.texts:
                self.values.append((name, Argument("")))
                continue
            if place + 1 < len(letters):
                self.values.append((name, Argument(letters[place + 1 :])))
            else:
                self._take(name)
            return

    def _take(self, name: str) -> None:
        if self.place < len(self._arguments):
            self.values.append((name, self._arguments[self.place]))
            self.place += 1
