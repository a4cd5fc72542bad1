"""What a reading shell knows: its variables, what it has found, a call and where it runs."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol

from tools.approval.commands.bash.reading import (
    INHERITED,
    MAX_INVOCATIONS,
    MAX_VALUES,
    UNKNOWN,
    Argument,
    Budget,
    Doubt,
    Input,
    Invocation,
    Reading,
    Redirection,
    TooMuch,
)
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

    from tools.approval.commands.bash.scanner import Skeleton


# Variables, functions and the directory at one place of a script.

# A text, or the values of an array.
Value = str | tuple[str, ...]
_MAX_PLACES = 4
_FROM_OUTSIDE = ("HOME", "USER", "LOGNAME")


@dataclass(frozen=True, slots=True)
class Function:
    """The body of a function, and the text it is part of."""

    skeleton: Skeleton
    body: Node

    @property
    def place(self) -> tuple[str, int]:
        """Which one it is, among others of its name: the text it is part of, and where it begins there."""
        return self.skeleton.text, self.body.start_byte


@dataclass(slots=True)
class Scope:
    """A variable may have one of several values, where branches or a loop set it. One that is missing is not known.

    Attributes:
        called: the functions that were called, by identity.
        removed: variables that surely have no value.
        positional: `$1` …; None where they are not known.
        others: directories it may be in besides `cwd`, where only one of several ways leads to a `cd`.
        before: the directory before the last `cd`.
        has_ended: the way here ended with `exit` or the like.
    """

    variables: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    called: set[int] = field(default_factory=set)
    exported: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    positional: tuple[str, ...] | None = None
    cwd: str | None = None
    others: tuple[str | None, ...] = ()
    before: str | None = None
    stack: tuple[str | None, ...] = ()
    has_ended: bool = False

    def copy(self) -> Scope:
        """A scope that changes on its own; which functions were called is known to both."""
        return Scope(
            dict(self.variables),
            dict(self.functions),
            self.called,
            self.exported,
            self.removed,
            self.positional,
            self.cwd,
            self.others,
            self.before,
            self.stack,
        )

    def take(self, other: Scope) -> None:
        """Become like `other`."""
        self.variables, self.functions = dict(other.variables), dict(other.functions)
        self.exported, self.removed, self.positional = other.exported, other.removed, other.positional
        self.cwd, self.others, self.before, self.stack = other.cwd, other.others, other.before, other.stack
        self.has_ended = other.has_ended

    @property
    def places(self) -> tuple[str | None, ...]:
        """The directories it may be in."""
        return self.cwd, *self.others

    def get(self, name: str) -> Value | None:
        """The value of a variable; None where it is not known."""
        values = self.variables.get(name)
        if values is None:
            return "" if name in self.removed else self._builtin(name)
        return values[0] if len(values) == 1 else UNKNOWN

    def texts(self, name: str) -> Iterator[str]:
        """All that is known of what a variable may be, and the items of an array."""
        for value in self.variables.get(name, ()):
            yield from (value,) if isinstance(value, str) else value

    def set(self, name: str, value: Value) -> None:
        """Give a variable its only value."""
        self.removed -= {name}
        self.variables[name] = (value,)

    def remove(self, name: str) -> None:
        """`unset`: from here on it has no value."""
        self.variables.pop(name, None)
        self.removed |= {name}

    def restore(self, name: str, other: Scope) -> None:
        """Give a variable back what it is in `other`."""
        self.variables.pop(name, None)
        if name in other.variables:
            self.variables[name] = other.variables[name]
        self.removed = (self.removed - {name}) | (other.removed & {name})

    def is_set(self, name: str) -> bool:
        """Whether this script gave it a value."""
        return name in self.variables

    def exports(self) -> dict[str, tuple[Value, ...]]:
        """The variables that programs see."""
        return {name: values for name, values in self.variables.items() if name in self.exported}

    def move(self, target: str | None) -> None:
        """Change the directory to `target`; None is one that is not known."""
        self.before = self.cwd
        self.others = ()
        if target is None or UNKNOWN in target:
            self.cwd = None
        elif target.startswith("/"):
            self.cwd = posixpath.normpath(target)
        elif self.cwd is not None:
            self.cwd = posixpath.normpath(posixpath.join(self.cwd, target))

    def _builtin(self, name: str) -> Value | None:
        if name == "PWD":
            return self.cwd
        if name == "OLDPWD":
            return self.before
        if name == "IFS":
            return " \t\n"
        if name in {"SHELL", "BASH"}:
            return "/bin/bash"
        if name == "TMPDIR":
            return os.environ.get(name) or "/tmp"  # noqa: S108 - what programs do without it
        return os.environ.get(name) if name in _FROM_OUTSIDE else None


def merged(scopes: Iterable[Scope]) -> Scope:
    """What is known after one of several ways, of which those that ended do not count."""
    ways = list(scopes)
    ways = [scope for scope in ways if not scope.has_ended] or ways[:1]
    result = ways[0].copy()
    result.has_ended = all(scope.has_ended for scope in ways)
    result.cwd, *others = tuple(dict.fromkeys(place for scope in ways for place in scope.places))[:_MAX_PLACES]
    result.others = tuple(others)
    for scope in ways[1:]:
        result.functions |= scope.functions
        result.exported &= scope.exported
        result.removed &= scope.removed
        for name in list({**result.variables, **scope.variables}):
            result.variables[name] = _united(result, scope, name)
        if result.before != scope.before:
            result.before = None
        if result.positional != scope.positional:
            result.positional = None
    return result


def _united(one: Scope, other: Scope, name: str) -> tuple[Value, ...]:
    values = tuple(dict.fromkeys([*_values(one, name), *_values(other, name)]))
    return values if len(values) <= MAX_VALUES else (UNKNOWN,)


def _values(scope: Scope, name: str) -> Iterator[Value]:
    if name in scope.variables:
        yield from scope.variables[name]
        return
    value = scope.get(name)
    yield UNKNOWN if value is None else value


# Where everything is gathered that one reading finds.

_MAX_TEXTS = 60


class Sink:
    """One reading: what may run, what is doubtful, and what is left of its budget."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.last: Invocation | None = None
        self.defined: list[tuple[str, Function, Scope]] = []
        self.later: list[Callable[[], object]] = []
        self._texts: dict[str, None] = {}
        self._invocations: dict[Invocation, None] = {}
        self._doubts: dict[str, None] = {}
        self._paths: dict[str, tuple[str | None, Invocation | None]] = {}

    def add(self, invocation: Invocation) -> None:
        """Note a program that may run. Raises `TooMuch` where there are too many."""
        self.budget.spend(10)
        if len(self._invocations) >= MAX_INVOCATIONS and invocation not in self._invocations:
            raise TooMuch
        self._invocations[invocation] = None
        self.last = invocation

    def note_text(self, text: str) -> None:
        """Note a script inside the command. Of very many the last ones are left out."""
        if len(self._texts) < _MAX_TEXTS:
            self._texts[text] = None

    def doubt(self, why: str) -> None:
        """Note something that cannot be read."""
        self._doubts[why] = None

    def connect(self, printed: str | None, program: Invocation | None) -> str:
        """The path that stands for a process substitution."""
        path = f"/dev/fd/{63 - len(self._paths)}"
        self._paths[path] = printed, program
        return path

    def connected(self, path: str) -> tuple[str | None, Invocation | None] | None:
        """What is behind a path of `connect`."""
        return self._paths.get(path)

    def reading(self) -> Reading:
        """All that was found."""
        return Reading(tuple(self._invocations), tuple(Doubt(why) for why in self._doubts), tuple(self._texts))


# What the readers of single programs work with: a call, and the shell that they are read in.


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
