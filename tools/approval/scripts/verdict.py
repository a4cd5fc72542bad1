"""What a look at a script brings to light."""

from __future__ import annotations

from tools.approval.dangers.finding import Finding, Level
from tools.light_dataclass import dataclass

INLINE = "runs an inline script"


@dataclass(frozen=True, slots=True)
class ScriptVerdict:
    """How far a script reaches.

    Attributes:
        level: safe only where it is proven to compute and print, and to read nothing but ordinary files.
        findings: what is dangerous or forbidden in it; empty for safe and ordinary ones.
        why: completes «because it …»; '' for a safe one.
    """

    level: Level
    findings: tuple[Finding, ...] = ()
    why: str = ""


SAFE = ScriptVerdict("safe")
ORDINARY = ScriptVerdict("ordinary", (), INLINE)


def verdict_of(findings: tuple[Finding, ...], *, is_proven: bool) -> ScriptVerdict:
    """The verdict that follows from what was found."""
    if not findings:
        return SAFE if is_proven else ORDINARY
    # A stable order: the worst first, otherwise as they stand in the script.
    ordered = tuple(sorted(dict.fromkeys(findings), key=lambda found: found.level != "forbidden"))
    return ScriptVerdict(ordered[0].level, ordered, ordered[0].why)


def dangerous(finding: Finding) -> ScriptVerdict:
    """The verdict for one finding."""
    return verdict_of((finding,), is_proven=False)
