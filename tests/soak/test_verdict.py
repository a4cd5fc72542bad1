"""Figures that are flat are told from such that grow, whatever a machine does meanwhile."""

import random
from dataclasses import replace

import pytest

from tests.soak.judging import drift, slope
from tests.soak.samples import Sample
from tests.soak.verdict import LONG, SHORT, problems

_FLAT = Sample(0, 150.0, 90, 200, 50, 12, 0.0, 8.0, 20.0, 30.0, 300, 0, 0)

_STEADY = [0.1] * 300


def _samples(**growing: float) -> list[Sample]:
    """Half an hour of samples with noise; what grows, grows so much in each minute."""
    chance = random.Random(1)
    found = []
    for at in range(0, 1800, 5):
        work = {"at": float(at), "acts": 8 * at, "cpu": 0.3 * at, "log": chance.uniform(4, 40)}
        wild = {"resident": 150 + chance.choice((0, 0, 0, 25)), "descriptors": chance.randrange(120, 260)}
        sample = replace(_FLAT, **work, **wild)
        found.append(replace(sample, **{name: getattr(sample, name) + at / 60 * by for name, by in growing.items()}))
    return found


def test_noise_is_no_growth() -> None:
    assert problems(_samples(), _STEADY, _STEADY, LONG) == []


@pytest.mark.parametrize(
    ("growing", "told"),
    [
        ({"resident": 4.0}, "resident"),
        ({"threads": 3.0}, "threads"),
        ({"descriptors": 20.0}, "descriptors"),
        ({"children": 2.0}, "children"),
        ({"files": 10.0}, "files"),
        ({"database": 1.0}, "the database"),
        ({"log": 10.0}, "the database's log"),
    ],
)
def test_what_grows_is_named(growing: dict[str, float], told: str) -> None:
    (problem,) = problems(_samples(**growing), _STEADY, _STEADY, LONG)
    assert told in problem


def test_prompts_that_take_longer_and_longer_are_told() -> None:
    chance = random.Random(2)
    flat = [chance.choice((0.1, 0.11, 0.1, 0.9)) for _ in range(300)]
    assert problems(_samples(), flat, _STEADY, LONG) == []
    longer = [took * (1 + (at / 100) ** 2) for at, took in enumerate(flat)]
    (problem,) = problems(_samples(), longer, _STEADY, LONG)
    assert "the same prompt" in problem
    assert problems(_samples(), longer, longer, LONG) == []  # so does all else: it is the machine
    assert problems(_samples(), longer, _STEADY, SHORT) == []  # in three minutes nobody can tell


def test_acts_that_cost_more_and_more_are_told() -> None:
    flat = _samples()
    dearer = [replace(sample, cpu=sample.cpu + sample.at**2 / 4_000) for sample in flat]
    (problem,) = problems(dearer, _STEADY, _STEADY, LONG)
    assert "the processor's time" in problem
    slower = [took * (1 + (at / 300)) for at, took in enumerate(_STEADY)]
    assert problems(dearer, slower, slower, LONG) == []  # a machine that is slower is so for everything


def test_too_few_values_say_nothing() -> None:
    with pytest.raises(ValueError, match="too few"):
        drift([1.0] * 5)
    with pytest.raises(ValueError, match="different times"):
        slope([1.0, 1.0], [1.0, 2.0])
