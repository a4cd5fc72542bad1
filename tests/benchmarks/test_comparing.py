"""What counts as worse than the committed run, and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.comparing import Comparison, Verdict, compare, confirmed, differences
from benchmarks.figures import BYTES, HERMES, MEGABYTES, MILLISECONDS, PERCENT, RATIO, RAW, SDK
from benchmarks.runs import KeptFigure, Run, Spread

_STEADY = 0.05


def _spread(median: float, width: float = _STEADY, count: int = 9) -> Spread:
    return Spread(median, median * (1 - width / 2), median * (1 + width / 2), count)


def _run(*figures: KeptFigure, yardstick: float = 10.0, **facts: object) -> Run:
    return Run({"python": "CPython 3.13", "cores": 2, **facts}, _spread(yardstick), figures)


def _figure(ours: float, unit: str = MILLISECONDS, *, title: str = "a turn", **of: float) -> KeptFigure:
    floors = {"raw": RAW, "sdk": SDK}
    spreads = {HERMES: _spread(ours), **{floors[name]: _spread(value) for name, value in of.items()}}
    return KeptFigure("Turns", title, unit, spreads)


def _only(then: Run, now: Run) -> Comparison:
    [found] = compare(then, now)
    return found


@pytest.mark.parametrize(
    ("then", "now", "verdict"),
    [
        (_figure(4, raw=1), _figure(8, raw=2), "same"),  # a machine of half the speed
        (_figure(4, raw=1), _figure(4, raw=0.5), "worse"),  # the machine is faster, the program is not
        (_figure(4, raw=1), _figure(4.4, raw=1), "same"),
        (_figure(4, raw=1), _figure(4.8, raw=1), "worse"),
        (_figure(4, raw=1), _figure(3, raw=1), "better"),
        (_figure(4, sdk=1), _figure(8, sdk=2), "same"),
        (_figure(4, raw=1, sdk=1), _figure(8, raw=2, sdk=9), "same"),  # the raw floor goes before
        (_figure(1.0, RATIO), _figure(1.3, RATIO), "worse"),
        (_figure(70, MEGABYTES, raw=10), _figure(70, MEGABYTES, raw=20), "same"),
        (_figure(70, MEGABYTES, raw=10), _figure(75, MEGABYTES, raw=20), "worse"),
        (_figure(16_000, BYTES), _figure(16_100, BYTES), "same"),
        (_figure(0, PERCENT), _figure(0.2, PERCENT), "same"),
        (_figure(0, PERCENT), _figure(0.3, PERCENT), "worse"),
        (_figure(0), _figure(0), "same"),
        (_figure(0), _figure(20), "worse"),
    ],
)
def test_a_figure_is_worse_when_it_has_grown_beyond_its_band_beside_its_floor(
    then: KeptFigure, now: KeptFigure, verdict: Verdict
) -> None:
    assert _only(_run(then), _run(now)).verdict == verdict


def test_a_time_without_a_floor_is_compared_through_the_yardstick() -> None:
    then = _run(_figure(100), yardstick=10)
    assert _only(then, _run(_figure(200), yardstick=20)).verdict == "same"
    assert _only(then, _run(_figure(200), yardstick=10)).verdict == "worse"


def test_the_band_is_as_wide_as_the_samples_of_either_run_differ() -> None:
    def figure(ours: float, width: float) -> KeptFigure:
        return KeptFigure("Turns", "a turn", MILLISECONDS, {HERMES: _spread(ours, width), RAW: _spread(1)})

    steady, scattered = figure(4, _STEADY), figure(4, 0.6)
    assert _only(_run(steady), _run(figure(5, _STEADY))).verdict == "worse"
    assert _only(_run(steady), _run(figure(5, 0.6))).verdict == "same"
    assert _only(_run(scattered), _run(figure(5, _STEADY))).verdict == "same"
    assert _only(_run(scattered), _run(figure(7, _STEADY))).verdict == "worse"


def test_of_single_samples_only_a_great_change_is_told() -> None:
    def figure(ours: float) -> KeptFigure:
        spreads = {HERMES: Spread(ours, ours, ours, 1), RAW: Spread(1, 1, 1, 1)}
        return KeptFigure("Turns", "a turn", MILLISECONDS, spreads)

    assert _only(_run(figure(4)), _run(figure(5.9))).verdict == "same"
    assert _only(_run(figure(4)), _run(figure(6.1))).verdict == "worse"


def test_figures_of_one_run_only_are_named_and_not_judged() -> None:
    then, now = _run(_figure(1, title="old")), _run(_figure(1, title="new"))
    assert [(one.title, one.verdict) for one in compare(then, now)] == [("new", "new"), ("old", "gone")]
    with_floor, without = _run(_figure(1, raw=1)), _run(_figure(50))
    assert _only(with_floor, without).verdict == "new", "another floor: another figure"


def test_what_seemed_worse_is_judged_by_its_second_measurement() -> None:
    then = _run(_figure(4, title="a", raw=1), _figure(4, title="b", raw=1), _figure(4, title="c", raw=1))
    first = _run(_figure(8, title="a", raw=1), _figure(8, title="b", raw=1), _figure(4, title="c", raw=1))
    second = _run(_figure(8, title="a", raw=1), _figure(4, title="b", raw=1), _figure(9, title="c", raw=1))
    found = confirmed(compare(then, first), compare(then, second))
    assert [one.verdict for one in found] == ["worse", "same", "same"]


def test_circumstances_that_differ_are_told() -> None:
    then = _run()
    other = replace(then, circumstances={"python": "CPython 3.11", "cores": 2, "quick": True})
    assert list(differences(then, then)) == []
    assert list(differences(then, other)) == [
        "The committed run had python CPython 3.13, this one CPython 3.11.",
        "The present run was a quick one: few samples, wide bands.",
    ]
