"""Writes a map for a model: the definitions that matter most, by file, within a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from tools.light_dataclass import dataclass
from tools.outline.ranking import Ranked

BYTES_A_TOKEN = 3.5
"""Of code, on the low side: it is rather too short than too long."""

_NEXT_OF_FILE = 0.9  # each further definition of a file has to matter more


@dataclass(slots=True)
class Telling:
    """The map's text.

    Attributes:
        text: a paragraph for each file, the most important first.
        files, definitions: how many are in it.
    """

    text: str = ""
    files: int = 0
    definitions: int = 0


@dataclass(slots=True)
class _Chosen:
    """What is to be told of one file: indexes of its definitions."""

    file: Ranked
    indexes: set[int] = field(default_factory=set)


def tell(ranked: Sequence[Ranked], max_tokens: int) -> Telling:
    """The definitions with the highest scores that fit into `max_tokens`."""
    room = max_tokens * BYTES_A_TOKEN
    chosen: dict[int, _Chosen] = {}
    for position, index in _in_order(ranked):
        file = ranked[position]
        mine = chosen.get(position) or _Chosen(file)
        new = [each for each in _with_parents(file, index) if each not in mine.indexes]
        cost = sum(_size(_line(file, each)) for each in new)
        if not mine.indexes:
            cost += _size(file.path.as_posix())
        if cost > room:
            if room < _size(file.path.as_posix()):
                break
            continue
        room -= cost
        mine.indexes.update(new)
        chosen[position] = mine
    parts = [_paragraph(chosen[position]) for position in sorted(chosen)]
    return Telling("\n".join(parts), len(parts), sum(len(each.indexes) for each in chosen.values()))


def _in_order(ranked: Sequence[Ranked]) -> list[tuple[int, int]]:
    """Positions of files with indexes of their definitions, the best first."""
    scored: list[tuple[float, int, int]] = []
    for position, file in enumerate(ranked):
        best_first = sorted(range(len(file.scores)), key=lambda index: (-file.scores[index], index))
        factor = 1.0
        for index in best_first:
            scored.append((-file.scores[index] * factor, position, index))
            factor *= _NEXT_OF_FILE
    return [(position, index) for _, position, index in sorted(scored)]


def _with_parents(file: Ranked, index: int) -> list[int]:
    indexes = []
    while index >= 0:
        indexes.append(index)
        index = file.outline.definitions[index].parent
    return indexes


def _paragraph(chosen: _Chosen) -> str:
    lines = [_line(chosen.file, index) for index in sorted(chosen.indexes)]
    return "\n".join([chosen.file.path.as_posix(), *lines])


def _line(file: Ranked, index: int) -> str:
    definition = file.outline.definitions[index]
    depth = len(_with_parents(file, index)) - 1
    return f"{definition.line}|{'  ' * depth}{definition.signature}"


def _size(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1
