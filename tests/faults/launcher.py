"""Starts the agent with faults: `python -P -m tests.faults.launcher PLAN ARGUMENTS…`, in the agent's place.

So the program itself has no hooks. Processes that the agent starts have no faults.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from tests.faults.fault import Fault
from tests.faults.seams import wrap_seams
from tests.faults.sqlite_calls import wrap_sqlite
from tests.faults.striking import Strike


def main() -> int:
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    if plan["clock"]:
        _shift_clock(plan["clock"])
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


if __name__ == "__main__":
    sys.exit(main())
