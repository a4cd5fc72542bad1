"""Starts the agent with faults: `python -P -m tests.faults.launcher PLAN ARGUMENTS…`, in the agent's place.

So the program itself has no hooks. Processes that the agent starts have no faults.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from tests.faults.fault import Fault
from tests.faults.seams import wrap_seams
from tests.faults.sqlite_calls import wrap_sqlite
from tests.faults.striking import Strike

_BETWEEN_SIGNALS = 0.003


def main() -> int:
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    if plan["clock"]:
        _shift_clock(plan["clock"])
    if plan["signals"]:
        _interrupt_all_threads()
    struck = Path(plan["struck"])
    strikes = [Strike(number, Fault(**fault), struck) for number, fault in enumerate(plan["faults"])]
    wrap_sqlite(strikes)
    wrap_seams(strikes)
    from acp_adapter.entry import main as run  # noqa: PLC0415 - nothing of it may be loaded before

    return run(sys.argv[2:])


def _shift_clock(file: str) -> None:
    """The wall clock is ahead by what the file says now; the monotonic one goes on."""
    real, real_ns, read, opened, close = time.time, time.time_ns, os.read, os.open, os.close

    def ahead() -> float:
        descriptor = opened(file, os.O_RDONLY)
        try:
            return float(read(descriptor, 100) or b"0")
        finally:
            close(descriptor)

    time.time = lambda: real() + ahead()
    time.time_ns = lambda: real_ns() + int(ahead() * 1e9)


def _interrupt_all_threads() -> None:
    """A signal that does nothing, every few milliseconds: whatever a thread waits in comes back early (EINTR)."""
    signal.signal(signal.SIGWINCH, lambda *_: None)

    def strike() -> None:
        pause = threading.Event()
        while True:
            pause.wait(_BETWEEN_SIGNALS)
            for thread in threading.enumerate():
                if thread.ident is not None and thread is not threading.current_thread():
                    with contextlib.suppress(ProcessLookupError):  # it has ended
                        signal.pthread_kill(thread.ident, signal.SIGWINCH)

    threading.Thread(target=strike, name="signals", daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
