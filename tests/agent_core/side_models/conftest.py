"""Clients for side tasks, over fake servers."""

from __future__ import annotations

import pytest

from agent_core.config import ConfigSource
from agent_core.home import Home
from agent_core.model_request.side_models import AuxiliaryClient
from tests.support.model_server import ModelServer, Reply
from tests.support.settings_files import configure
from tests.support.side_tasks import ManualAlarm
from tests.support.wire_agents import Connections, pooled


@pytest.fixture
def alarm():
    return ManualAlarm()


@pytest.fixture
def auxiliary(home, clock, alarm):
    """Make a client for the given settings; its time is not over before the test says so."""
    connections = Connections()

    def make(member=lambda config, choice: pooled(choice), alarm=alarm, windows=None, **settings):
        configure(home, settings)
        return AuxiliaryClient(ConfigSource(Home(home)), member, connections, clock, alarm, windows=windows)

    yield make
    connections.close()


@pytest.fixture
def second():
    """Another model server, which always answers."""
    with ModelServer(default=Reply("from the second")) as server:
        yield server
