"""How far a command reaches, and why: light, so that whoever only names it loads no judge."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from tools.light_dataclass import dataclass

# What is found in a command.

Level = Literal["safe", "ordinary", "dangerous", "forbidden"]
"""How far a command reaches: proven to change nothing, contained by the sandbox, asked about, never."""

Family = Literal[
    "deletion",
    "device",
    "permissions",
    "sql",
    "system files",
    "credentials",
    "services",
    "remote code",
    "processes",
    "git",
    "infrastructure",
    "publishing",
    "persistence",
    "our configuration",
    "exfiltration",
    "containers",
    "detached",
    "other rights",
    "writing",
    "inline script",
    "hidden",
    "fork bomb",
]


WORST_FIRST: tuple[Family, ...] = (
    "fork bomb",
    # What cannot be taken back: code of others runs, or data is gone.
    "remote code",
    "exfiltration",
    "credentials",
    "our configuration",
    "other rights",
    "publishing",
    # What runs later, or lasts.
    "persistence",
    # What is outside of the project.
    "device",
    "system files",
    "services",
    "infrastructure",
    "containers",
    "writing",
    # What is lost.
    "sql",
    "deletion",
    "git",
    "permissions",
    "processes",
    # What is hidden says less than what is known.
    "hidden",
    "inline script",
    "detached",
)
"""In which order a person is shown why a command is asked about."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a command does, and for which it is not simply run.

    Attributes:
        why: completes «because it …».
        outside: what it needs the sandbox does not give (other rights, services, other machines, files elsewhere), so
            that it runs without one after a person's yes.
        undoable: it stays inside the roots, and what it takes away comes back by itself (`node_modules`, `build`).
        secrets: the files of credentials that the program which does it is given; absolute where that is known.
        place: the sensitive file or directory that it names and changes; '' for none.
    """

    level: Literal["dangerous", "forbidden"]
    family: Family
    why: str
    outside: bool = False
    undoable: bool = False
    secrets: tuple[str, ...] = ()
    place: str = ""


# How far it reaches.

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


# Patterns of dangerous commands: the second net behind the grammar, and the place where users add their own.
# They are searched in the whole command, and in each program that it may run as one line: its bare name, then its
# arguments without quotes. `^` is where such a line starts. Text that is only data has no line of its own.

DANGEROUS_PATTERNS: list[tuple[str, str]] = [
    (r"^(?:mkfs(?:\.\w+)?|wipefs|blkdiscard)\s.*/dev/", "writes over a raw device"),
    (r"^rm\s.*--no-preserve-root", "deletes the root directory"),
    (r"^(?:cmd|cmd\.exe)\s+/c\s+(?:del|rd|rmdir|format)\b", "deletes files"),
    (r"^(?:powershell|pwsh)\S*\s.*(?:remove-item|invoke-expression|\biex\b|-enc)", "runs an inline script"),
    (
        r"^(?:vssadmin|wbadmin)\s+delete|^bcdedit\b|^cipher\s+/w|^diskpart\b|^format\s+[a-z]:",
        "destroys what is on disks",
    ),
    (r"^\S*(?:xmrig|minerd|cpuminer|cgminer|ethminer|nbminer|t-rex)\b", "mines for somebody"),
    (r"^(?:insmod|rmmod|modprobe|kexec)\s+[^-]", "changes the kernel that runs"),
]
"""Commands that ask: `(regex, what it does)`. The list may be extended; letter case does not count."""
