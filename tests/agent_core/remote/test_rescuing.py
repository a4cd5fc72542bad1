"""What killed processes have left in places is saved before these are removed."""

import dataclasses
import re
import subprocess
import sys

import pytest

from agent_core.plugins.shipped.daytona import DaytonaCloud
from agent_core.plugins.shipped.modal import ModalCloud
from agent_core.remote.session_copy import RescueOfCopies
from tests.support.fake_clouds import FAKES, Sandboxes
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import wait_until
from tools.environments.guardian import Guardian
from tools.environments.remote.cloud import CloudMachine, Terms
from tools.environments.remote.containers import LABEL, Box, DockerMachine
from tools.environments.remote.scripts import own_prefix
from tools.environments.remote.session import FarSide

LEFT = f"{own_prefix()}999999-1-abcd"


@pytest.fixture
def news():
    return []


@pytest.fixture
def rescue(bench, news):
    return RescueOfCopies(bench.folder, lambda session, told: news.append((session, told)))


@pytest.fixture
def connected():
    sides, guardian = [], Guardian()

    def connect(machine):
        sides.append(FarSide(machine, guardian))
        sides[-1].link.session()

    yield connect
    for side in sides:
        side.close()
    guardian.kill_all()


@pytest.fixture
def engine(tmp_path):
    engine = FakeEngine(tmp_path / "engine")
    engine.add(LEFT, (f"{LABEL}=ses_1",))
    yield engine
    engine.end()


def killed(bench, where):
    """A process has made a copy, something was changed in it, and the process is no more."""
    bench.where = where
    bench.copy = bench.another()
    bench.write(f="old\n", g="old\n")
    bench.renew()
    (bench.there / "f").write_text("new\n")
    bench.copy.store.let_go()


def is_saved(bench, news):
    ((session, told),) = news
    assert session == "ses_1"
    assert "its agent's process died" in told.title
    command = re.search(r"`(git .*)`", told.text)
    subprocess.run(command[1], shell=True, check=True)
    assert (bench.here / "f").read_text() == "new\n"
    assert not bench.copy.store.load().is_whole


def test_of_a_container_that_is_removed_then(bench, engine, rescue, news, connected):
    killed(bench, f"the container {LEFT}")
    connected(DockerMachine(Box("any:1"), "", str(engine.program), rescue))
    is_saved(bench, news)
    wait_until(lambda: LEFT not in engine.boxes())


def test_what_was_brought_back_before_the_kill_does_not_keep_the_rest_from_being_applied(
    bench, engine, rescue, news, connected
):
    killed(bench, f"the container {LEFT}")
    (bench.there / "g").write_text("also new\n")
    bench.write(g="also new\n")
    connected(DockerMachine(Box("any:1"), "", str(engine.program), rescue))
    is_saved(bench, news)
    assert (bench.here / "g").read_text() == "also new\n"


def test_of_a_file_that_is_here_already_only_its_permissions_are_kept(bench, engine, rescue, news, connected):
    killed(bench, f"the container {LEFT}")
    (bench.there / "g").write_text("also new\n")
    (bench.there / "g").chmod(0o755)
    bench.write(g="also new\n")
    connected(DockerMachine(Box("any:1"), "", str(engine.program), rescue))
    is_saved(bench, news)
    assert (bench.here / "g").stat().st_mode & 0o100


@pytest.mark.parametrize(("name", "cloud"), [("modal", ModalCloud), ("daytona", DaytonaCloud)])
def test_of_a_sandbox_that_is_removed_then(name, cloud, bench, rescue, news, connected, monkeypatch):
    service = Sandboxes(bench.folder / "disk")
    service.folder.mkdir()
    for module, fake in FAKES[name](service).items():
        monkeypatch.setitem(sys.modules, module, fake)
    service.make(LEFT)
    machine = CloudMachine(cloud(Terms()), rescue)
    killed(bench, machine.name)
    try:
        connected(machine)
        is_saved(bench, news)
        wait_until(lambda: LEFT not in service.boxes)
    finally:
        machine.close()
        service.end()


def test_a_copy_that_a_living_process_works_with_is_left_alone(bench, engine, rescue, news, connected):
    killed(bench, f"the container {LEFT}")
    assert bench.copy.store.hold()
    connected(DockerMachine(Box("any:1"), "", str(engine.program), dataclasses.replace(rescue, patience=0.0)))
    assert news == []
    assert bench.copy.store.load().is_whole


def test_a_container_that_has_another_copy_is_none_of_it(bench, engine, rescue, news, connected):
    killed(bench, f"the container {LEFT}")
    (bench.there / ".hermes-acp-copy").write_text("another whole\n")
    connected(DockerMachine(Box("any:1"), "", str(engine.program), rescue))
    assert news == []
    assert bench.copy.store.load().is_whole
