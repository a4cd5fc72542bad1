"""The contracts of the ports, over a real sshd on loopback."""

import pytest

from tests.support.port_contracts import EnvironmentContract
from tests.support.ssh_server import needs_sshd, ssh_server
from tools.environments.far.commands import FarEnvironment
from tools.environments.far.link import Link
from tools.environments.far.ssh import SshMachine
from tools.environments.guardian import Guardian
from tools.settings import TerminalSettings

pytestmark = needs_sshd


@pytest.fixture(scope="module")
def link(tmp_path_factory):
    guardian = Guardian()
    with ssh_server(tmp_path_factory.mktemp("sshd")) as server:
        link = Link(SshMachine(server.target()), guardian)
        yield link
        link.close()
    guardian.kill_all()


class TestCommands(EnvironmentContract):
    @pytest.fixture
    def environment(self, link):
        environment = FarEnvironment(link, TerminalSettings(max_output_chars=1000))
        yield environment
        environment.close()
