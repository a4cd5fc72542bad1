"""What came of the mutants: a table, and the survivors that nobody has explained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_HEAD = ("file", "mutants", "refused by types", "noticed", "explained", "survived", "not tried")


@dataclass(frozen=True, slots=True)
class Row:
    """How many mutants of a file ended how. `noticed` are all others."""

    file: str
    mutants: int
    refused: int
    explained: int
    survived: int
    untried: int

    @property
    def noticed(self) -> int:
        """So many were noticed by a test."""
        return self.mutants - self.refused - self.explained - self.survived - self.untried

    def cells(self) -> tuple[str | int, ...]:
        """The row of the table."""
        file = f"`{self.file}`" if "/" in self.file else self.file
        return (file, self.mutants, self.refused, self.noticed, self.explained, self.survived, self.untried)


def together(rows: Iterable[Row]) -> Row:
    """The sum of all files."""
    each = [(row.mutants, row.refused, row.explained, row.survived, row.untried) for row in rows]
    return Row("together", *(sum(numbers) for numbers in zip(*each, strict=True)))


def table(rows: Sequence[Row]) -> str:
    """As the page on reliability has it."""
    separator = f"|---{'|--:' * (len(_HEAD) - 1)}|"
    cells = (_HEAD, *(row.cells() for row in (*rows, together(rows))))
    head, *body = (f"| {' | '.join(map(str, each))} |" for each in cells)
    return "\n".join((head, separator, *body))
