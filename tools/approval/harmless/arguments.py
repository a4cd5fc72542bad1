"""What is sure about the arguments of an invocation, and small rules made of that."""

from __future__ import annotations

from collections.abc import Callable

from tools.bash.reading import UNKNOWN, Argument, Invocation
from tools.light_dataclass import dataclass

Texts = tuple[str | None, ...]
"""Arguments; None where one may be any word, or several. A text may hold `UNKNOWN`: then it is an operand."""


@dataclass(frozen=True, slots=True)
class Call:
    """A program with what is sure about its arguments."""

    texts: Texts
    invocation: Invocation

    @property
    def are_known(self) -> bool:
        """Whether it is sure which options there are."""
        return None not in self.texts and not self.invocation.adds_unknown


Check = Callable[[Call], bool]


def call_of(invocation: Invocation) -> Call:
    """The invocation, looked at."""
    return Call(tuple(_sure(argument) for argument in invocation.arguments), invocation)


def _sure(argument: Argument) -> str | None:
    """The argument as far as it tells whether it is an option.

    One that begins with known text is no other option than it shows, whatever comes after.
    """
    text = argument.text
    if argument.is_known:
        return text
    if argument.splits or not text or text[0] in f"-*?[{{{UNKNOWN}" or (argument.expands and "{" in text):
        return None
    return text


def always(_call: Call) -> bool:
    """No argument can do harm."""
    return True


def bare(call: Call) -> bool:
    """There is no argument."""
    return not call.texts and not call.invocation.adds_unknown


@dataclass(frozen=True, slots=True)
class Without:
    """A check: everything is known, and none of these options is among it, abbreviated or not."""

    short: str = ""
    long: tuple[str, ...] = ()
    max_operands: int | None = None

    def __call__(self, call: Call) -> bool:
        """Whether it holds."""
        if not call.are_known:
            return False
        operands = 0
        for text, argument in zip(call.texts, call.invocation.arguments, strict=True):
            if text is None or _has_option(text, self.short, self.long):
                return False
            # Behind `--` all are; of those before it none has to count that begins with a dash.
            if not text.startswith("-") or text == "-" or "--" in call.texts:
                operands += 1 if argument.is_known else 2  # a glob may become any number of them
        return self.max_operands is None or operands <= self.max_operands


@dataclass(frozen=True, slots=True)
class Only:
    """A check: the arguments are exactly one of these."""

    forms: tuple[tuple[str, ...], ...]

    def __call__(self, call: Call) -> bool:
        """Whether it holds."""
        return not call.invocation.adds_unknown and call.texts in self.forms


@dataclass(frozen=True, slots=True)
class Starting:
    """A check: the arguments begin with one of these, and no option follows."""

    forms: tuple[tuple[str, ...], ...]

    def __call__(self, call: Call) -> bool:
        """Whether it holds."""
        if not call.are_known:
            return False
        return any(call.texts[: len(form)] == form and _are_operands(call.texts[len(form) :]) for form in self.forms)


def _are_operands(texts: Texts) -> bool:
    return all(text is not None and not text.startswith("-") for text in texts)


def _has_option(text: str, short: str, long: tuple[str, ...]) -> bool:
    if text.startswith("--"):
        name = text.partition("=")[0]
        return name != "--" and any(option.startswith(name) for option in long)
    return text.startswith("-") and any(letter in short for letter in text[1:])
