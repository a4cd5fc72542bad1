"""Containers: what the engine is told, how long they last, and what is left behind."""

import csv
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import wait_until
from tools.environments.guardian import Guardian
from tools.environments.remote.containers import LABEL, Box, DockerMachine
from tools.environments.remote.session import FarSide
from tools.errors import CommandError
from tools.ports import CommandSpec
from tools.shell.session import ShellCommand


@pytest.fixture
def engine(tmp_path):
    engine = FakeEngine(tmp_path / "engine")
    yield engine
    engine.end()


@pytest.fixture
def side_of(engine):
    guardian, sides = Guardian(), []

    def make(box=None, session_id=""):
        sides.append(FarSide(DockerMachine(box or Box("some:1"), session_id, str(engine.program)), guardian))
        return sides[-1]

    yield make
    for side in sides:
        side.close()
    guardian.kill_all()


def run(side, command, **spec):
    return side.environment.run(ShellCommand(command, Path("/"), 20.0, **spec), lambda _text: None, CancelToken())


def test_a_container_gets_no_network_no_rights_and_limits(engine, side_of, tmp_path, monkeypatch):
    monkeypatch.setenv("PASSED", "secret-value")
    box = Box(
        "some:1",
        mounts=(tmp_path,),
        volumes=("/data:/data:ro",),
        forwarded=("PASSED", "ABSENT_HERE"),
        user="7:8",
        cpus=1.5,
        memory=512,
        arguments=("--hostname=box",),
    )
    assert run(side_of(box, "session-1"), "echo in").output == "in\n"
    (told,) = engine.told("run")
    assert told[-4:] == ["--entrypoint=sh", "some:1", "-c", told[-1]]
    assert {
        "--network=none",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        f"--label={LABEL}=session-1",
        f"--mount=type=bind,source={tmp_path},target={tmp_path}",
        "--volume=/data:/data:ro",
        "--env=PASSED",
        "--user=7:8",
        "--cpus=1.5",
        "--memory=512m",
        "--pids-limit=1024",
        "--hostname=box",
    } <= set(told)
    assert not any("secret-value" in word or "ABSENT_HERE" in word for word in told)


def test_a_directory_s_name_is_no_part_of_what_the_engine_is_told(engine):
    place = Path('/srv/a,source=/,"b"')
    box = Box("some:1", mounts=(place,))
    told = DockerMachine(box, program=str(engine.program)).run_arguments()
    (mount,) = [word for word in told if word.startswith("--mount=")]
    # As the engines read it.
    (fields,) = csv.reader([mount.removeprefix("--mount=")])
    assert fields == ["type=bind", f"source={place}", f"target={place}"]


def container_of(machine):
    """What the engine is told to call it."""
    words = machine.run_arguments()
    return words[words.index("--name") + 1]


def test_containers_of_other_users_and_of_other_spaces_of_processes_are_nobody_s_leftovers(engine, monkeypatch):
    def host():
        return container_of(DockerMachine(Box("some:1"), program=str(engine.program))).split("-")[2]

    own = host()
    assert own == host()
    monkeypatch.setattr(os, "getuid", lambda: 4321)
    other = host()
    monkeypatch.setattr(os, "readlink", lambda _path: "pid:[7]")
    assert len({own, other, host()}) == 3


def test_no_command_stands_in_the_engines_arguments(engine, side_of):
    assert run(side_of(), "echo $MINE not-for-others", env={"MINE": "hidden"}).output == "hidden not-for-others\n"
    told = " ".join(word for words in engine.told("exec") for word in words)
    assert "not-for-others" not in told
    assert "hidden" not in told


def test_a_session_has_one_container_that_goes_with_it(engine, side_of):
    side = side_of()
    assert engine.boxes() == {}
    run(side, "true")
    run(side, "true")
    assert len(engine.told("run")) == 1
    assert list(engine.boxes().values()) == [True]
    side.close()
    assert engine.boxes() == {}


@pytest.mark.long
def test_a_container_that_is_kept_is_stopped_and_started_again(engine, side_of):
    box = Box("some:1", kept=True)
    first = side_of(box, "session-1")
    run(first, "true")
    first.close()
    assert list(engine.boxes().values()) == [False]
    again = side_of(box, "session-1")
    run(again, "true")
    assert list(engine.boxes().values()) == [True]
    assert len(engine.told("run")) == 1
    again.close()
    # What may be less now is not less in the container of then.
    for other in (replace(box, network="bridge"), replace(box, volumes=("/data:/data",)), box):
        side = side_of(other, "session-1")
        run(side, "true")
        side.close()
    assert len(engine.told("run")) == 3


def test_what_processes_that_are_gone_left_behind_is_removed(engine, side_of):
    side = side_of()
    own = container_of(side.link.machine)
    host = own.split("-")[2]
    ended = subprocess.Popen(["true"])
    ended.wait()
    engine.add(f"hermes-acp-{host}-{ended.pid}-1-aa", (f"{LABEL}=x",))
    engine.add(f"hermes-acp-00000000-{ended.pid}-1-aa", (f"{LABEL}=of another machine",))
    engine.add("hermes-acp-kept-0123456789abcdef", (f"{LABEL}=kept",))
    engine.add("somebody-elses", ())
    run(side, "true")
    wait_until(lambda: f"hermes-acp-{host}-{ended.pid}-1-aa" not in engine.boxes())
    kept = {f"hermes-acp-00000000-{ended.pid}-1-aa", "hermes-acp-kept-0123456789abcdef", "somebody-elses", own}
    assert set(engine.boxes()) == kept
    assert f"-{os.getpid()}-" in own


def test_a_container_that_somebody_removed_is_made_again(engine, side_of):
    side = side_of()
    run(side, "true")
    engine.end()
    assert run(side, "echo new").output == "new\n"


def test_a_program_at_a_terminal_has_one(side_of):
    assert run(side_of(), "test -t 0 && stty size", pty=True).output == "40 120\r\n"


def test_an_engine_that_is_down_and_an_image_that_is_not_there_are_told(engine, side_of):
    with pytest.raises(CommandError, match=r"image missing:1 cannot be fetched\. Look at terminal\.docker_image"):
        run(side_of(Box("missing:1")), "true")
    engine.go_down()
    with pytest.raises(CommandError, match="the engine does not run"):
        run(side_of(), "true")


def test_without_an_engine_nothing_runs_here_in_its_place():
    with pytest.raises(CommandError, match="no program 'no-such-engine' here"):
        DockerMachine(Box("some:1"), program="no-such-engine")


def test_a_command_that_is_cancelled_before_it_starts_needs_no_container(engine, side_of):
    token = CancelToken()
    token.cancel()
    outcome = side_of().environment.run(CommandSpec("true", Path("/"), 5.0), lambda _text: None, token)
    assert outcome.interrupted
    assert engine.boxes() == {}


def test_the_engines_program_gets_no_key_of_ours_but_what_the_settings_forward(engine, monkeypatch):
    monkeypatch.setenv("DEPLOY_TOKEN", "forwarded")
    around = {"OPENAI_API_KEY": "ours", "DOCKER_HOST": "unix:///x", "DOCKER_AUTH_CONFIG": "theirs"}
    machine = DockerMachine(Box("some:1", forwarded=("DEPLOY_TOKEN",)), program=str(engine.program), variables=around)
    assert machine.environment() == {
        "DOCKER_HOST": "unix:///x",
        "DOCKER_AUTH_CONFIG": "theirs",
        "DEPLOY_TOKEN": "forwarded",
    }
