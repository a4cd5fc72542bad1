"""The subjects, measured one after the other, with the yardstick between them."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from benchmarks import (
    cancel,
    commands,
    compression,
    cost,
    delegation,
    faults,
    idle,
    long_session,
    long_turn,
    many_sessions,
    mcp_calls,
    memory,
    paced,
    sessions,
    sizes,
    startup,
    streaming,
    tool_calls,
    tool_turns,
    yardstick,
)
from benchmarks.client import AgentFailed
from benchmarks.figures import Section
from benchmarks.model import Model
from benchmarks.stage import FULL, QUICK, Stage

SUBJECTS = (
    startup, memory, idle, streaming, paced, tool_turns, long_turn, long_session, cancel, faults, many_sessions,
    sessions, tool_calls, commands, compression, mcp_calls, cost, delegation, sizes,
)  # fmt: skip


class UnknownSubject(AgentFailed):
    """Something was asked for that is not measured here."""


class Measuring:
    """Measures subjects on one stage, and remembers which gave which section."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._subjects: dict[str, ModuleType] = {}
        self.yardstick: list[float] = []

    def all_of(self, names: Collection[str]) -> list[Section]:
        """Measure the subjects of these names; without names, all.

        Raises:
            UnknownSubject: there is none of such a name.
        """
        known = {name_of(subject) for subject in SUBJECTS}
        if unknown := set(names) - known:
            raise UnknownSubject(f"{sorted(unknown)} are no subjects; there are {', '.join(sorted(known))}")
        return [self._measure(subject) for subject in SUBJECTS if not names or name_of(subject) in names]

    def again(self, sections: Collection[str]) -> list[Section]:
        """Measure once more what gave these sections."""
        return [self._measure(self._subjects[title]) for title in sections]

    def _measure(self, subject: ModuleType) -> Section:
        print(f"{name_of(subject)} …", file=sys.stderr, end=" ", flush=True)
        self.yardstick += yardstick.milliseconds()
        found: Section = subject.measure(self._stage)
        self._subjects[found.title] = subject
        return found


@contextmanager
def measuring(*, quick: bool) -> Iterator[Measuring]:
    """A stage for as long as something is measured."""
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as directory, Model() as model:
        yield Measuring(Stage(Path(directory).resolve(), model, QUICK if quick else FULL))
        print(file=sys.stderr)


def name_of(subject: ModuleType) -> str:
    """How a subject is called on the command line."""
    return subject.__name__.rpartition(".")[2]
