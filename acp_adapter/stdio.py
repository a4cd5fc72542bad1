"""Takes stdin and stdout away from everyone but the transport (law 2: stdout belongs to the protocol)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from acp_adapter.ready_writes import hold_little
from acp_adapter.transport import Stdio

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_MOST_STRAY = 5 * 1024 * 1024


def claim_stdio(stray_output: Path | None) -> Stdio:
    """Keep private duplicates of descriptors 0 and 1, and point the public ones elsewhere.

    From then on a print, a library or a child process reads from the null device and writes to the file
    `stray_output` (the null device where it is None or cannot be opened).

    Raises:
        OSError: stdin or stdout is closed.
    """
    reader, writer = _private(0), _private(1)
    claimed = Stdio(reader, writer)
    hold_little(writer)
    null = os.open(os.devnull, os.O_RDWR)
    if null == 2:  # noqa: PLR2004 - stderr was closed: no file of ours may take its number and get its warnings
        null = os.dup(null)
    sink = _open_sink(stray_output)
    os.dup2(null, 0)
    os.dup2(null if sink is None else sink, 1)
    os.close(null)
    if sink is not None:
        os.close(sink)
    return claimed


def _private(public: int) -> int:
    """A duplicate that no child inherits."""
    if sys.platform == "win32":
        duplicate = os.dup(public)  # not inheritable
        msvcrt.setmode(duplicate, os.O_BINARY)  # else line ends are rewritten, and Ctrl-Z ends the input
        return duplicate
    # Never as 0, 1 or 2: where one of those is closed, a plain dup would take its number.
    return fcntl.fcntl(public, fcntl.F_DUPFD_CLOEXEC, 3)


def _open_sink(path: Path | None) -> int | None:
    if path is None:
        return None
    try:
        sink = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if os.fstat(sink).st_size <= _MOST_STRAY:
            return sink
        os.close(sink)
        # Other processes that write to it go on in what is the file before this one then.
        path.replace(path.with_name(f"{path.name}.1"))
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return None
