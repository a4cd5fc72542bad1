"""How far a command reaches, as `classify_command` says it: light, so that whoever only names it loads no judge."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tools.approval.dangers.finding import Finding, Level
from tools.light_dataclass import dataclass

SOMEWHERE = Path("/srv/somewhere/project")
"""Stands for a directory that nobody has named: deep enough that a few `..` do not reach the root."""


@dataclass(frozen=True, slots=True)
class CommandClass:
    """How far a command reaches.

    Attributes:
        why: completes «because it …», of the strongest finding; '' for most of what is safe or ordinary.
        findings: all that is dangerous or forbidden in it, the worst first (`WORST_FIRST`).
        family: of the strongest finding.
        outside: it needs what the sandbox does not give, so that after a yes it runs without one.
    """

    level: Level
    why: str = ""
    findings: tuple[Finding, ...] = ()
    family: str = ""
    outside: bool = False

    @property
    def reasons(self) -> tuple[str, ...]:
        """Every reason why it is asked about, the worst first, each once."""
        return tuple(dict.fromkeys(finding.why for finding in self.findings))

    @property
    def secrets(self) -> frozenset[Path]:
        """The files of credentials that it is asked about with, links resolved."""
        return frozenset(Path(os.path.realpath(secret)) for finding in self.findings for secret in finding.secrets)


Classify = Callable[[str, Path | None, tuple[Path, ...]], CommandClass]
"""Who says how far a command reaches, run in a directory by a session with these roots: `classify_command`."""
