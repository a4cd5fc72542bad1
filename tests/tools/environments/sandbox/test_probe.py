"""What works here is found by trying it."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tools.environments.sandbox import probe as choice
from tools.environments.sandbox.port import Probed
from tools.environments.sandbox.probe import _break_out, make_sandbox, probe, why_none

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mechanisms of Linux")


_KILLED = """
import os, signal
from tools.environments.sandbox.probe import _break_out

class Killing:
    def popen(self, *_arguments, **_popen):
        os.kill(os.getpid(), signal.SIGKILL)

_break_out(Killing())
"""


class Free:
    """A sandbox that is none."""

    name = "free"

    def popen(self, arguments, confinement, **popen):
        return subprocess.Popen(arguments, **popen)


class Blind(Free):
    """One that keeps files from being changed, and hides nothing."""

    def popen(self, arguments, confinement, **popen):
        Path(arguments[-1]).chmod(0o500)
        Path(arguments[-1], "target").chmod(0o400)
        return subprocess.Popen(arguments, **popen)


class Dead(Free):
    """One that starts nothing."""

    def popen(self, arguments, confinement, **popen):
        return subprocess.Popen(["false"], **popen)


def test_every_mechanism_says_what_it_promises_or_why_it_does_not_work():
    found = tuple(probe())
    assert [each.name for each in found] == ["landlock", "bubblewrap"]
    for each in found:
        assert bool(each.promises) == each.works == (not each.why_not)


def test_a_sandbox_that_confines_nothing_is_seen_through():
    assert "can change files outside" in _break_out(Free())


@pytest.mark.skipif(os.geteuid() == 0, reason="modes do not stop root")
def test_a_sandbox_that_hides_nothing_is_seen_through():
    assert "can read what is hidden" in _break_out(Blind())


def test_a_sandbox_that_starts_nothing_does_not_count_as_a_safe_one():
    assert "starts no program" in _break_out(Dead())


def test_what_a_process_that_was_killed_while_it_tried_has_left_goes_with_the_next(tmp_path, monkeypatch):
    killed = subprocess.run([sys.executable, "-c", _KILLED], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    _break_out(Dead())
    assert not list(tmp_path.iterdir())


def test_the_best_that_works_is_made(monkeypatch):
    tried = (Probed("landlock", works=False, why_not="too old"), Probed("bubblewrap", works=False, why_not="missing"))
    monkeypatch.setattr(choice, "MECHANISMS", [lambda each=each: each for each in tried])
    assert make_sandbox() is None
    assert why_none() == "landlock: too old; bubblewrap: missing"


def test_what_works_here_is_made():
    working = [each.name for each in probe() if each.works]
    sandbox = make_sandbox()
    assert (sandbox.name if sandbox is not None else None) == (working[0] if working else None)
    assert why_none() == "" if working else why_none()
    if sandbox is not None:
        sandbox.close()
