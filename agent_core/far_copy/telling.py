"""What the person is told of a copy while it is made, and of what is left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from agent_core.far_copy.choosing import Chosen

MEGABYTE = 1024 * 1024

Tell = Callable[[str], None]

_MOST_NAMED, _FEW = 20, 5


def left_there(names: Sequence[str], odd: Collection[str], where: str) -> Sequence[str]:
    """What does not come back, a sentence for each reason.

    Args:
        odd: those of `names` that are no files, and more.
    """
    kinds = (
        ([name for name in names if name in odd], "links, or no files"),
        ([name for name in names if name not in odd], "too large, or cannot be read there"),
    )
    return [
        f"Not brought back from {where}, as they are {why}: {', '.join(sorted(some)[:_MOST_NAMED])}."
        for some, why in kinds
        if some
    ]


def much(files: int, size: int) -> str:
    """A number of files and their bytes."""
    amount = f"{size / MEGABYTE:,.0f} MB" if size >= MEGABYTE else f"{-(-size // 1024):,} kB"
    return f"{files:,} {'file' if files == 1 else 'files'} of {amount}"


def held_back(chosen: Chosen) -> str:
    """What of the workspace was not copied; '' for nothing."""
    parts = [
        f"{len(names)} {what} ({', '.join(names[:_FEW])}{', …' if len(names) > _FEW else ''})"
        for names, what in (
            (chosen.kept_back, "of what holds secrets or may not be read"),
            (chosen.odd, "links that lead out of it, or no files"),
        )
        if names
    ]
    return f"Of the workspace these were not copied: {'; '.join(parts)}." if parts else ""


def progress(tell: Tell, file: Path) -> Callable[[int], None]:
    """Tells how far a stream is, each tenth of one that is not small."""
    size, told = file.stat().st_size, 0

    def on_sent(sent: int) -> None:
        nonlocal told
        tenth = 10 * sent // max(size, 1)
        if size > 2 * MEGABYTE and tenth > told:
            told = tenth
            tell(f"{sent / MEGABYTE:.1f} of {size / MEGABYTE:.1f} MB were sent.\n")

    return on_sent
