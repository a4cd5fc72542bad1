"""What the turns of a soak do: each a plan for the model behind it, made by chance. Pure but for their numbers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

Call = tuple[str, Mapping[str, Any]]

FILES = ("a.txt", "b.txt", "notes/c.md", "notes/ünï.txt")
_WORDS = "The gates of the depot close at dusk, and whoever waits before one waits long. "
_LINES = 120
_PROGRAM = """
from hermes_tools import *
for number in range(3):
    print(len(str(read_file({path!r}))), terminal("echo from the program"))
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """One turn, or the work of one sub-agent.

    Attributes:
        steps: the calls of each answer of the model.
        last: its last words.
        hangs: instead of these it says nothing any more, until it is cancelled.
        below: the plans of its sub-agents.
    """

    number: int
    steps: tuple[tuple[Call, ...], ...] = ()
    last: str = "Done."
    hangs: bool = False
    below: tuple[Plan, ...] = ()

    @property
    def prompt(self) -> str:
        """The words that ask for it."""
        return f"TASK-{self.number}\nDo it."

    def all(self) -> Iterator[Plan]:
        """This and all below it."""
        yield self
        for plan in self.below:
            yield from plan.all()


@dataclass(slots=True)
class Planner:
    """Makes plans."""

    chance: random.Random
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def text(self) -> Plan:
        """Only words."""
        return Plan(next(self._numbers), last=_WORDS * self.chance.randrange(1, 30))

    def probe(self) -> Plan:
        """Always the same, to be timed."""
        return Plan(next(self._numbers), ((_read("a.txt"),),), last=_WORDS)

    def files(self) -> Plan:
        """Reads, writes, patches and searches. What a model has not read, it may not replace."""
        path, other = self.chance.sample(FILES, 2)
        number = next(self._numbers)
        text = "".join(f"{number} has line {line} of {path}\n" for line in range(_LINES))
        return Plan(
            number,
            (
                (_read(path), _read(other)),
                (("write_file", {"path": path, "content": text}),),
                (("patch", _replaced(path, f"{number} has line 7 of", f"{number} has seen line 7 of")),),
                (("search_files", {"pattern": f"line {self.chance.randrange(_LINES)} "}), _read(path)),
            ),
        )

    def command(self) -> Plan:
        """Commands that end at once, one of them with much output and one that fails."""
        run = self.chance.choice(("seq 1 4000", "ls -la; exit 3", "cat a.txt b.txt | wc -l", "echo ünï"))
        return Plan(next(self._numbers), ((("terminal", {"command": run}),), (("terminal", {"command": "true"}),)))

    def asked(self) -> Plan:
        """A command that the person is asked about."""
        return Plan(next(self._numbers), ((("terminal", {"command": f"rm -rf {self.chance.choice(FILES)}"}),),))

    def background(self) -> Plan:
        """A command in the background that ends by itself, and sometimes one that does not."""
        rest = self.chance.choice(("sleep 0.2; echo over", "sleep 0.5; exit 2", "sleep 900"))
        more = {"background": True, "notify_on_complete": True}
        return Plan(next(self._numbers), ((("terminal", {"command": rest, **more}),),))

    def children(self) -> Plan:
        """Two sub-agents at once, or one in the background."""
        if self.chance.random() < 0.3:
            below: tuple[Plan, ...] = (self.command(),)
            arguments: dict[str, Any] = {"goal": below[0].prompt, "background": True}
        else:
            below = (self.files(), self.command())
            arguments = {"tasks": [{"goal": plan.prompt} for plan in below]}
        return Plan(next(self._numbers), ((("delegate_task", arguments),),), below=below)

    def program(self) -> Plan:
        """A program that calls tools."""
        code = _PROGRAM.format(path=self.chance.choice(FILES))
        return Plan(next(self._numbers), ((("execute_code", {"code": code}),),))

    def server(self) -> Plan:
        """Calls of an MCP server."""
        call = ("mcp__steady__echo", {"text": _WORDS})
        return Plan(next(self._numbers), ((call, call), (call,)))

    def endless(self) -> Plan:
        """A turn that has to be cancelled: in an answer, or in a command."""
        if self.chance.random() < 0.5:
            return Plan(next(self._numbers), ((_read("a.txt"),),), hangs=True)
        return Plan(next(self._numbers), ((("terminal", {"command": "sleep 300", "timeout": 280}),),))

    def usual(self) -> Plan:
        """One that needs nobody, by chance."""
        kinds: tuple[Callable[[], Plan], ...]
        kinds = (self.text, self.files, self.command, self.background, self.children, self.program)
        return self.chance.choices(kinds, weights=(8, 8, 6, 3, 2, 3))[0]()


def _read(path: str) -> Call:
    return "read_file", {"path": path}


def _replaced(path: str, old: str, new: str) -> Mapping[str, Any]:
    return {"mode": "replace", "path": path, "old_string": old, "new_string": new}
