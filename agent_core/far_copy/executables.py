"""Files that may be executed in a copy are made so here: by a command that is asked about like any other."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import replace

from agent_core.far_copy.copy import Change, FarCopy
from agent_core.far_copy.packing import fact_here
from tools.approval.actions import RunCommand
from tools.approval.gate import Gate
from tools.approval.policy import Confines, Rules
from tools.environments.atomic_writes import open_resolved
from tools.environments.remote.scripts import quoted
from tools.errors import Denied
from tools.os_compat import O_NOCTTY, O_NONBLOCK, set_mode

_MOST = 50


def rules_for(rules: Rules) -> Rules:
    """Those for such a command: it runs on this machine, whatever confines those of the copy."""
    return replace(rules, confines=Confines(lambda: "it is done on this machine, not in the copy"))


def make_executable(copy: FarCopy, changes: Sequence[Change], gate: Gate) -> Sequence[str]:
    """Let files be executed here that may be there, and are the same on both sides.

    Args:
        gate: asks about the command; its rules are those of `rules_for`.

    Returns:
        what the person and the model should know of those that were not made so.

    Raises:
        ToolInterrupted: the turn was cancelled. OSError: it cannot be stored that they are.
    """
    if not (wanted := changes[:_MOST]):
        return ()
    command = " ".join(("chmod +x --", *(quoted(change.name) for change in wanted)))
    try:
        gate.authorize(RunCommand(command, copy.top))
    except Denied as no:
        return [not_executable([change.name for change in wanted], f"chmod +x was refused: {no}")]
    left = [change.name for change in changes[_MOST:]]
    left += [change.name for change in wanted if not _done(copy, change)]
    copy.save({})
    return [not_executable(left)] if left else ()


def not_executable(names: Sequence[str], why: str = "chmod +x makes them so") -> str:
    """What is told of files that were not made so."""
    return f"May be executed there, but not here yet: {', '.join(names)}; {why}"


def _done(copy: FarCopy, change: Change) -> bool:
    path = copy.top / change.name
    now = fact_here(path)
    if now is None or change.there is None or now.digest != change.there.digest:
        return False  # it is another meanwhile
    try:
        descriptor = open_resolved(path, os.O_RDONLY | O_NONBLOCK | O_NOCTTY)
    except OSError:
        return False
    try:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        # As chmod does: for whom it may be read.
        set_mode(descriptor, mode | (mode & (stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)) >> 2)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    copy.settle(change.name, change.there)
    return True
