"""What a look at a command brings to light."""

from __future__ import annotations

from typing import Literal

from tools.light_dataclass import dataclass

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
