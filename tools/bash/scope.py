"""What a shell knows at one place of its script: variables, functions, the directory."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from tools.bash.budget import MAX_VALUES
from tools.bash.reading import UNKNOWN
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

    from tools.bash.scanning import Skeleton

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
