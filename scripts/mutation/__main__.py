"""`python -m scripts.mutation [PATTERN …]`: try the mutants whose names fit, or all, and tell what no test noticed.

What has a verdict from an earlier run keeps it while the function is the same, unless it survived.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fnmatch import fnmatch

from mutmut.configuration import config
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant

from scripts.mutation import mutants
from scripts.mutation.explained import PLACE as EXPLAINED
from scripts.mutation.explained import explanation_of, explanations
from scripts.mutation.forked import SURVIVED
from scripts.mutation.report import Row, table, together
from scripts.mutation.typed import refused

_NO_TESTS, _REFUSED = 33, 37
_PATIENCE, _FACTOR = 10.0, 10.0


def main(patterns: list[str]) -> int:
    """Make the mutants, try those that are open, print what came of each file.

    Returns:
        0: every mutant that fits was tried, and is noticed by a test, refused by the types or explained; 1: not so;
        else the exit code of pytest.
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
    is_well = _told(files, patterns)
    return code or int(not is_well)


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


def _told(files: list[SourceFileMutationData], patterns: list[str]) -> bool:
    """Print the table, write the survivors that nobody has explained to `mutants/survivors.diff`.

    Returns:
        whether there is none among the mutants that fit, all of them were tried, and every explanation is needed.
    """
    known = explanations(EXPLAINED.read_text(encoding="utf-8"))
    rows, left, used, is_open = [], [], set(), False
    for each in files:
        codes = each.exit_code_by_key
        alive = [name for name, code in codes.items() if code in {SURVIVED, _NO_TESTS}]
        diffs = {name: get_diff_for_mutant(name, path=each.path) for name in alive}
        reasons = {name: explanation_of(known, name, diff) for name, diff in diffs.items()}
        used |= {reason for reason in reasons.values() if reason}
        unexplained = [name for name, reason in reasons.items() if reason is None]
        open_names = [name for name, code in codes.items() if code is None]
        is_open |= any(_fits(name, patterns) for name in (*unexplained, *open_names))
        left += [f"# {name}\n{diffs[name]}\n" for name in unexplained]
        refused = list(codes.values()).count(_REFUSED)
        rows.append(
            Row(str(each.path), len(codes), refused, len(alive) - len(unexplained), len(unexplained), len(open_names))
        )
    (mutants.PLACE / "survivors.diff").write_text("\n".join(left), encoding="utf-8")
    print(table(rows))
    print(f"{len(left)} survivors without an explanation: {mutants.PLACE}/survivors.diff")
    needless = [] if together(rows).untried else [each for each in known if each not in used]
    for each in needless:
        print(f"explains nothing any more: {each.why} ({', '.join(each.mutants)})")
    return not is_open and not needless


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
