"""`python -m scripts.mutation [PATTERN …]`: try the mutants whose names fit, or all, and tell what no test noticed.

What has a verdict from an earlier run keeps it while the function is the same, unless it survived.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

from mutmut.configuration import config
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant

from scripts.mutation import mutants
from scripts.mutation.forked import SURVIVED
from scripts.mutation.typed import refused

_NO_TESTS, _REFUSED = 33, 37
_PATIENCE, _FACTOR = 10.0, 10.0


def main(patterns: list[str]) -> int:
    """Make the mutants, try those that are open, print what came of each file.

    Returns:
        0: every mutant was tried, however many survived; else the exit code of pytest.
    """
    mutants.make()
    files = mutants.all_files()
    by_types = refused(files)
    plan = []
    for each in files:
        for name, code in each.exit_code_by_key.items():
            tests = mutants.tests_of(name)
            if name in by_types:
                each.exit_code_by_key[name] = _REFUSED
            elif not tests:
                each.exit_code_by_key[name] = _NO_TESTS
            elif code in {None, SURVIVED, _NO_TESTS, _REFUSED} and _fits(name, patterns):
                plan.append((name, tests, _PATIENCE + _FACTOR * mutants.seconds(tests)))
        each.save()
    print(f"{len(by_types)} refused by the type checker, {len(plan)} to try", flush=True)
    code = _tried(plan, files) if plan else 0
    _report(files)
    return code


def _fits(name: str, patterns: list[str]) -> bool:
    return not patterns or any(fnmatch(name, pattern) for pattern in patterns)


def _tried(plan: list[tuple[str, list[str], float]], files: list[SourceFileMutationData]) -> int:
    """Run the plan, and keep its verdicts with the files."""
    place = mutants.PLACE.absolute()
    work, verdicts = place / "plan.jsonl", place / "verdicts.jsonl"
    work.write_text("".join(json.dumps(each) + "\n" for each in plan), encoding="utf-8")
    verdicts.write_text("", encoding="utf-8")
    settings = config()
    done = subprocess.run(
        (
            *(sys.executable, "-m", "pytest", "-q", "-s", "--tb=no", "-p", "scripts.mutation.forked"),
            *(*settings.pytest_add_cli_args, *settings.pytest_add_cli_args_test_selection),
        ),
        cwd=place,
        env={**os.environ, "MUTATION_PLAN": str(work), "MUTATION_VERDICTS": str(verdicts), "MUTANT_UNDER_TEST": ""},
        check=False,
    )
    of = {name: each for each in files for name in each.exit_code_by_key}
    for line in verdicts.read_text(encoding="utf-8").splitlines():
        name, code, took = json.loads(line)
        of[name].exit_code_by_key[name] = code
        of[name].durations_by_key[name] = took
    for each in files:
        each.save()
    return done.returncode


def _report(files: list[SourceFileMutationData]) -> None:
    """A line for each file, and every survivor as a diff in `mutants/survivors.diff`."""
    print(f"{'file':44} {'mutants':>8} {'types':>6} {'tests':>6} {'alive':>6} {'unreached':>9} {'open':>5}")
    diffs = []
    for each in files:
        codes = list(each.exit_code_by_key.values())
        alive, types, unreached = (codes.count(code) for code in (SURVIVED, _REFUSED, _NO_TESTS))
        still = codes.count(None)
        killed = len(codes) - alive - types - unreached - still
        print(f"{each.path!s:44} {len(codes):8} {types:6} {killed:6} {alive:6} {unreached:9} {still:5}")
        diffs += [
            f"# {name}\n{get_diff_for_mutant(name, path=each.path)}\n"
            for name, code in each.exit_code_by_key.items()
            if code in {SURVIVED, _NO_TESTS}
        ]
    Path(mutants.PLACE / "survivors.diff").write_text("\n".join(diffs), encoding="utf-8")
    print(f"{len(diffs)} survivors: {mutants.PLACE}/survivors.diff")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
