"""Sizes and spans of time, as those read them who look for milliseconds."""

from __future__ import annotations

from acp_adapter.export.words import duration

_KILO, _MEGA = 1_000, 1_000_000


def span(seconds: float) -> str:
    """`0.42 ms`, `37 ms`, `1.2 s`, `4 min 2 s`."""
    if seconds >= 1:
        return duration(seconds)
    milliseconds = 1_000 * seconds
    return f"{milliseconds:.2f} ms" if milliseconds < 1 else f"{milliseconds:.0f} ms"


def bytes_of(size: int) -> str:
    """`512 B`, `3.4 kB`, `1.2 MB`."""
    if size < _KILO:
        return f"{size} B"
    return f"{size / _KILO:.1f} kB" if size < _MEGA else f"{size / _MEGA:.1f} MB"
