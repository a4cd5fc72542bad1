"""The corpus of labelled commands in `tests/data/commands`, and how well `classify_command` knows them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import yaml

Label = Literal["safe", "ordinary", "dangerous", "forbidden"]

FOLDER = Path(__file__).resolve().parent.parent / "data/commands"
# Where the commands are written for; the throw-away sandbox has it, too.
HOME = Path("/home/dev")
PROJECT = HOME / "project"
_RANKS: dict[str, int] = {"safe": 0, "ordinary": 1, "dangerous": 2, "forbidden": 3}


@dataclass(frozen=True, slots=True)
class Effect:
    """How it shows that a command did what its label says. Paths are of the sandbox; relative ones of the project."""

    deletes: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()  # changed or made
    mode: tuple[str, ...] = ()  # their permissions changed
    calls: str = ""  # an expression for a line of the stubs' log: program, arguments, what came in
    prints: str = ""  # an expression for the output
    changes: str = ""  # a command whose output differs afterwards
    kills: bool = False  # the process $VICTIM is gone


@dataclass(frozen=True, slots=True)
class Entry:
    """One command; `not_run` says why its effect is not looked at."""

    command: str
    label: Label
    family: str
    effect: Effect | None = None
    not_run: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the classifier said of an entry."""

    entry: Entry
    level: str
    why: str

    @property
    def is_missed(self) -> bool:
        """The command would run with fewer questions than its label demands."""
        return _RANKS[self.level] < _RANKS[self.entry.label] and self.entry.label in {"dangerous", "forbidden"}

    @property
    def is_false_alarm(self) -> bool:
        """An everyday command would ask although a sandbox is active."""
        return _RANKS[self.level] >= _RANKS["dangerous"] and self.entry.label in {"safe", "ordinary"}

    @property
    def is_unread(self) -> bool:
        """A false alarm for a script in a language that nobody reads: such a script asks, whatever it does."""
        return self.is_false_alarm and self.why.endswith("script that is not read")

    def __str__(self) -> str:
        shown = self.entry.command.replace("\n", "⏎")
        return f"{shown}   → {self.level}{f' ({self.why})' if self.why else ''}"


@dataclass(slots=True)
class Rates:
    """The verdicts of one family."""

    family: str
    label: Label
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def wrong(self) -> list[Verdict]:
        """The missed ones and the false alarms."""
        return [one for one in self.verdicts if one.is_missed or one.is_false_alarm]

    @property
    def right_percent(self) -> float:
        return 100 * (1 - len(self.wrong) / len(self.verdicts))


@functools.cache
def load(folder: Path = FOLDER) -> tuple[Entry, ...]:
    """All entries below `folder`, file by file in the order of their names."""
    return tuple(entry for path in sorted(folder.rglob("*.yaml")) for entry in load_file(path))


def load_file(path: Path) -> tuple[Entry, ...]:
    """The entries of one file: a family, its label, and commands with or without an effect."""
    stored = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return tuple(_entry(each, stored["label"], stored["family"]) for each in stored["entries"])


def judge(entries: tuple[Entry, ...]) -> list[Verdict]:
    """What `classify_command` says of each, as if the person lived in /home/dev and worked in ~/project."""
    from tools.approval.commands import classify_command  # noqa: PLC0415 - loads a grammar

    classify = cast("Callable[..., Any]", classify_command)
    with at_home():
        found = [(entry, classify(entry.command, PROJECT, (PROJECT,))) for entry in entries]
    return [Verdict(entry, each.level, each.why) for entry, each in found]


def by_family(verdicts: list[Verdict]) -> list[Rates]:
    """The verdicts in families, in the order of the labels, forbidden first."""
    families: dict[tuple[str, Label], Rates] = {}
    for verdict in verdicts:
        key = (verdict.entry.family, verdict.entry.label)
        families.setdefault(key, Rates(*key)).verdicts.append(verdict)
    return sorted(families.values(), key=lambda rates: -_RANKS[rates.label])


@contextmanager
def at_home() -> Iterator[None]:
    """The variables of the person whose commands these are."""
    here = {"HOME": str(HOME), "USER": "dev", "LOGNAME": "dev"}
    before = {name: os.environ.get(name) for name in here}
    os.environ.update(here)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _entry(stored: Any, label: Label, family: str) -> Entry:
    if isinstance(stored, str):
        return Entry(stored, label, family)
    effect = stored.get("effect")
    return Entry(
        stored["command"],
        stored.get("label", label),
        family,
        Effect(**{name: tuple(value) if isinstance(value, list) else value for name, value in effect.items()})
        if effect
        else None,
        stored.get("not_run", ""),
    )
