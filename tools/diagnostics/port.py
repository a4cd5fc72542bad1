"""The port to whoever finds problems in a file's text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tools.ports import Interrupt


@dataclass(frozen=True, slots=True)
class Problem:
    """One complaint. `line` and `column` count from 1; `source` is who complains, as «python» or «pylsp»."""

    line: int
    column: int
    severity: Literal["error", "warning"]
    message: str
    source: str


class Diagnostics(Protocol):
    """Finds the problems that an edit made."""

    def before(self, path: Path, text: str | None) -> object:
        """What is wrong before the edit, for `after`; None stands for a file that is not there. Costs little."""
        ...

    def after(self, path: Path, text: str, baseline: object, interrupt: Interrupt) -> Sequence[Problem]:
        """The problems of `text` that `baseline` did not have; whoever does not answer in time has none."""
        ...
