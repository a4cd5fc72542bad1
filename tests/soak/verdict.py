"""What has to hold of a soak's figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.soak.judging import after_warm_up, drift, slope
from tests.soak.samples import Sample

_BIGGEST_LOG = 96.0
"""Megabytes. SQLite empties it after 40, unless somebody reads."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is borne.

    Attributes:
        drift: how much longer the same prompt may take in the last third than in the second, when what else the
            machine does is taken off; None where too few prompts are timed to tell the agent from the machine.
        work: how much more of the processor an act may cost then; likewise, since a machine that does much at once
            takes longer for the same.
        database: how much bigger it may become then; what is deleted leaves room, which is used again.
        a_minute: how much each figure of that name may grow in a minute, after the first third.
    """

    drift: float | None
    work: float
    database: float
    a_minute: Mapping[str, float]


SHORT = Bounds(None, 1.6, 3.0, {"resident": 20.0})
"""Of three minutes, beside other tests: all warms up in the first, and what is a leak in every act is seen. A third
has some 450 acts, among which there may be more or fewer of the dear ones, and a dozen timed prompts: the tests
beside it decide how long those take."""
LONG = Bounds(
    1.5,
    1.3,
    1.25,
    {"resident": 3.0, "threads": 2.0, "descriptors": 8.0, "children": 1.0, "files": 5.0, "home": 2.0},
)


def problems(
    samples: Sequence[Sample], probes: Sequence[float], others: Sequence[float], bounds: Bounds
) -> list[str]:
    """All that is wrong; descriptors and threads at the end are looked at elsewhere (`Remains`).

    Args:
        probes: seconds that the same prompt took.
        others: seconds that something took meanwhile which has nothing to do with the agent.

    Raises:
        ValueError: there are too few samples to tell.
    """
    slower = max(drift(others), 1)
    longer = drift(probes) / slower
    return [
        *_growing(after_warm_up(samples), bounds.a_minute),
        *(() if bounds.drift is None else _more("the time of the same prompt", longer, bounds.drift)),
        *_more("the processor's time of an act", _work(samples) / slower, bounds.work),
        *_more("the database", _biggest(samples, 2) / _biggest(samples, 1), bounds.database),
        *_more("megabytes of the database's log", max(sample.log for sample in samples), _BIGGEST_LOG),
    ]


def _growing(samples: Sequence[Sample], a_minute: Mapping[str, float]) -> Iterator[str]:
    times = [sample.at / 60 for sample in samples]
    for name, most in a_minute.items():
        found = slope(times, [float(getattr(sample, name)) for sample in samples])
        yield from _more(f"{name}, more in each minute", found, most)


def _more(what: str, found: float, most: float) -> Iterator[str]:
    if found > most:
        yield f"{what}: {found:.2f}, and it may be {most}"


def _third(samples: Sequence[Sample], number: int) -> Sequence[Sample]:
    return samples[number * len(samples) // 3 : (number + 1) * len(samples) // 3]


def _biggest(samples: Sequence[Sample], third: int) -> float:
    return max(sample.database for sample in _third(samples, third))


def _work(samples: Sequence[Sample]) -> float:
    """What an act costs in the last third, in parts of what it costs in the second."""

    def cost(part: Sequence[Sample]) -> float:
        return (part[-1].cpu - part[0].cpu) / max(part[-1].acts - part[0].acts, 1)

    return cost(_third(samples, 2)) / cost(_third(samples, 1))
