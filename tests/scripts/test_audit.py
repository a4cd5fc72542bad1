"""What `make audit` says of what it was told."""

from __future__ import annotations

import json

import pytest

from scripts.audit import Answer, answer_of, verdict

_BOTH = frozenset({"one", "two"})
_UNREACHED = Answer(problem="ConnectionError: api.osv.dev cannot be resolved")


def _asked(**answers: Answer) -> tuple[int, list[str]]:
    services: list[str] = []

    def ask(service: str) -> Answer:
        services.append(service)
        return answers[service]

    return verdict(ask), services


def test_what_nobody_could_be_asked_about_is_said_and_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    code, services = _asked(osv=_UNREACHED, pypi=Answer(silent=_BOTH))
    assert (code, services) == (2, ["osv", "pypi"])
    said = capsys.readouterr().err
    assert "nothing was looked at" in said
    assert "osv.dev could not be asked: ConnectionError: api.osv.dev cannot be resolved" in said
    assert "PyPI knows nothing of one, two" in said

    assert _asked(osv=_UNREACHED, pypi=_UNREACHED)[0] == 2
    assert "nothing was looked at" in capsys.readouterr().err


def test_the_second_service_is_asked_where_the_first_is_not_enough(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _asked(osv=Answer(told=_BOTH)) == (0, ["osv"])
    assert _asked(osv=_UNREACHED, pypi=Answer(told=_BOTH)) == (0, ["osv", "pypi"])
    part = {"told": frozenset({"one"}), "silent": frozenset({"two"})}
    assert _asked(osv=Answer(**part), pypi=Answer(told=frozenset({"two"}), silent=frozenset({"one"})))[0] == 0
    assert _asked(osv=Answer(**part), pypi=Answer(**part))[0] == 2
    assert "not everything was looked at" in capsys.readouterr().err


def test_a_hole_is_told_whatever_else_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    hole = Answer(holes=("one 1.0: CVE-1, mended in 1.1",), told=frozenset({"one"}), silent=frozenset({"two"}))
    assert _asked(osv=_UNREACHED, pypi=hole)[0] == 1
    assert "one 1.0: CVE-1, mended in 1.1" in capsys.readouterr().out


def test_what_the_program_writes_is_read() -> None:
    packages = [
        {"name": "one", "version": "1.0", "vulns": [{"id": "CVE-1", "fix_versions": ["1.1"]}]},
        {"name": "two", "version": "2.0", "vulns": [{"id": "CVE-2", "fix_versions": []}]},
        {"name": "three", "skip_reason": "Dependency not found on PyPI"},
    ]
    assert answer_of(json.dumps({"dependencies": packages}), "Found 2") == Answer(
        ("one 1.0: CVE-1, mended in 1.1", "two 2.0: CVE-2, mended in nothing yet"), _BOTH, frozenset({"three"})
    )
    failed = answer_of("", "Traceback …\nValueError: the lock is no lock\n")
    assert failed == Answer(problem="ValueError: the lock is no lock")
    assert answer_of("[]", "").problem == "it said nothing"
