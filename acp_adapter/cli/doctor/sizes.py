"""Numbers for people."""

from __future__ import annotations

from pathlib import Path

_UNITS = ("bytes", "KB", "MB", "GB", "TB")
_STEP = 1000


def size_text(count: float) -> str:
    """A number of bytes."""
    for unit in _UNITS[:-1]:
        if count < _STEP:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= _STEP
    return f"{count:.1f} {_UNITS[-1]}"


def counted(number: int, noun: str) -> str:
    """`3 sessions`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size_of(path: Path) -> int:
    """A file's size; 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
