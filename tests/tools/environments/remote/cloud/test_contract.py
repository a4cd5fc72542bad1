"""The contracts of the ports in sandboxes of services, whose SDKs are stand-ins that run commands here."""

import sys

import pytest

from agent_core.plugins.shipped.daytona import DaytonaCloud
from agent_core.plugins.shipped.modal import ModalCloud
from agent_core.plugins.shipped.vercel import VercelCloud
from tests.support.fake_clouds import FAKES, Sandboxes
from tests.support.port_contracts import EnvironmentContract, FileSystemContract
from tools.environments.guardian import Guardian
from tools.environments.remote.cloud import CloudMachine, Terms
from tools.environments.remote.session import FarSide
from tools.settings import TerminalSettings, ToolSettings

pytestmark = pytest.mark.long

LIMITS = ToolSettings(terminal=TerminalSettings(max_output_chars=1000))
CLOUDS = {"modal": ModalCloud, "daytona": DaytonaCloud, "vercel": VercelCloud}


# What is Vercel's own is a terminal as Daytona's: its whole contract is for the long run.
@pytest.fixture(scope="module", params=["modal", "daytona", pytest.param("vercel", marks=pytest.mark.slow)])
def side(request, tmp_path_factory):
    service = Sandboxes(tmp_path_factory.mktemp("disk"))
    guardian = Guardian()
    with pytest.MonkeyPatch.context() as patch:
        for name, module in FAKES[request.param](service).items():
            patch.setitem(sys.modules, name, module)
        side = FarSide(CloudMachine(CLOUDS[request.param](Terms())), guardian, LIMITS)
        yield side
        side.close()
        service.end()
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
