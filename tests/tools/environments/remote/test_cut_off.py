"""What becomes of what did not arrive whole: a file stays as it was, and no command is run twice."""

import subprocess

import pytest

from agent_core.cancel import CancelToken
from tests.support.local_machine import LocalMachine
from tools.environments.guardian import Guardian
from tools.environments.remote.connection import Streams
from tools.environments.remote.session import FarSide
from tools.errors import CommandError, FileAccessError
from tools.shell.session import ShellCommand

BEFORE, AFTER = b"old\n" * 10_000, b"new\n" * 100_000


class DeafMachine(LocalMachine):
    """Once, a script is run and nothing is heard of it, for the connection breaks off."""

    is_deaf = False
    keeper: subprocess.Popen[bytes]

    def connect(self, script: str, streams: Streams) -> subprocess.Popen[bytes]:
        self.keeper = super().connect(script, streams)
        return self.keeper

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        if self.is_deaf:
            self.is_deaf = False
            self.keeper.kill()
            self.keeper.wait()
            script = f"{{ {script}\n}} >/dev/null 2>&1"
        return super().start(script, streams, terminal=terminal)


class CutMachine(LocalMachine):
    """Once `is_cutting`, a script gets the first bytes of its input, and then the input's end."""

    is_cutting = False

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        if self.is_cutting:
            quoted = script.replace("'", "'\\''")
            script = f"dd bs=1 count=100000 2>/dev/null | sh -c '{quoted}'"
        return super().start(script, streams, terminal=terminal)


@pytest.fixture
def machine_and_files():
    guardian, machine = Guardian(), CutMachine()
    side = FarSide(machine, guardian)
    yield machine, side.files()
    side.close()
    guardian.kill_all()


def test_a_file_stays_as_it_was_when_the_connection_breaks_off_in_its_new_content(machine_and_files, tmp_path):
    machine, files = machine_and_files
    path = tmp_path / "a.txt"
    path.write_bytes(BEFORE)
    machine.is_cutting = True
    with pytest.raises(FileAccessError):
        files.write(path, AFTER, expected=BEFORE)
    assert path.read_bytes() == BEFORE
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]


def test_a_command_that_may_have_begun_is_not_run_again(tmp_path, monkeypatch):
    # A keeper that is killed leaves its directory behind.
    (tmp_path / "kept").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "kept"))
    guardian, machine = Guardian(), DeafMachine()
    side = FarSide(machine, guardian)
    side.facts()
    machine.is_deaf = True
    command = ShellCommand("echo once >> done.txt", tmp_path, 20.0)
    with pytest.raises(CommandError, match="broke off"):
        side.environment.run(command, lambda _text: None, CancelToken())
    assert (tmp_path / "done.txt").read_text() == "once\n"
    side.environment.run(command, lambda _text: None, CancelToken())
    assert (tmp_path / "done.txt").read_text() == "once\nonce\n"
    side.close()
    guardian.kill_all()


def test_no_half_of_a_new_file_is_left_when_the_connection_breaks_off(machine_and_files, tmp_path):
    machine, files = machine_and_files
    machine.is_cutting = True
    with pytest.raises(FileAccessError):
        files.write(tmp_path / "b.txt", AFTER, expected=None)
    assert list(tmp_path.iterdir()) == []
