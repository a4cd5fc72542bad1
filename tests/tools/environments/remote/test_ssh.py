"""What ssh adds to the ports' contracts: state, terminals, background processes, and connections that break off."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.processes import has_ended
from tests.support.ssh_server import needs_sshd, ssh_server
from tests.support.waiting import wait_until
from tools.environments.guardian import Guardian
from tools.environments.local_commands import LocalProcesses
from tools.environments.remote.commands import Cancelled
from tools.environments.remote.session import FarSide
from tools.environments.remote.ssh import SshMachine, SshTarget
from tools.environments.temp_directories import OwnDirectory
from tools.errors import CommandError
from tools.ports import CommandSpec
from tools.shell.session import ProcessSpec, ShellCommand, ShellMemory

pytestmark = needs_sshd


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with ssh_server(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture
def server(tmp_path):
    with ssh_server(tmp_path / "sshd") as server:
        yield server


@pytest.fixture(scope="module")
def side(shared):
    """One connection, for tests that leave it as it was."""
    guardian = Guardian()
    side = FarSide(SshMachine(shared.target()), guardian)
    yield side
    side.close()
    guardian.kill_all()


def run(side, command, cwd=Path("/tmp"), timeout=20.0, live=None, token=None, **spec):
    spec = ShellCommand(command, cwd, timeout, **spec)
    return side.environment.run(spec, live or (lambda _text: None), token or CancelToken())


def test_the_shell_leaves_its_directory_and_variables(side, tmp_path):
    plain = run(side, "true", tmp_path)
    assert (plain.left.cwd, plain.left.added(), plain.left.removed()) == (tmp_path, {}, ())
    (tmp_path / "sub").mkdir()
    outcome = run(side, "cd sub; export MINE='a b\nc' PAGER=less; unset USER", tmp_path)
    assert outcome.left.cwd == tmp_path / "sub"
    assert outcome.left.added() == {"MINE": "a b\nc", "OLDPWD": str(tmp_path)}
    assert outcome.left.removed() == ("USER",)
    assert outcome.not_kept == ("PAGER",)
    again = run(side, 'echo "$MINE|${USER-none}"', tmp_path, env={"MINE": "a b\nc"}, unset=("USER",))
    assert again.output == "a b\nc|none\n"


def test_variables_do_not_stand_among_the_processes(side, tmp_path):
    outcome = run(side, "ps -e -o args", tmp_path, env={"MINE": "not-for-others"})
    assert "not-for-others" not in outcome.output


def test_what_ssh_speaks_is_not_what_commands_there_speak(shared, guardian, tmp_path, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    side = FarSide(SshMachine(shared.target(SendEnv="LANG LC_*")), guardian)
    assert run(side, 'echo "${LC_ALL-none}|$LC_CTYPE|$LANG"', tmp_path).output == "none|C.UTF-8|C.UTF-8\n"
    side.close()


def test_what_is_no_text_and_what_looks_like_a_script_comes_through(side, tmp_path):
    command = "printf '%s|' 'a\\nb' \"it's\" '$HOME' '%d' 'größe'; printf '\\377\\000x'"
    assert run(side, command, tmp_path).output == "a\\nb|it's|$HOME|%d|größe|\ufffd\0x"


def test_a_long_command_is_no_trouble_unless_it_is_too_long(side, tmp_path):
    text = "x" * 100_000
    assert run(side, f"wc -c <<'END'\n{text}\nEND", tmp_path).output.strip() == "100001"
    with pytest.raises(CommandError, match="too long"):
        run(side, f"echo {'x' * 200_000}", tmp_path)


def test_a_program_at_a_terminal_has_one(side, tmp_path):
    outcome = run(side, "test -t 0 && test -t 1 && stty size && cd /", tmp_path, pty=True)
    assert (outcome.output, outcome.exit_code) == ("40 120\r\n", 0)
    assert outcome.left.cwd == Path("/")


def test_output_comes_while_the_command_runs(side, tmp_path):
    os.mkfifo(tmp_path / "go")
    seen = []

    def live(text):
        seen.append(text)
        if "begun" in text:
            (tmp_path / "go").write_text("on\n")

    outcome = run(side, f"echo begun; read line < {tmp_path}/go; echo $line", tmp_path, live=live)
    assert outcome.output == "begun\non\n"


def test_the_time_out_ends_what_the_command_started_there(side, tmp_path):
    outcome = run(side, "sleep 60 & echo $! > pid; trap '' TERM; sleep 61", tmp_path, timeout=0.5)
    assert outcome.timed_out
    wait_until(lambda: has_ended(int((tmp_path / "pid").read_text())))


def test_a_background_process_is_typed_into_watched_and_ended(side, tmp_path):
    processes = LocalProcesses(side.environment, ShellMemory(tmp_path))
    events = []
    processes.subscribe(lambda event: event.match and events.append(event))
    info = processes.start(
        ProcessSpec("echo $PPID > pid; read a; echo got $a; sleep 60", tmp_path, watch_patterns=("got",))
    )
    processes.write(info.id, "it", submit=True)
    wait_until(lambda: events)
    assert events[0].match.line == "got it"
    assert processes.poll(info.id).info.pid == int((tmp_path / "pid").read_text())
    ended = processes.kill(info.id)
    assert (ended.running, ended.signal) == (False, "SIGTERM")
    short = processes.start(ProcessSpec("exit 7", tmp_path, notify_on_complete=True))
    wait_until(lambda: not processes.poll(short.id).info.running)
    assert processes.poll(short.id).info.exit_code == 7
    wait_until(lambda: not side.environment.is_busy())


def test_more_commands_at_once_than_one_connection_carries(side, tmp_path):
    processes = LocalProcesses(side.environment, ShellMemory(tmp_path))
    started = [processes.start(ProcessSpec("read a; echo $a", tmp_path)) for _ in range(12)]
    for info in started:
        processes.write(info.id, info.id, submit=True)
    for info in started:
        wait_until(lambda info=info: not processes.log(info.id).info.running)
        assert processes.log(info.id).output == f"{info.id}\n"


def test_a_connection_that_breaks_off_loses_its_command_and_is_made_anew(server, guardian, tmp_path):
    side = FarSide(SshMachine(server.target()), guardian)
    fs = side.files()
    (tmp_path / "f").write_text("f")
    assert fs.stat(tmp_path / "f").size == 1
    problems = []

    def work():
        try:
            run(side, "echo out; echo $$ > pid; touch begun; sleep 60", tmp_path)
        except CommandError as problem:
            problems.append(str(problem))

    worker = threading.Thread(target=work)
    worker.start()
    wait_until((tmp_path / "begun").exists)
    server.cut()
    worker.join(20)
    assert "broke off while the command ran" in problems[0]
    assert "out" in problems[0]
    assert fs.stat(tmp_path / "f").size == 1
    assert run(side, "echo again", tmp_path).output == "again\n"
    wait_until(lambda: has_ended(int((tmp_path / "pid").read_text())))
    side.close()


def test_a_machine_that_is_gone_is_not_asked_again_at_once(server, guardian, tmp_path):
    side = FarSide(SshMachine(server.target()), guardian)
    assert run(side, "echo here", tmp_path).output == "here\n"
    server.stop()
    told = []

    def is_refused():
        # The client of the shared connection may be the first to meet its end, and newer ones say nothing then.
        with pytest.raises(CommandError) as failure:
            run(side, "echo gone", tmp_path)
        told.append(str(failure.value))
        return "nothing listens there" in told[-1]

    wait_until(is_refused)
    assert len(told) <= 2, told
    with pytest.raises(CommandError, match="The next attempt is possible in"):
        run(side, "echo gone", tmp_path)
    side.close()


def test_the_end_of_a_session_does_not_wait_for_a_host_that_does_not_answer(guardian):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        side = FarSide(SshMachine(SshTarget("127.0.0.1", port=silent.getsockname()[1])), guardian)
        failures = []

        def ask():
            with pytest.raises(CommandError) as failure:
                side.facts()
            failures.append(failure.value)

        asking = threading.Thread(target=ask)
        asking.start()
        connection, _ = silent.accept()
        with connection:
            side.environment.close()
            side.close()
            asking.join()
        assert "timed out" not in str(failures[0])
        assert failures


def test_an_unknown_host_is_not_accepted(shared, guardian, tmp_path):
    known = tmp_path / "known"
    side = FarSide(SshMachine(shared.target(UserKnownHostsFile=str(known))), guardian)
    with pytest.raises(CommandError, match=r"Connect once by hand, as `ssh .*127\.0\.0\.1`") as caught:
        side.facts()
    assert "terminal" not in str(caught.value)
    assert not known.exists()
    side.close()


def test_a_key_that_the_server_does_not_know_is_told(shared, guardian, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "other"], check=True)
    target = shared.target()
    wrong = SshTarget(target.host, target.user, target.port, tmp_path / "other", target.options)
    side = FarSide(SshMachine(wrong), guardian)
    with pytest.raises(CommandError, match="does not let us sign in"):
        side.facts()
    side.close()


@pytest.mark.parametrize("host", ["", "-oProxyCommand=touch /tmp/x", "a b"])
def test_a_host_that_is_none_is_refused(host):
    with pytest.raises(CommandError, match=r"terminal\.ssh_host"):
        SshMachine(SshTarget(host))


_VICTIM = """
import sys
from pathlib import Path
from tools.ports import CommandSpec
from tools.environments.remote.commands import Cancelled
from tools.environments.remote.connection import Streams
from tools.environments.remote.scripts import began
from tools.environments.remote.session import FarSide
from tools.environments.remote.ssh import SshMachine, SshTarget
from tools.environments.guardian import Guardian
from agent_core.cancel import CancelToken
host, user, port, key, cwd, *options = sys.argv[1:]
side = FarSide(SshMachine(SshTarget(host, user, int(port), Path(key), tuple(options))), Guardian())
spec = CommandSpec("setsid sleep 60 & echo $! > left; echo $$ > pid; touch begun; sleep 60", Path(cwd), 60.0)
side.environment.run(spec, lambda text: None, CancelToken())
"""


def test_nothing_goes_on_there_when_this_process_is_killed(shared, tmp_path):
    target = shared.target()
    victim = subprocess.Popen(
        [
            sys.executable,
            "-c",
            _VICTIM,
            target.host,
            target.user,
            str(target.port),
            str(target.key),
            str(tmp_path),
            *target.options,
        ],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
    )
    wait_until((tmp_path / "begun").exists)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    for name in ("pid", "left"):
        wait_until(lambda name=name: has_ended(int((tmp_path / name).read_text())))


def test_the_plain_command_has_no_left_state(side, tmp_path):
    outcome = side.environment.run(CommandSpec("cd /", tmp_path, 5.0), lambda _text: None, CancelToken())
    assert outcome.left is None


def test_directories_of_processes_that_were_killed_are_removed(shared, guardian):
    left = Path(tempfile.mkdtemp(prefix="hermes-acp-ssh-", dir="/tmp"))
    theirs = OwnDirectory("hermes-acp-ssh-", "/tmp")
    side = FarSide(SshMachine(shared.target()), guardian)
    run(side, "true")
    assert not left.exists()
    assert theirs.path.is_dir()
    theirs.close()
    side.close()


@pytest.mark.parametrize("what", ["a command", "files"])
def test_a_cancel_does_not_wait_for_a_host_that_does_not_answer(what, guardian):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        side = FarSide(SshMachine(SshTarget("127.0.0.1", port=silent.getsockname()[1])), guardian)
        token, told = CancelToken(), []

        def ask():
            try:
                told.append(side.files(token) if what == "files" else run(side, "true", token=token))
            except CommandError as problem:
                told.append(problem)

        asking = threading.Thread(target=ask)
        asking.start()
        connection, _ = silent.accept()
        with connection:
            token.cancel()
            asking.join()
            side.close()
    assert isinstance(told[0], Cancelled) if what == "files" else told[0].interrupted


@pytest.mark.long
def test_a_host_that_is_known_without_its_port_is_known_by_its_key(server, guardian, tmp_path):
    key = server.known.read_text().split(maxsplit=1)[1]
    known = tmp_path / "known"
    known.write_text(f"127.0.0.1 {key}")
    side = FarSide(SshMachine(server.target(UserKnownHostsFile=str(known))), guardian)
    assert run(side, "echo there", tmp_path).output == "there\n"
    side.close()
    other = (server.folder / "key.pub").read_text().split()
    known.write_text(f"127.0.0.1 {other[0]} {other[1]}\n")
    side = FarSide(SshMachine(server.target(UserKnownHostsFile=str(known))), guardian)
    with pytest.raises(CommandError, match=r"Connect once by hand, as `ssh .*-p"):
        side.facts()
    side.close()
