"""How a process ended, as the two things that it can be."""

from __future__ import annotations

import signal


def exit_of(returncode: int | None) -> tuple[int | None, str | None]:
    """The exit code, or the name of the signal (SIGKILL); neither while it is not known."""
    if returncode is None or returncode >= 0:
        return returncode, None
    try:
        return None, signal.Signals(-returncode).name
    except ValueError:
        return None, f"signal {-returncode}"
