"""How a command in an editor's terminal ended, as editors tell it."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """The shell's status, or the name of the signal that ended it; both None where the editor knows neither."""

    code: int | None
    signal: str | None


def read_status(answer: Mapping[str, Any]) -> ExitStatus | None:
    """The status in an answer (ACP v1: `exitCode`, `signal`); None where it tells nothing.

    Editors name signals differently (SIGKILL, KILL, 9), or tell them as negative codes.
    """
    code, name = answer.get("exitCode"), answer.get("signal")
    if isinstance(name, (str, int)) and not isinstance(name, bool) and name not in ("", 0):
        return ExitStatus(None, _signal_name(str(name)))
    if not isinstance(code, int) or isinstance(code, bool):
        return None
    return ExitStatus(None, _signal_name(str(-code))) if code < 0 else ExitStatus(code, None)


def _signal_name(told: str) -> str:
    if told.isdecimal():
        try:
            return signal.Signals(int(told)).name
        except ValueError:
            return f"signal {told}"
    name = told.upper()
    return next((known for known in (name, f"SIG{name}") if known in signal.Signals.__members__), told)
