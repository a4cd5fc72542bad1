"""What bubblewrap is told; that it holds is in test_breakouts.py."""

import os
import subprocess

import pytest

from tools.environments.sandbox.bubblewrap import BubblewrapSandbox, bubblewrap_arguments
from tools.environments.sandbox.port import Confinement, Limits
from tools.environments.sandbox.probe import probe

needs_bubblewrap = pytest.mark.skipif(
    not any(each.name == "bubblewrap" and each.works for each in probe()), reason="no bubblewrap here"
)


def _after(arguments, option, place):
    return [n for n in range(len(arguments) - 1) if arguments[n] == option and arguments[n + 1] == str(place)]


def test_hidden_places_are_covered_after_the_writable_ones_that_hold_them(tmp_path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "token").write_text("t")
    confinement = Confinement("workspace-write", (tmp_path,), (tmp_path / "keys", tmp_path / "token"))
    found = bubblewrap_arguments(confinement)
    (bound,) = _after(found, "--bind-try", tmp_path)
    (covered,) = _after(found, "--tmpfs", tmp_path / "keys")
    assert bound < covered
    assert found[found.index(str(tmp_path / "token")) - 1] == os.devnull


def test_protected_places_are_bound_again_for_reading(tmp_path):
    confinement = Confinement("workspace-write", (tmp_path,), protected=(tmp_path / "x",))
    found = bubblewrap_arguments(confinement)
    assert _after(found, "--bind-try", tmp_path)[0] < _after(found, "--ro-bind-try", tmp_path / "x")[0]


@needs_bubblewrap
def test_a_writable_place_that_has_become_a_link_is_not_followed(tmp_path):
    base = tmp_path.resolve()
    (base / "outside").mkdir()
    (base / "root").mkdir()
    (base / "root" / "cache").symlink_to(base / "outside")
    sandbox = BubblewrapSandbox()
    script = f"echo x >{base}/root/f; echo x >{base}/outside/f"
    confinement = Confinement("workspace-write", (base / "root", base / "root" / "cache"))
    process = sandbox.popen(["sh", "-c", script], confinement, stderr=subprocess.DEVNULL)
    process.wait(20)
    sandbox.close()
    assert (base / "root" / "f").exists()
    assert not (base / "outside" / "f").exists()


def test_reading_only_binds_nothing_for_writing(tmp_path):
    found = bubblewrap_arguments(Confinement("read-only", (tmp_path,)))
    assert "--bind" not in found
    assert "--bind-try" not in found
    assert "--unshare-net" in found


def test_it_does_not_end_with_the_thread_that_started_it(tmp_path):
    assert "--die-with-parent" not in bubblewrap_arguments(Confinement("workspace-write", (tmp_path,)))


def test_without_the_program_there_is_no_sandbox(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OSError, match="no program bwrap on PATH"):
        BubblewrapSandbox()


@needs_bubblewrap
def test_limits_hold_inside(tmp_path):
    sandbox = BubblewrapSandbox()
    confinement = Confinement("workspace-write", (tmp_path,), limits=Limits(cpu_seconds=7, file_size=1024))
    process = sandbox.popen(["sh", "-c", "ulimit -t; ulimit -f"], confinement, stdout=subprocess.PIPE)
    assert process.communicate(timeout=20)[0].split() == [b"7", b"2"]
    sandbox.close()
