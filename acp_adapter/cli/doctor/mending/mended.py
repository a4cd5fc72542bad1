"""What was mended, and what was left as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Mended:
    """One thing that `--fix` did, or did not do.

    Attributes:
        check: the check that tells of it.
        done: it was mended; else the text says why not.
        harm: that it was not is a failure, and no decision of the person's.
    """

    check: str
    done: bool
    text: str
    harm: bool = False


class Person(Protocol):
    """Whoever decides about changes to what they wrote themselves."""

    def agrees(self, title: str, change: Sequence[str]) -> bool:
        """Show a change, as the lines of a diff, and ask whether it may be made."""
        ...

    def paints(self) -> bool:
        """Whether diffs are shown with colours."""
        ...
