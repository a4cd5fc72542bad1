"""How a check came out: exit codes, parts of pipes, and what the well-known runners print."""

from __future__ import annotations

from agent_core.check_commands import outcome_of
from tests.support.each import each
from tools.result import ShownOutput, ToolResult


def ran(command, code, output="", **facts):
    return ToolResult("", (ShownOutput(output, code),), {"command": command, "exit_code": code, **facts})


@each(
    "output",
    [
        "==== 1 failed, 3 passed in 0.12s ====", "1 failed, 3 passed in 0.12s", "2 errors in 0.31s",
        "FAILED tests/test_a.py::test_x - assert 1 == 2", "ERROR tests/test_a.py", "FAILED (failures=1, errors=2)",
        "Tests:       1 failed, 4 passed, 5 total", " Tests  2 failed | 3 passed (5)", "  3 failing",
        "# fail 1", "ℹ fail 2", "not ok 3 - adds", "test result: FAILED. 3 passed; 1 failed; 0 ignored",
        "error[E0308]: mismatched types", "error: could not compile `app`", "--- FAIL: TestAdd (0.00s)",
        "FAIL\texample.com/app\t0.004s", "src/main.c:3:5: error: expected ';'", "src/a.ts(3,5): error TS2322: Type",
        "src/a.ts:3:5 - error TS2322: Type", "app/a.py:3: error: Incompatible types  [assignment]",
        "Found 2 errors in 1 file (checked 3 source files)", "Found 3 errors.", "✖ 4 problems (3 errors, 1 warning)",
        "make: *** [Makefile:3: test] Error 1", "5 examples, 1 failure", "8 runs, 9 assertions, 1 failures, 0 errors",
        "FAILURES!", "[INFO]\nBUILD FAILURE", "BUILD FAILED in 2s", "Failed!  - Failed:     1, Passed:     3",
        "50% tests passed, 1 tests failed out of 2", "npm ERR! code ELIFECYCLE",
    ],
)  # fmt: skip
def test_a_failure_that_a_runner_prints_counts_although_the_exit_code_is_0(output):
    outcome = outcome_of(ran("npm test | tail -3", 0, f"collected\n{output}\n"))
    assert not outcome.passed
    assert outcome.failure.startswith("its output says `")


@each(
    "output",
    [
        "3 passed in 0.12s", "===== 3 passed, 1 xfailed in 0.10s =====", "OK", "0 failed, 3 passed", "# fail 0",
        "Tests:       5 passed, 5 total", "test result: ok. 3 passed; 0 failed; 0 ignored", "ok  \texample.com/app",
        "Found 1 error (1 fixed, 0 remaining).", "Found 0 errors.", "✖ 4 problems (0 errors, 4 warnings)",
        "5 examples, 0 failures", "8 runs, 9 assertions, 0 failures, 0 errors, 0 skips", "handles error: yes",
        "test_failed_login PASSED", "100% tests passed, 0 tests failed out of 2", "FAILOVER ready", "Success",
        "INFO error: retrying", "  warning: unused variable", "All checks passed!", "12 failed logins in 3 days",
    ],
)  # fmt: skip
def test_what_a_runner_prints_of_success_is_no_failure(output):
    assert outcome_of(ran("npm test", 0, f"collected\n{output}\n")).passed


@each(
    "output",
    [
        "----- Captured log call -----\nerror: bad\n==== 3 passed in 0.1s ====",
        "make: *** [x] Error 1 (ignored)\ndone",
        "not ok 2 - later # TODO\n# fail 0",
        "==== 1 failed in 0.2s ====\n==== 4 passed in 0.2s ====",
    ],
)
def test_a_failure_before_a_later_success_or_one_that_was_expected_is_none(output):
    assert outcome_of(ran("make test", 0, f"{output}\n")).passed


@each(
    ("command", "code", "statuses", "failure"),
    [
        ("pytest -q | tail -3", 0, [1, 0], "it ended with exit code 1 before the pipe"),
        ("pytest -q | head -3", 0, [141, 0], ""),
        ("cat in.txt | python app.py | tail", 0, [0, 2, 0], "it ended with exit code 2 before the pipe"),
        ("cd app && pytest -q 2>&1 | tail -3", 0, [1, 0], "it ended with exit code 1 before the pipe"),
        ("pytest -k 'a|b' | tail", 0, [1, 0], "it ended with exit code 1 before the pipe"),
        ("pytest -q | grep -v warn | tail", 0, [0, 1, 0], ""),
        ("pytest -q | tail -3", 0, None, ""),
        ("pytest -q | grep FAILED", 1, None, ""),
        ("pytest -q", 1, None, "it ended with exit code 1"),
        ("pytest -q", 2, None, "it ended with exit code 2"),
    ],
)
def test_exit_codes_and_those_of_the_parts_of_a_pipe_decide(command, code, statuses, failure):
    facts = {} if statuses is None else {"pipe_statuses": statuses}
    outcome = outcome_of(ran(command, code, **facts))
    assert (outcome.passed, outcome.failure) == (not failure, failure)


def test_a_run_of_pytest_that_collects_nothing_neither_passed_nor_failed():
    outcome = outcome_of(ran("pytest -k nothing", 5, "no tests ran in 0.01s"))
    assert (outcome.passed, outcome.failure) == (False, "")


def test_what_runs_on_or_took_too_long_has_shown_that_it_runs():
    assert outcome_of(ToolResult("", facts={"command": "npm start", "exit_code": None, "process": "p"})).passed
    assert outcome_of(ran("npm start", None, timed_out=True)).passed


def test_a_signal_is_a_failure():
    result = ToolResult("", (ShownOutput("", None, "SIGSEGV"),), {"command": "./a.out", "exit_code": None})
    assert outcome_of(result).failure == "it was ended by SIGSEGV"
