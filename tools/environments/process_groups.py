"""Signals to a whole process group."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import Any

_TASKKILL_SECONDS = 10.0

UNSEEN: dict[str, Any] = {}
"""For `subprocess`: no window opens for the child, where programs have windows."""
APART: dict[str, Any] = {"start_new_session": True}
"""The same, and the child has a group of its own."""
if sys.platform == "win32":
    UNSEEN = {"creationflags": subprocess.CREATE_NO_WINDOW}
    APART = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}


def signal_group(group: int, signal_number: int) -> bool:
    """Send a signal to every process of `group`.

    Returns:
        False when there is nobody left in it that we may signal.
    """
    if sys.platform == "win32":
        return _signal_tree(group, signal_number)
    try:
        os.killpg(group, signal_number)
    except (ProcessLookupError, PermissionError):
        # macOS answers EPERM, not ESRCH, for a group of zombies.
        return False
    return True


if sys.platform == "win32":

    def _signal_tree(root: int, signal_number: int) -> bool:
        """End a process with all that it has started, the nearest that Windows has to a group; 0 only asks."""
        forced = () if signal_number in {0, signal.SIGINT} else ("/F",)
        words = ("tasklist", "/NH", "/FI", f"PID eq {root}") if not signal_number else ("taskkill", "/T", *forced)
        target = () if not signal_number else ("/PID", str(root))
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            ran = subprocess.run(
                (*words, *target),
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TASKKILL_SECONDS,
                creationflags=subprocess.CREATE_NO_WINDOW,
            )
            return str(root).encode() in ran.stdout if not signal_number else ran.returncode == 0
        return False


def group_is_alive(group: int) -> bool:
    """True while a process of `group` exists (an unreaped one counts)."""
    return signal_group(group, 0)
