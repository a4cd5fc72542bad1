"""Who may say yes in the person's place: a port, since a model is asked."""

from __future__ import annotations

from typing import Protocol

from tools.approval.actions import RunCommand
from tools.ports import Interrupt


class Judge(Protocol):
    """Judges commands whose every danger comes back by itself, inside the session's directories. Nothing else."""

    def lifts(self, action: RunCommand, reason: str, interrupt: Interrupt) -> str:
        """Why the command need not be asked about, in a few words; '' if it must be, or nobody can tell.

        Args:
            reason: what it would be asked about for, in words that follow «because it …».

        Raises:
            ToolInterrupted: the turn is over.
        """
        ...
