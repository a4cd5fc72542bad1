"""Sorts what follows a program's name into options and operands, as the usual programs do."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from tools.bash.reading import UNKNOWN, Argument
from tools.light_dataclass import dataclass

_ABBREVIATED = 5  # `--rec` may stand for `--recursive`; shorter ones are more often something else


@dataclass(frozen=True, slots=True)
class Words:
    """The arguments of a program, sorted.

    Attributes:
        operands: what is no option, nor an option's value.
        options: by name with its dashes, in order; the value is an empty text where there is none.
    """

    operands: tuple[Argument, ...]
    options: tuple[tuple[str, Argument], ...]

    def has(self, *names: str) -> bool:
        """Whether one of the options is there; long ones may be written shorter."""
        return any(_is_named(given, names) for given, _ in self.options)

    def values(self, *names: str) -> tuple[Argument, ...]:
        """What these options are given, in order."""
        return tuple(value for given, value in self.options if value.text and _is_named(given, names))

    @property
    def plain(self) -> tuple[str, ...]:
        """The operands' texts."""
        return tuple(operand.text for operand in self.operands)


def sort_words(
    arguments: Iterable[Argument],
    with_value: str = "",
    long_with_value: Collection[str] = (),
    optional: str = "",
    numbers: str = "",
    *,
    is_led: bool = False,
) -> Words:
    """Sort `arguments`.

    Args:
        with_value: the letters whose value follows, in the same argument or the next.
        long_with_value: the options of more than one letter whose value may be the next argument, with their dashes.
        optional: the letters whose value may only follow in the same argument.
        numbers: those of which that is a number: other letters may follow it.
        is_led: what follows the first operand belongs to that, as with interpreters.
    """
    operands: list[Argument] = []
    options: list[tuple[str, Argument]] = []
    rest = iter(arguments)
    for argument in rest:
        text = argument.text
        if text in {"", "-"} or text[0] != "-":
            operands.append(argument)
            operands.extend(rest if is_led else ())
        elif text == "--":
            operands.extend(rest)
        elif text.startswith("--") or text in long_with_value:
            name, equals, value = text.partition("=")
            takes_next = not equals and name in long_with_value
            options.append((name, next(rest, Argument("")) if takes_next else Argument(value)))
        else:
            options.extend(_letters(text[1:], with_value, optional, numbers, rest))
    return Words(tuple(operands), tuple(options))


def texts(arguments: Iterable[Argument]) -> tuple[str, ...]:
    """The arguments as text, `UNKNOWN` in them where nobody knows."""
    return tuple(argument.text for argument in arguments)


def shown(text: str) -> str:
    """A text for a person: unknown parts as `…`, long ones cut in the middle, as a path's name is at its end."""
    plain = text.replace(UNKNOWN, "…")
    return plain if len(plain) <= 60 else f"{plain[:20]}…{plain[-37:]}"  # noqa: PLR2004 - fits a line of a card


def _letters(
    cluster: str, with_value: str, optional: str, numbers: str, rest: Iterable[Argument]
) -> list[tuple[str, Argument]]:
    if numbers:
        cluster = re.sub(rf"([{numbers}])(?:[0-7]+|x[0-9a-fA-F]+)", r"\1", cluster)
    found: list[tuple[str, Argument]] = []
    for place, letter in enumerate(cluster):
        value = cluster[place + 1 :]
        if letter in optional:
            return [*found, (f"-{letter}", Argument(value))]
        if letter in with_value:
            taken = Argument(value.removeprefix("=")) if value else next(iter(rest), Argument(""))
            return [*found, (f"-{letter}", taken)]
        found.append((f"-{letter}", Argument("")))
    return found


def _is_named(given: str, names: Collection[str]) -> bool:
    if given in names:
        return True
    return len(given) >= _ABBREVIATED and any(name.startswith(given) for name in names if name.startswith("--"))
