"""What the readers of single programs work with: a call, and the shell that they are read in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from tools.bash.reading import INHERITED, UNKNOWN, Argument, Input, Invocation, Redirection
from tools.bash.scope import Scope
from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """A command whose words are known as far as they can be; the first is the program.

    Attributes:
        is_direct: the shell itself runs it, so that it may be a builtin or a function.
        wrapped: as in `Invocation`.
    """

    words: tuple[Argument, ...]
    redirections: tuple[Redirection, ...] = ()
    input: Input = INHERITED
    assignments: tuple[tuple[str, Argument], ...] = ()
    via: tuple[str, ...] = ()
    elsewhere: bool = False
    cwd: str | None = None
    adds_unknown: bool = False
    background: bool = False
    is_direct: bool = True
    wrapped: tuple[tuple[str, tuple[Argument, ...]], ...] = ()

    @property
    def name(self) -> str:
        """The program's bare name; empty where it is hidden."""
        return program_name(self.words[0]) if self.words else ""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The words after the program."""
        return self.words[1:]

    def inner(
        self, words: tuple[Argument, ...], via: str, *, is_direct: bool = False, own: tuple[Argument, ...] = ()
    ) -> Call:
        """What runs behind this wrapper, of whose arguments `own` are not the command's."""
        wrapped = (*self.wrapped, (via, own))
        return replace(self, words=words, via=(*self.via, via), is_direct=is_direct, wrapped=wrapped)


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a script runs: what holds for each of its commands.

    Attributes:
        calls: where the functions are written that are being called.
        is_piped: it is part of a pipe.
    """

    via: tuple[str, ...] = ()
    elsewhere: bool = False
    input: Input = INHERITED
    background: bool = False
    calls: tuple[tuple[str, int], ...] = ()
    is_piped: bool = False
    depth: int = 0


class Machine(Protocol):
    """The shell that reads a call."""

    scope: Scope

    def invoke(self, call: Call) -> str | None:
        """Read a call. Returns what it prints, where that is known."""

    def emit(self, call: Call) -> None:
        """Note the call as it is, without looking behind it."""

    def run_text(
        self, text: str, call: Call, *, shares_scope: bool = False, positional: tuple[str, ...] | None = ()
    ) -> str | None:
        """Read `text` as a script that runs in place of `call`.

        Args:
            shares_scope: the shell itself runs it, as `eval` does. Another shell knows only what is exported.
            positional: `$1` … of another shell; None where they are not known.
        """

    def run_now_and_later(self, text: str, call: Call) -> None:
        """Read `text`, and again with what is known at the end: a trap runs when it wants."""

    def doubt(self, why: str) -> None:
        """Note something that cannot be read."""

    def connected(self, path: str) -> tuple[str | None, Invocation | None] | None:
        """What `<(…)` behind this path prints, and its last program; None for another path."""


Handler = Callable[[Machine, Call], str | None]


def program_name(word: Argument) -> str:
    """The bare name of a program; empty where it is not known."""
    name = word.text.rpartition("/")[2]
    # Of an unknown directory is not asked: a program there is as unknown as any script.
    is_hidden = word.expands or UNKNOWN in name or not name or (word.splits and "/" not in word.text)
    return "" if is_hidden else name


def texts_of(words: tuple[Argument, ...]) -> str:
    """Several words as one text, the way `eval` and `ssh` join them."""
    return " ".join(word.text for word in words)
