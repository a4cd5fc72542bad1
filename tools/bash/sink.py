"""Where everything is gathered that one reading finds."""

from __future__ import annotations

from collections.abc import Callable

from tools.bash.budget import MAX_INVOCATIONS, Budget, TooMuch
from tools.bash.reading import Doubt, Invocation, Reading
from tools.bash.scope import Function, Scope

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
