"""Figures: what was measured of whom, and the samples behind it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

HERMES = "hermes-acp"
RAW = "raw floor"
SDK = "SDK floor"
CONTENDERS = (HERMES, RAW, SDK)

MILLISECONDS = "ms"
MEGABYTES = "MB"
BYTES = "B"
COUNT = ""
RATIO = "×"
PERCENT = "%"
OF_A_CORE = "% of a core"


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something to measure; smaller is better.

    Attributes:
        at_most: what it should not exceed, in its unit, on a machine like the one that the targets were set on.
    """

    title: str
    unit: str = MILLISECONDS
    at_most: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """The samples of one quantity and one contender."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def middle(self) -> tuple[float, float]:
        """The bounds of the middle half; of fewer than four values, of all."""
        if len(self.values) < 4:
            return min(self.values), max(self.values)
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return low, high


@dataclass(frozen=True, slots=True)
class Figure:
    """A quantity with its samples, by contender."""

    quantity: Quantity
    series: Mapping[str, Series]

    def ratio(self, floor: str) -> float | None:
        """How many times the floor hermes-acp takes; None where there is no such floor, or the figure is a ratio."""
        if HERMES not in self.series or floor not in self.series or self.quantity.unit == RATIO:
            return None
        base = self.series[floor].median
        return self.series[HERMES].median / base if base else None


@dataclass(frozen=True, slots=True)
class Section:
    """The figures of one subject."""

    title: str
    figures: tuple[Figure, ...]


@dataclass(slots=True)
class Samples:
    """Collects samples while contenders take turns."""

    _found: dict[tuple[Quantity, str], list[float]] = field(default_factory=dict)

    def add(self, quantity: Quantity, contender: str, value: float) -> None:
        self._found.setdefault((quantity, contender), []).append(value)

    def section(self, title: str, quantities: Sequence[Quantity]) -> Section:
        """The figures for `quantities`, in that order; those without samples are left out."""
        figures = (Figure(quantity, self._series(quantity)) for quantity in quantities)
        return Section(title, tuple(figure for figure in figures if figure.series))

    def _series(self, quantity: Quantity) -> dict[str, Series]:
        keys = ((contender, self._found.get((quantity, contender))) for contender in CONTENDERS)
        return {contender: Series(tuple(values)) for contender, values in keys if values}
