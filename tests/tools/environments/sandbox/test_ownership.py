"""Modes and owners: changed by us for the program, where it may change the files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.environments.sandbox.test_breakouts import NoHost, needs_landlock
from tools.environments.sandbox.landlock_sandbox import LandlockSandbox
from tools.environments.sandbox.network.session_network import SessionNetwork

pytestmark = needs_landlock


@pytest.fixture
def run(world):
    """Runs a program in the root, under a sandbox with a network guard; what it printed."""
    guard = SessionNetwork(NoHost())
    sandbox = LandlockSandbox(guard)

    def run(code):
        process = sandbox.popen(
            [sys.executable, "-I", "-c", f"import os, sys\nsys.stdin.readline()\n{code}"],
            world.confinement(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=world.root,
        )
        return process.communicate(b"go\n", 20)[0].decode()

    (world.root / "file").write_text("")
    yield run
    guard.close()
    sandbox.close()


@pytest.mark.parametrize(
    "code",
    [
        "os.chmod('file', 0o640)",
        "os.chmod(os.path.abspath('file'), 0o640)",
        "os.fchmod(os.open('file', os.O_RDONLY), 0o640)",
        "os.chmod('file', 0o640, dir_fd=os.open('.', os.O_RDONLY))",
        "os.chmod(f'/proc/self/fd/{os.open(\"file\", os.O_RDONLY)}', 0o640)",
        "os.chmod(f'/dev/fd/{os.open(\"file\", os.O_RDONLY)}', 0o640)",
        "os.symlink('file', 'link'); os.chmod('link', 0o640)",
        "os.chdir('/'); os.chmod('{root}/file', 0o640)",
    ],
)
def test_a_mode_in_the_root_changes_however_it_is_named(run, world, code):
    assert run(code.replace("{root}", str(world.root))) == ""
    assert (world.root / "file").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("os.chmod('missing', 0o600)", "FileNotFoundError"),
        ("os.chmod('file/x', 0o600)", "NotADirectoryError"),
        ("os.chmod('', 0o600)", "FileNotFoundError"),
        ("os.fchmod(999, 0o600)", "Bad file descriptor"),
        ("os.chmod('x' * 5000, 0o600)", "File name too long"),
    ],
)
def test_errors_are_those_of_the_call(run, code, problem):
    assert problem in run(code)


def test_an_owner_in_the_root_stays_who_it_is(run, world):
    assert run(f"os.chown('file', {os.getuid()}, {os.getgid()}); os.lchown('file', -1, -1)") == ""


def test_a_pipe_is_the_programs_own(run):
    assert run("os.fchmod(os.pipe()[0], 0o600)") == ""


def test_a_file_that_has_no_name_any_more_is_the_programs_own(run):
    assert run("held = os.open('gone', os.O_CREAT); os.unlink('gone'); os.fchmod(held, 0o600)") == ""


def test_what_others_have_mounted_at_the_path_of_a_root_is_not_changed(run, world):
    """A container, which this program could change as its user can."""
    script = 'mount -t tmpfs none "$1" && touch "$1/file" && chmod 600 "$1/file" && echo ready && exec cat'
    arguments = ["unshare", "-m", "sh", "-c", script, "sh", str(world.root)]
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as other:
        if other.stdout.readline() != b"ready\n":
            pytest.skip("nothing can be mounted here")
        there = Path(f"/proc/{other.pid}/root{world.root}/file")
        assert "PermissionError" in run(f"os.chmod({str(there)!r}, 0o666)")
        assert there.stat().st_mode & 0o777 == 0o600


def test_the_hidden_is_not_changed(run, world):
    assert "PermissionError" in run(f"os.chmod({str(world.hidden)!r}, 0o777)")
    assert world.look() == world.before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes others")
def test_who_has_become_another_user_has_that_users_rights(run, world):
    (world.root / "file").chmod(0o600)
    printed = run("os.setgroups([]); os.setuid(64999); os.chmod('/proc/self/cwd/file', 0o666)")
    assert "PermissionError" in printed
    assert (world.root / "file").stat().st_mode & 0o777 == 0o600
