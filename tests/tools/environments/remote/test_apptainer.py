"""Instances of apptainer: what the program is told, how long they last, what is left behind."""

import os
import subprocess
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.each import each
from tests.support.fake_apptainer import FakeApptainer
from tests.support.processes import has_ended
from tests.support.waiting import wait_until
from tools.environments.guardian import Guardian
from tools.environments.remote.containers import ApptainerMachine, Box
from tools.environments.remote.scripts import began, own_prefix
from tools.environments.remote.session import FarSide
from tools.errors import CommandError
from tools.shell.session import ShellCommand

pytestmark = pytest.mark.long

IMAGE = "docker://some:1"


@pytest.fixture
def program(tmp_path):
    return FakeApptainer(tmp_path / "apptainer")


@pytest.fixture
def side_of(program):
    guardian, sides = Guardian(), []

    def make(instance=None):
        sides.append(FarSide(ApptainerMachine(instance or Box(IMAGE), program=str(program.program)), guardian))
        return sides[-1]

    yield make
    for side in sides:
        side.close()
    guardian.kill_all()


def run(side, command, **spec):
    return side.environment.run(ShellCommand(command, Path("/"), 20.0, **spec), lambda _text: None, CancelToken())


def test_an_instance_has_the_directories_and_nothing_else_of_this_machine(program, side_of, tmp_path, monkeypatch):
    monkeypatch.setenv("PASSED", "secret-value")
    monkeypatch.setenv("NOT_PASSED", "other-value")
    place = tmp_path / 'a,"b"'
    place.mkdir()
    instance = Box(IMAGE, (place,), forwarded=("PASSED",), cpus=1.5, memory=512, arguments=("--nv",))
    outcome = run(side_of(instance), 'echo "$PASSED|${NOT_PASSED-none}"')
    assert outcome.output == "secret-value|none\n"
    (told,) = program.told("instance", "start")
    assert {"--containall", "--cleanenv", "--no-privs", "--writable-tmpfs", "--nv"} <= set(told)
    assert told[told.index("--net") :][:3] == ["--net", "--network", "none"]
    quoted = str(place).replace('"', '""')
    assert told[told.index("--mount") + 1] == f'type=bind,"source={quoted}","destination={quoted}"'
    assert (told[told.index("--cpus") + 1], told[told.index("--memory") + 1]) == ("1.5", "512M")
    assert told[-2] == IMAGE
    every = " ".join(word for words in program.told() for word in words)
    assert "secret-value" not in every


def test_a_network_is_there_only_where_it_is_wanted(program, side_of):
    run(side_of(Box(IMAGE, network="host")), "true")
    assert "--net" not in program.told("instance", "start")[0]


def test_no_command_stands_in_the_programs_arguments(program, side_of):
    assert run(side_of(), "echo not-for-others").output == "not-for-others\n"
    assert "not-for-others" not in " ".join(word for words in program.told("exec") for word in words)


def test_a_session_has_one_instance_that_goes_with_it(program, side_of):
    side = side_of()
    assert program.instances() == set()
    run(side, "true")
    run(side, "true")
    assert len(program.told("instance", "start")) == 1
    assert len(program.instances()) == 1
    side.close()
    assert program.instances() == set()


def test_what_processes_that_are_gone_left_behind_is_stopped(program, side_of):
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = f"{own_prefix()}{ended.pid}-1-aa"
    others = {f"{own_prefix()}{os.getpid()}-{began(os.getpid())}-bb", f"hermes-acp-00000000-{ended.pid}-1-aa", "mine"}
    for name in (left, *others):
        program.add(name)
    run(side_of(), "true")
    wait_until(lambda: left not in program.instances())
    assert others < program.instances()


def test_an_instance_that_somebody_stopped_is_started_again(program, side_of):
    side = side_of()
    run(side, "true")
    program.lose()
    assert run(side, "echo new").output == "new\n"


def test_a_program_at_a_terminal_has_one(side_of):
    assert run(side_of(), "test -t 0 && stty size && : >/dev/tty", pty=True).output == "40 120\r\n"


def test_the_time_out_ends_all_that_a_command_has_started(side_of, tmp_path):
    command = ShellCommand(f"sleep 60 & echo $! >{tmp_path}/pid; trap '' TERM; sleep 61", Path("/"), 0.5)
    assert side_of().environment.run(command, lambda _text: None, CancelToken()).timed_out
    wait_until(lambda: has_ended(int((tmp_path / "pid").read_text())))


@each(
    "instance, told",
    [
        (
            Box("docker://missing:1"),
            r"image docker://missing:1 cannot be had\. Look at terminal\.singularity_image",
        ),
        (Box(IMAGE, cpus=1.0), r"limits need cgroups .* Leave out terminal\.container_cpu"),
    ],
)
def test_why_there_is_none_is_told(instance, told, program, side_of):
    program.refuse_limits()
    with pytest.raises(CommandError, match=told):
        run(side_of(instance), "true")


def test_without_the_program_nothing_runs_here_in_its_place(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        CommandError, match=r"no program 'apptainer or singularity' here\. Install it .apt-get install"
    ):
        ApptainerMachine(Box(IMAGE))
