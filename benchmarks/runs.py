"""A run as it is kept: where and of what it was made, and each figure's medians and spread."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks.figures import HERMES, RAW, SDK, Figure, Section, Series


class NoSuchRun(Exception):
    """There is no run in that file, or it cannot be read."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Samples in short.

    Attributes:
        low, high: the bounds of the middle half; of fewer than four samples, of all.
        count: how many there were.
    """

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, series: Series) -> Self:
        return cls(series.median, *series.middle, len(series.values))

    @property
    def relative(self) -> float | None:
        """Its width as a share of the median; None where one sample, or nothing, tells nothing."""
        return (self.high - self.low) / self.median if self.count > 1 and self.median else None


@dataclass(frozen=True, slots=True)
class KeptFigure:
    """One figure: of hermes-acp, and of each floor it has."""

    section: str
    title: str
    unit: str
    spreads: Mapping[str, Spread]
    at_most: float | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What the same figure has in another run."""
        return self.section, self.title


@dataclass(frozen=True, slots=True)
class Run:
    """The circumstances of a run, the yardstick's time in it, and its figures."""

    circumstances: Mapping[str, Any]
    yardstick: Spread
    figures: Sequence[KeptFigure]


def run_of(sections: Sequence[Section], circumstances: Mapping[str, Any], yardstick: Sequence[float]) -> Run:
    """What was just measured."""
    figures = [_kept(section.title, figure) for section in sections for figure in section.figures]
    return Run(circumstances, Spread.of(Series(tuple(yardstick))), figures)


def save(path: Path, run: Run, sections: Sequence[Section] = ()) -> None:
    """Write a run as JSON; with `sections`, all samples too."""
    extra = {(section.title, one.quantity.title): one for section in sections for one in section.figures}
    circumstances = {**run.circumstances, "yardstick": _spread_as_json(run.yardstick)}
    head = json.dumps(circumstances, ensure_ascii=False, indent=1)
    figures = (json.dumps(_as_json(one, extra.get(one.key)), ensure_ascii=False) for one in run.figures)
    # A line a figure: what a new committed run changes can be read in its diff.
    text = head.removesuffix("\n}") + ',\n "figures": [\n  ' + ",\n  ".join(figures) + "\n ]\n}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def load(path: Path) -> Run:
    """Read a run.

    Raises:
        NoSuchRun: there is none, or not of this form.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        figures = [_from_json(figure) for figure in found.pop("figures")]
        return Run(found, Spread(**found.pop("yardstick")), figures)
    except FileNotFoundError as problem:
        raise NoSuchRun(f"{path} is not there") from problem
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise NoSuchRun(f"{path} holds no run that can be read: {problem!r}") from problem


def _kept(section: str, figure: Figure) -> KeptFigure:
    asked = figure.quantity
    spreads = {contender: Spread.of(series) for contender, series in figure.series.items()}
    return KeptFigure(section, asked.title, asked.unit, spreads, asked.at_most)


def _as_json(figure: KeptFigure, measured: Figure | None) -> dict[str, Any]:
    found: dict[str, Any] = {"section": figure.section, "title": figure.title, "unit": figure.unit}
    found["at_most"] = figure.at_most
    found["measured"] = {name: _spread_as_json(spread) for name, spread in figure.spreads.items()}
    found["ratios"] = {floor: round(ratio, 4) for floor in (RAW, SDK) if (ratio := _ratio(figure, floor)) is not None}
    if measured is not None:
        found["samples"] = {name: [round(v, 4) for v in series.values] for name, series in measured.series.items()}
    return found


def _ratio(figure: KeptFigure, floor: str) -> float | None:
    base = figure.spreads.get(floor)
    return figure.spreads[HERMES].median / base.median if base is not None and base.median else None


def _spread_as_json(spread: Spread) -> dict[str, float]:
    numbers = {"median": spread.median, "low": spread.low, "high": spread.high}
    return {**{name: round(value, 4) for name, value in numbers.items()}, "count": spread.count}


def _from_json(found: Mapping[str, Any]) -> KeptFigure:
    spreads = {name: Spread(**spread) for name, spread in found["measured"].items()}
    return KeptFigure(found["section"], found["title"], found["unit"], spreads, found["at_most"])
