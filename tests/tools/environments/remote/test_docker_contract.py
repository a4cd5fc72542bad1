"""The contracts of the ports in containers: of an engine that only keeps books, and of a real one where it runs."""

import pytest

from tests.support.fake_engine import FakeEngine
from tests.support.port_contracts import EnvironmentContract, FileSystemContract
from tests.support.real_engine import IMAGE, real_engine
from tools.environments.guardian import Guardian
from tools.environments.remote.containers import Box, DockerMachine
from tools.environments.remote.session import FarSide
from tools.settings import TerminalSettings, ToolSettings

LIMITS = ToolSettings(terminal=TerminalSettings(max_output_chars=1000))


@pytest.fixture(scope="module")
def guardian():
    guardian = Guardian()
    yield guardian
    guardian.kill_all()


@pytest.fixture(scope="module")
def fake_side(tmp_path_factory, guardian):
    engine = FakeEngine(tmp_path_factory.mktemp("engine"))
    side = FarSide(DockerMachine(Box("any:1"), "", str(engine.program)), guardian, LIMITS)
    yield side
    side.close()
    engine.end()


@pytest.fixture(scope="module")
def real_side(tmp_path_factory, guardian):
    with real_engine(tmp_path_factory.mktemp("engine")) as engine:
        box = Box(IMAGE, (tmp_path_factory.getbasetemp(),), engine.volumes)
        side = FarSide(DockerMachine(box, "", engine.program), guardian, LIMITS)
        yield side
        side.close()


class TestCommandsOfBooks(EnvironmentContract):
    @pytest.fixture
    def environment(self, fake_side):
        yield fake_side.environment
        fake_side.environment.close()


class TestFilesOfBooks(FileSystemContract):
    @pytest.fixture
    def fs(self, fake_side):
        return fake_side.files()


@pytest.mark.slow
class TestCommandsInAContainer(EnvironmentContract):
    @pytest.fixture
    def environment(self, real_side):
        yield real_side.environment
        real_side.environment.close()


@pytest.mark.slow
class TestFilesInAContainer(FileSystemContract):
    @pytest.fixture
    def fs(self, real_side):
        return real_side.files()
