"""Figures and times in words, as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_SHORT = 10
_THOUSAND, _MILLION = 1_000, 1_000_000
_CENT = 0.01


def duration(seconds: float) -> str:
    """`0.4 s`, `42 s`, `1 min 12 s`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < _SHORT:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    for size, name, smaller, small_name in ((_DAY, "d", _HOUR, "h"), (_HOUR, "h", _MINUTE, "min")):
        if whole >= size:
            return _two(whole // size, name, whole % size // smaller, small_name)
    return _two(whole // _MINUTE, "min", whole % _MINUTE, "s")


def count(number: int) -> str:
    """`950`, `3.4k`, `120k`, `1.2M`."""
    for size, name in ((_MILLION, "M"), (_THOUSAND, "k")):
        if number >= size:
            digits = f"{number / size:.1f}".removesuffix(".0") if number < 100 * size else str(number // size)
            return digits + name
    return str(number)


def dollars(cost: float) -> str:
    """`$0.0042`, `$0.12`, `$3.50`."""
    return f"${cost:.4f}" if 0 < cost < _CENT else f"${cost:.2f}"


def moment(seconds: float, zone: tzinfo | None = None) -> str:
    """`2026-11-21 16:05`, in `zone` (None: where this runs)."""
    return local(seconds, zone).strftime("%Y-%m-%d %H:%M")


def local(seconds: float, zone: tzinfo | None = None) -> datetime:
    """Seconds since the epoch as a time in `zone` (None: where this runs)."""
    return datetime.fromtimestamp(seconds, UTC).astimezone(zone)


def _two(many: int, name: str, few: int, small: str) -> str:
    return f"{many} {name} {few} {small}" if few else f"{many} {name}"
