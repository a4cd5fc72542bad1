"""Is a figure worse than in the committed run? Ratios are compared, for machines differ and so do their days.

What is compared of a figure:

- a time, or a share of a core: how many times its floor it takes, the floor being of the same run; where it has none,
  how many times the yardstick, a fixed piece of work, which is measured between all others.
- a share in percent: as it is, in points.
- a size, a number, a ratio: as it is.

It is worse when it has grown by more than its band. The band is what the samples of both runs themselves differ by
(the middle half of them as a share of their median, ours and the floor's, as the root of the squares), but at least
`_LEAST` of its unit; of figures with one sample each nothing is known, and the band is wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.figures import BYTES, COUNT, HERMES, MEGABYTES, MILLISECONDS, OF_A_CORE, PERCENT, RATIO, RAW, SDK
from benchmarks.runs import KeptFigure, Run, Spread

Verdict = Literal["worse", "better", "same", "new", "gone"]

YARDSTICK = "yardstick"
_TIMED = frozenset({MILLISECONDS, OF_A_CORE})
_LEAST = {MILLISECONDS: 0.15, OF_A_CORE: 0.15, RATIO: 0.15, MEGABYTES: 0.03, BYTES: 0.01, COUNT: 0.01, PERCENT: 0.25}
_UNKNOWN = 0.5
_BY_CLOCK = frozenset({MILLISECONDS, OF_A_CORE, RATIO})
_NOTHING = 0.05
"""Below it, what was nothing then is nothing now."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What is compared of a figure.

    Attributes:
        to: the floor that it is divided by; '' for a figure that is compared as it is.
        spreads: of all samples that it is made of.
    """

    value: float
    to: str
    spreads: tuple[Spread, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure, then and now.

    Attributes:
        change: growth as a share of then; of percentages, in points; None without one of the two.
        band: what it may grow by.
    """

    section: str
    title: str
    unit: str
    then: Measure | None
    now: Measure | None
    change: float | None = None
    band: float | None = None

    @property
    def verdict(self) -> Verdict:
        if self.then is None:
            return "new"
        if self.now is None or self.change is None or self.band is None:
            return "gone"
        if abs(self.change) <= self.band:
            return "same"
        return "worse" if self.change > 0 else "better"


def compare(then: Run, now: Run) -> list[Comparison]:
    """All figures of both runs, in the order of `now`; those that are gone at the end."""
    before = {figure.key: figure for figure in then.figures}
    found = [_compared(before.pop(figure.key, None), figure, then, now) for figure in now.figures]
    return [*found, *(_gone(figure, then) for figure in before.values())]


def confirmed(first: Sequence[Comparison], second: Sequence[Comparison]) -> list[Comparison]:
    """What was worse at first, as it was measured the second time; all else as it was."""
    again = {(one.section, one.title): one for one in second}
    return [again.get((one.section, one.title), one) if one.verdict == "worse" else one for one in first]


def differences(then: Run, now: Run) -> Iterator[str]:
    """Why the two runs may differ without any fault of the program, in sentences."""
    for fact in ("python", "system", "cpu", "cores"):
        if (was := then.circumstances.get(fact)) != (is_ := now.circumstances.get(fact)):
            yield f"The committed run had {fact} {was}, this one {is_}."
    for run, name in ((then, "committed"), (now, "present")):
        if run.circumstances.get("quick"):
            yield f"The {name} run was a quick one: few samples, wide bands."


def _compared(before: KeptFigure | None, figure: KeptFigure, then: Run, now: Run) -> Comparison:
    measure = _measure(figure, now)
    if before is None:
        return Comparison(figure.section, figure.title, figure.unit, None, measure)
    was = _measure(before, then)
    if was.to != measure.to:  # its floor is another: nothing to compare
        return Comparison(figure.section, figure.title, figure.unit, None, measure)
    band = _band(figure.unit, (*was.spreads, *measure.spreads))
    change = _change(figure.unit, was.value, measure.value)
    return Comparison(figure.section, figure.title, figure.unit, was, measure, change, band)


def _gone(figure: KeptFigure, then: Run) -> Comparison:
    return Comparison(figure.section, figure.title, figure.unit, _measure(figure, then), None)


def _measure(figure: KeptFigure, run: Run) -> Measure:
    ours = figure.spreads[HERMES]
    if figure.unit not in _TIMED:
        return Measure(ours.median, "", (ours,))
    for floor in (RAW, SDK):
        if (base := figure.spreads.get(floor)) is not None and base.median:
            return Measure(ours.median / base.median, floor, (ours, base))
    return Measure(ours.median / run.yardstick.median, YARDSTICK, (ours, run.yardstick))


def _band(unit: str, spreads: Sequence[Spread]) -> float:
    least = _LEAST.get(unit, 0.15)
    if unit == PERCENT:
        return least
    known = [spread.relative for spread in spreads if spread.relative is not None]
    if not known:
        return _UNKNOWN if unit in _BY_CLOCK else least
    return max(least, math.hypot(*known))


def _change(unit: str, then: float, now: float) -> float:
    if unit == PERCENT:
        return now - then
    if not then:
        return math.inf if now > _NOTHING else 0.0
    return now / then - 1
