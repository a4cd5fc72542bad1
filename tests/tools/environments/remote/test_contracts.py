"""The contracts of the ports in each place: a real sshd, engines that keep books, stand-ins for SDKs of services."""

import sys
from contextlib import contextmanager
from dataclasses import replace

import pytest

from agent_core.plugins.shipped.daytona import DaytonaCloud
from agent_core.plugins.shipped.modal import ModalCloud
from agent_core.plugins.shipped.vercel import VercelCloud
from tests.support.fake_apptainer import FakeApptainer
from tests.support.fake_clouds import FAKES, Sandboxes
from tests.support.fake_engine import FakeEngine
from tests.support.port_contracts import EnvironmentContract, FileSystemContract
from tests.support.real_engine import IMAGE, real_engine
from tests.support.ssh_server import needs_sshd, ssh_server
from tools.environments.guardian import Guardian
from tools.environments.remote.cloud import CloudMachine, Terms
from tools.environments.remote.containers import ApptainerMachine, Box, DockerMachine
from tools.environments.remote.session import FarSide
from tools.environments.remote.ssh import SshMachine
from tools.settings import TerminalSettings, ToolSettings

LIMITS = ToolSettings(terminal=TerminalSettings(max_output_chars=1000))
CLOUDS = {"modal": ModalCloud, "daytona": DaytonaCloud, "vercel": VercelCloud}


@contextmanager
def machine_of(name, folder, base):
    if name.startswith("ssh"):
        with ssh_server(folder) as server:
            yield SshMachine(server.target())
    elif name == "docker":
        engine = FakeEngine(folder)
        yield DockerMachine(Box("any:1"), "", str(engine.program))
        engine.end()
    elif name == "a real engine":
        with real_engine(folder) as engine:
            yield DockerMachine(Box(IMAGE, (base,), engine.volumes), "", engine.program)
    elif name == "apptainer":
        yield ApptainerMachine(Box("docker://some:1"), "", str(FakeApptainer(folder).program))
    else:
        service = Sandboxes(folder)
        with pytest.MonkeyPatch.context() as patch:
            for module, fake in FAKES[name](service).items():
                patch.setitem(sys.modules, module, fake)
            yield CloudMachine(CLOUDS[name](Terms()))
            service.end()


# What is Vercel's own is a terminal as Daytona's: its whole contract is for the long run.
MARKS = {"ssh": needs_sshd, "ssh without rg": needs_sshd, "docker": (), "a real engine": pytest.mark.slow,
         "apptainer": pytest.mark.long, "modal": pytest.mark.long, "daytona": pytest.mark.long,
         "vercel": pytest.mark.slow}  # fmt: skip


@pytest.fixture(scope="module", params=[pytest.param(name, marks=marks) for name, marks in MARKS.items()])
def side(request, tmp_path_factory):
    guardian, folder = Guardian(), tmp_path_factory.mktemp("place")
    with machine_of(request.param, folder, tmp_path_factory.getbasetemp()) as machine:
        side = FarSide(machine, guardian, LIMITS)
        if request.param == "ssh without rg":
            facts = side.facts()
            side.close()
            side = FarSide(machine, guardian, LIMITS, facts=replace(facts, programs=facts.programs - {"rg"}))
        yield side
        side.close()
    guardian.kill_all()


class TestCommands(EnvironmentContract):
    @pytest.fixture
    def environment(self, side):
        yield side.environment
        side.environment.close()


class TestFiles(FileSystemContract):
    @pytest.fixture
    def fs(self, side):
        return side.files()
