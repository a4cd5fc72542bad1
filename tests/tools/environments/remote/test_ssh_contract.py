"""The contracts of the ports, over a real sshd on loopback."""

from dataclasses import replace

import pytest

from tests.support.port_contracts import EnvironmentContract, FileSystemContract
from tests.support.ssh_server import needs_sshd, ssh_server
from tools.environments.guardian import Guardian
from tools.environments.remote.session import FarSide
from tools.environments.remote.ssh import SshMachine
from tools.settings import TerminalSettings, ToolSettings

pytestmark = needs_sshd

LIMITS = ToolSettings(terminal=TerminalSettings(max_output_chars=1000))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with ssh_server(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture(scope="module")
def side(server):
    guardian = Guardian()
    side = FarSide(SshMachine(server.target()), guardian, LIMITS)
    yield side
    side.close()
    guardian.kill_all()


@pytest.fixture(scope="module")
def plain_side(server):
    """As on a machine without ripgrep."""
    guardian = Guardian()
    asked = FarSide(SshMachine(server.target()), guardian)
    facts = replace(asked.facts(), programs=asked.facts().programs - {"rg"})
    asked.close()
    side = FarSide(SshMachine(server.target()), guardian, LIMITS, facts=facts)
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
        assert "rg" in side.facts().programs
        return side.files()


class TestFilesWithoutRipgrep(FileSystemContract):
    @pytest.fixture
    def fs(self, plain_side):
        return plain_side.files()
