"""`python -m benchmarks`: measures, prints a table, writes the samples to a file, compares with what is kept."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import comparing, report, runs
from benchmarks.client import AgentFailed
from benchmarks.runs import NoSuchRun, Run

if TYPE_CHECKING:
    from benchmarks.measuring import Measuring

_LATEST = Path(__file__).parent / "results" / "latest.json"
_COMMITTED = Path(__file__).parent / "results" / "baseline.json"
_WORSE, _IMPOSSIBLE = 1, 2


def main() -> int:
    """Returns 1 when a figure is worse than the committed one, 2 when there is nothing to compare or keep."""
    chosen = _arguments()
    try:
        if chosen.keep:
            return _keep(chosen.json, chosen.committed)
        then = runs.load(chosen.committed) if chosen.compare else None
        from benchmarks.measuring import measuring  # noqa: PLC0415 - it loads all that is measured in process

        with measuring(quick=chosen.quick) as measured:
            now = _measure(measured, chosen)
            return _compare(measured, then, now, chosen.only) if then else 0
    except NoSuchRun as problem:
        print(f"benchmarks: {problem}. Make it with `make bench` and `make bench-keep`.", file=sys.stderr)
    except AgentFailed as problem:
        print(f"benchmarks: {problem}", file=sys.stderr)
    return _IMPOSSIBLE


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description="Measure hermes-acp against its floors.")
    parser.add_argument("--quick", action="store_true", help="few repetitions: a look, not a measurement")
    parser.add_argument("--only", nargs="+", default=[], metavar="SUBJECT", help="files of this directory: startup …")
    parser.add_argument("--json", type=Path, default=_LATEST, metavar="PATH", help="where the samples go")
    parser.add_argument("--compare", action="store_true", help="compare with the committed run; 1 if worse")
    parser.add_argument("--keep", action="store_true", help="measure nothing: make the last run the committed one")
    parser.add_argument("--committed", type=Path, default=_COMMITTED, metavar="PATH", help="another file for it")
    return parser.parse_args()


def _measure(measured: Measuring, chosen: argparse.Namespace) -> Run:
    here, started = report.machine(), time.monotonic()
    sections = measured.all_of(chosen.only)
    seconds = time.monotonic() - started
    circumstances = {**here, "quick": chosen.quick, "only": chosen.only, "seconds": round(seconds, 1)}
    run = runs.run_of(sections, circumstances, measured.yardstick)
    runs.save(chosen.json, run, sections)
    print(f"\n\nhermes-acp and its floors, medians; {here['python']}, {here['system']}, {here['cores']} cores\n")
    print(report.table(sections))
    print(f"\n{seconds:.0f} s; load of the machine before: {here['load']}; all samples: {chosen.json}")
    return run


def _compare(measured: Measuring, then: Run, now: Run, only: list[str]) -> int:
    found = comparing.compare(then, now)
    if only:
        found = [one for one in found if one.now is not None]
    if doubtful := list(dict.fromkeys(one.section for one in found if one.verdict == "worse")):
        # A busy moment is no fault: what seems worse is measured once more, and is worse if it is so both times.
        again = runs.run_of(measured.again(doubtful), now.circumstances, measured.yardstick)
        found = comparing.confirmed(found, comparing.compare(then, again))
    facts = then.circumstances
    print(f"\n\nThen: {facts.get('commit')} of {facts.get('date')}. Now: {now.circumstances['commit']}.")
    print("\n".join(comparing.differences(then, now)))
    print(report.comparison(found))
    worse = [one for one in found if one.verdict == "worse"]
    for one in worse:
        print(f"Worse than the committed run: {one.section}: {one.title}", file=sys.stderr)
    return _WORSE if worse else 0


def _keep(latest: Path, committed: Path) -> int:
    run = runs.load(latest)
    if only := run.circumstances.get("only"):
        raise NoSuchRun(f"{latest} holds {', '.join(only)} only")
    runs.save(committed, run)
    print(f"{committed} holds the run of commit {run.circumstances.get('commit')} now; commit it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
