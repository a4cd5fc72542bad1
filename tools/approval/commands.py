"""What a shell command would do: safe, ordinary, dangerous or forbidden.

The command is read with a grammar; each program that it may run is judged by what it does (`dangers/`), each script
in it by its own language (`scripts/`), and patterns are a second net. What is not understood is never safe.
"""

from __future__ import annotations

import os
from pathlib import Path

from tools.approval.command_patterns import DANGEROUS_PATTERNS
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


def classify_command(command: str, cwd: Path | None = None, roots: tuple[Path, ...] = ()) -> CommandClass:
    """The strongest class of all that `command` may run. Never raises; text alone, no disk.

    Args:
        cwd: where it would run, absolute; relative paths count as inside where it is not known.
        roots: what the session may change, absolute; `cwd` where there are none.
    """
    from tools.approval.classifying import classified  # noqa: PLC0415 - much to load, and a start needs none of it
    from tools.approval.dangers.places import Scene  # noqa: PLC0415

    own = os.environ.get("HERMES_HOME", "").strip().rstrip("/")
    home = os.path.expanduser("~")  # noqa: PTH111 - text
    folders = tuple(map(str, roots or (cwd or SOMEWHERE,)))
    scene = Scene(folders, home, own, is_placed=cwd is not None)
    return classified(command, cwd, roots, scene, tuple(DANGEROUS_PATTERNS))


def load_classifier() -> None:
    """Import what `classify_command` needs, so that the first command does not wait for it."""
    import tools.approval.classifying  # noqa: F401, PLC0415 - that is what it is for


def detect_dangerous_command(command: str) -> tuple[bool, str]:
    """Whether `command` would not simply run, and why."""
    found = classify_command(command)
    return found.level in {"dangerous", "forbidden"}, found.why
