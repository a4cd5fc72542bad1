"""The server is started as an editor does, and judged by what it writes."""

import math
import sys

import pytest

from acp_adapter.cli.doctor import installation as checks
from acp_adapter.cli.doctor.installation import check_server

ANSWERS = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}}), flush=True)
"""


@pytest.fixture(autouse=True)
def _the_machine_may_be_busy(monkeypatch):
    monkeypatch.setattr(checks, "SLOW", math.inf)


@pytest.fixture
def started_by(tmp_path, monkeypatch):
    python = sys.executable
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    def started_by(program: str, interpreter: str = f"{python} -S") -> None:
        file = tmp_path / "hermes-acp"
        file.write_text(f"#!{interpreter}\n{program}")
        file.chmod(0o755)

    return started_by


def found(case):
    return {finding.check: finding for finding in check_server(case())}


def test_the_real_one_answers_writes_nothing_else_and_leaves_the_home_alone(case, home):
    findings = found(case)
    assert [(check, finding.state) for check, finding in findings.items()] == [("stdout", "ok"), ("server", "ok")]
    assert findings["server"].facts["initialize_seconds"] > 0
    assert list(home.iterdir()) == []


def test_what_is_printed_at_the_start_is_told(case, started_by):
    started_by(f"print('Welcome to Python!')\n{ANSWERS}")
    findings = found(case)
    assert (findings["stdout"].state, findings["server"].state) == ("fail", "ok")
    assert "Welcome to Python!" in findings["stdout"].text


def test_what_is_printed_at_the_end_is_told_too(case, started_by):
    started_by(f"{ANSWERS}\nprint('bye', end='')")
    assert found(case)["stdout"].state == "fail"


def test_one_that_fails_at_its_start_is_told_with_its_last_words(case, started_by):
    started_by("raise SystemExit('no module named tools')")
    finding = found(case)["server"]
    assert finding.state == "fail"
    assert "exit code 1" in finding.text
    assert "no module named tools" in finding.text


def test_one_that_is_silent_is_ended(case, started_by, monkeypatch):
    monkeypatch.setattr(checks, "SERVER_SECONDS", 0.3)
    started_by("import sys; sys.stdin.read(); import time; time.sleep(600)")
    assert "did not answer" in found(case)["server"].text


def test_one_that_opens_no_session_is_told(case, started_by):
    started_by(ANSWERS.replace("for line in sys.stdin", "for line in [sys.stdin.readline()]"))
    assert "opens no session" in found(case)["server"].text


def test_a_slow_start_is_a_warning(case, started_by, monkeypatch):
    monkeypatch.setattr(checks, "SLOW", 0.0)
    started_by(ANSWERS)
    assert found(case)["server"].state == "warn"


def test_words_on_stderr_are_a_warning(case, started_by):
    started_by(f"import sys; print('DeprecationWarning', file=sys.stderr)\n{ANSWERS}")
    assert found(case)["server"].state == "warn"


def test_a_program_that_is_not_there_is_told(case, started_by):
    started_by("", "/nowhere/python")
    (finding,) = check_server(case())
    assert finding.state == "fail"
    assert "could not be started" in finding.text
