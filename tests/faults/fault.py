"""What goes wrong, where and when: made by a test, read by the launcher in the agent's process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

KILL, HALF, HANG, SLOW, PART = "kill", "half", "hang", "slow", "part"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        seam: what is called then: `os.replace`, `sqlite.write` (a system call of SQLite's), or a function of ours
            as `module:name`.
        act: `kill` (kill -9), `half` (half of a write, then kill -9), `hang` (wait while `during` is there), `slow`,
            `part` (a read or a write that does a part of what it could), or the name of an errno that the call fails
            with.
        when: «before» or «after» the call.
        nth: at which call of those that fit; errors go on from there unless `once`.
        caller: beginning of the name of the module of ours that calls it; '' for any.
        path: a part of the path that it is about, which ends with `|`; '' for any.
        during: a file; the fault is there while that is. '' for ever.
        writing: of `os.open` and `open`, only those for writing.
        holds: of `os.write`, only those that write this; '' for any.
    """

    seam: str
    act: str = KILL
    when: str = "before"
    nth: int = 1
    caller: str = ""
    path: str = ""
    during: str = ""
    once: bool = False
    writing: bool = False
    holds: str = ""


def write_plan(file: Path, faults: Sequence[Fault], clock: Path | None = None, *, signals: bool = False) -> None:
    """Write the launcher's plan.

    Args:
        clock: a file with the seconds that the agent's clock is ahead.
        signals: each thread gets signals all the time, which interrupt its system calls (EINTR).
    """
    plan = {
        "faults": [asdict(fault) for fault in faults],
        "clock": str(clock or ""),
        "signals": signals,
        "struck": str(struck_file(file)),
    }
    file.write_text(json.dumps(plan), encoding="utf-8")


def struck_file(plan: Path) -> Path:
    """Where the launcher notes each fault that struck, a line each: the number of it in the plan."""
    return plan.with_suffix(".struck")
