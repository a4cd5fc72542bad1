"""Whether a row of figures grows, flat, or is all over the place: estimates that a few wild values do not move."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def slope(times: Sequence[float], values: Sequence[float]) -> float:
    """The median of the slopes between all pairs (Theil and Sen); up to a quarter of wild values do not matter.

    Raises:
        ValueError: there are fewer than two different times.
    """
    pairs = [
        (values[right] - values[left]) / (times[right] - times[left])
        for left in range(len(times))
        for right in range(left + 1, len(times))
        if times[right] != times[left]
    ]
    if not pairs:
        raise ValueError("no two values at different times")
    return statistics.median(pairs)


def after_warm_up(values: Sequence[float]) -> Sequence[float]:
    """All but the first third."""
    return values[len(values) // 3 :]


def drift(values: Sequence[float]) -> float:
    """The last third in parts of the second: 1 is flat.

    Their lower quartiles are compared. What grows inside a process makes all values grow; what else a machine does
    makes only some of them longer.

    Raises:
        ValueError: there are fewer than six values.
    """
    third = len(values) // 3
    if third < 2:
        raise ValueError(f"too few values: {len(values)}")
    second, last = values[third : 2 * third], values[2 * third :]
    return _lower_quartile(last) / _lower_quartile(second)


def _lower_quartile(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=4, method="inclusive")[0]
