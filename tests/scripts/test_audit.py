"""What `make audit` says of what it was told."""

from __future__ import annotations

import pytest

from scripts.audit import verdict


def test_without_the_network_it_says_that_nothing_was_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    assert verdict(1, "Traceback …\nrequests.exceptions.ConnectionError: Failed to resolve 'api.osv.dev'") == 0
    assert "nothing was looked at" in capsys.readouterr().err


def test_a_hole_and_a_failed_look_are_failures(capsys: pytest.CaptureFixture[str]) -> None:
    assert verdict(1, "Found 1 known vulnerability in 1 package") == 1
    assert verdict(2, "Traceback …\nValueError: the lock is no lock") == 1
    assert verdict(0, "No known vulnerabilities found") == 0
    assert "the lock is no lock" in capsys.readouterr().err
