"""Tells the options of a command line from its operands, as the usual programs do."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tools.light_dataclass import dataclass

Arguments = tuple[str | None, ...]
"""Words of a command; None stands for what only the shell can know."""


def bare_name(program: str | None) -> str:
    """The program's name without its directory."""
    return program.rpartition("/")[2] if program else ""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The arguments of a program, sorted. None stands for what cannot be known.

    Attributes:
        operands: what is not an option, nor an option's value.
        options: by their name with its dashes; the value, or an empty text for those without.
    """

    operands: tuple[str | None, ...]
    options: dict[str, str | None]

    def has(self, *names: str) -> bool:
        """True when one of the options is there."""
        return any(name in self.options for name in names)

    def value(self, *names: str) -> str | None:
        """The value of the first of these options that is there."""
        return next((self.options[name] for name in names if name in self.options), None)


def sorted_arguments(
    arguments: Sequence[str | None], with_value: str = "", long_with_value: Collection[str] = (), optional: str = ""
) -> CommandLine:
    """Sort `arguments`.

    Args:
        with_value: the letters whose value follows, in the same argument or the next.
        long_with_value: the long options whose value may be the next argument, with their dashes.
        optional: the letters whose value may only follow in the same argument.
    """
    operands: list[str | None] = []
    options: dict[str, str | None] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument is None or argument == "-" or not argument.startswith("-"):
            operands.append(argument)
        elif argument == "--":
            operands.extend(rest)
        elif argument.startswith("--"):
            name, equals, value = argument.partition("=")
            options[name] = value if equals or name not in long_with_value else next(rest, None)
        else:
            letter, value_now, needs_next = _letters(argument[1:], with_value, optional, options)
            if letter:
                options[f"-{letter}"] = next(rest, None) if needs_next else value_now
    return CommandLine(tuple(operands), options)


def _letters(cluster: str, with_value: str, optional: str, options: dict[str, str | None]) -> tuple[str, str, bool]:
    """Note the options of `-abc`; the one that takes a value, its value here, and whether that comes next."""
    for place, letter in enumerate(cluster):
        value = cluster[place + 1 :]
        if letter in optional:
            return letter, value, False
        if letter in with_value:
            return letter, value, not value
        options[f"-{letter}"] = ""
    return "", "", False
