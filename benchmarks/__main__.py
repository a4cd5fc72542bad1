"""`python -m benchmarks`: measures, prints one table, and writes the samples to a file."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import (
    cancel,
    commands,
    compression,
    cost,
    delegation,
    faults,
    many_sessions,
    mcp_calls,
    memory,
    report,
    sessions,
    sizes,
    startup,
    streaming,
    tool_calls,
    tool_turns,
)
from benchmarks.client import AgentFailed
from benchmarks.figures import Section
from benchmarks.model import Model
from benchmarks.stage import FULL, QUICK, Stage

_LATEST = Path(__file__).parent / "results" / "latest.json"
_SUBJECTS = (
    startup, memory, streaming, tool_turns, cancel, faults, many_sessions, sessions, tool_calls, commands,
    compression, mcp_calls, cost, delegation, sizes,
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser("python -m benchmarks", description="Measure hermes-acp against its floors.")
    parser.add_argument("--quick", action="store_true", help="few repetitions: a look, not a measurement")
    parser.add_argument("--json", type=Path, default=_LATEST, metavar="PATH", help="where the samples go")
    chosen = parser.parse_args()
    here, started = report.machine(), time.monotonic()
    try:
        sections = _measure(quick=chosen.quick)
    except AgentFailed as problem:
        print(f"benchmarks: {problem}", file=sys.stderr)
        return 1
    seconds = time.monotonic() - started
    report.save(chosen.json, sections, {**here, "quick": chosen.quick, "seconds": round(seconds, 1)})
    print(f"hermes-acp and its floors, medians; {here['python']}, {here['system']}, {here['cores']} cores\n")
    print(report.table(sections))
    print(f"\n{seconds:.0f} s; load of the machine before: {here['load']}; all samples: {chosen.json}")
    return 0


def _measure(*, quick: bool) -> list[Section]:
    found = []
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as directory, Model() as model:
        stage = Stage(Path(directory).resolve(), model, QUICK if quick else FULL)
        for subject in _SUBJECTS:
            print(f"{subject.__name__.partition('.')[2]} …", file=sys.stderr, end=" ", flush=True)
            found.append(subject.measure(stage))
        print(file=sys.stderr)
    return found


if __name__ == "__main__":
    sys.exit(main())
