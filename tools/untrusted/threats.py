"""What the scanner tells of a text."""

from __future__ import annotations

from typing import Literal

from tools.light_dataclass import dataclass

Kind = Literal["context", "skill", "memory", "tool_result", "web"]
"""Where a text comes from. The first three become a part of what the model is told, and may be blocked."""

Family = Literal[
    "override",
    "impersonation",
    "exfiltration",
    "concealment",
    "disarming",
    "credentials",
    "persistence",
    "payload",
    "tool_call",
    "invisible",
]

FAMILY_WORDS: dict[Family, str] = {
    "override": "takes back the agent's instructions",
    "impersonation": "pretends to be the system or the user",
    "exfiltration": "wants data sent away",
    "concealment": "wants something hidden from the user",
    "disarming": "wants questions and safety switched off",
    "credentials": "wants credentials collected",
    "persistence": "wants to be run or read again later",
    "payload": "wants something hidden in it decoded or run",
    "tool_call": "imitates a tool call or its result",
    "invisible": "holds characters that nobody sees",
}
"""What a text of each family does."""


@dataclass(frozen=True, slots=True)
class Threat:
    """One place that looks like an attack.

    Attributes:
        line: counted from 1.
        excerpt: what stands there, one line, short, safe to show.
        why: completes «it …».
        strong: enough to block a file alone; of weak ones it takes two families.
        quoted: it stands in quotes or in code, in a text about such attacks; it blocks nothing.
    """

    family: Family
    line: int
    excerpt: str
    why: str
    strong: bool = True
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What was found in a text.

    Attributes:
        findings: by line.
        is_blocked: the text must not become a part of what the model is told; only for context, skill and memory.
        cleaned: the text without the characters that nobody sees.
    """

    findings: tuple[Threat, ...]
    is_blocked: bool
    cleaned: str

    @property
    def reason(self) -> str:
        """The findings in one sentence for people: «it … (line 3: «…»)»; '' where there are none."""
        told = dict.fromkeys(threat.family for threat in sorted(self.findings, key=lambda found: not found.strong))
        parts = []
        for family in list(told)[:3]:
            first = next(threat for threat in self.findings if threat.family == family)
            parts.append(f"it {first.why} (line {first.line}: «{first.excerpt}»)")
        return ", and ".join(parts)
