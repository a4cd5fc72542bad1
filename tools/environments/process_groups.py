"""Signals to a whole process group."""

from __future__ import annotations

import os


def signal_group(group: int, signal_number: int) -> bool:
    """Send a signal to every process of `group`.

    Returns:
        False when there is nobody left in it that we may signal.
    """
    try:
        os.killpg(group, signal_number)
    except (ProcessLookupError, PermissionError):
        # macOS answers EPERM, not ESRCH, for a group of zombies.
        return False
    return True


def group_is_alive(group: int) -> bool:
    """True while a process of `group` exists (an unreaped one counts)."""
    return signal_group(group, 0)
