"""The contracts of the ports on this machine: plain, and in its sandbox. Those of others are in `far/`."""

from dataclasses import replace

import pytest

from tests.support.port_contracts import EnvironmentContract, FileSystemContract
from tools.environments.local_commands import LocalEnvironment
from tools.environments.local_files import LocalFileSystem
from tools.environments.sandbox.port import Confinement
from tools.environments.sandbox.probe import make_sandbox
from tools.settings import TerminalSettings

LIMITS = TerminalSettings(max_output_chars=1000)


class Confined:
    """An environment whose commands may change one directory alone."""

    def __init__(self, inner, place):
        self._inner = inner
        self._confinement = Confinement("workspace-write", (place,), (), network="off")

    def run(self, spec, on_output, interrupt):
        return self._inner.run(replace(spec, confinement=self._confinement), on_output, interrupt)

    def is_busy(self):
        return self._inner.is_busy()

    def close(self):
        self._inner.close()


class TestFiles(FileSystemContract):
    @pytest.fixture
    def fs(self):
        return LocalFileSystem()


class TestCommands(EnvironmentContract):
    @pytest.fixture
    def environment(self, guardian):
        environment = LocalEnvironment(guardian, LIMITS)
        yield environment
        environment.close()


class TestConfinedCommands(EnvironmentContract):
    @pytest.fixture
    def environment(self, guardian, tmp_path):
        sandbox = make_sandbox(lambda: None)
        if sandbox is None:
            pytest.skip("There is no sandbox here; install one with: apt-get install bubblewrap")
        environment = Confined(LocalEnvironment(guardian, LIMITS, sandbox=sandbox), tmp_path)
        yield environment
        environment.close()
        sandbox.close()
