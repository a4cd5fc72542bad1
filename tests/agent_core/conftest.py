"""Tools that exist for one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.agents import TEST_TOOLS
from tests.support.bedrock_server import SECRET, BedrockServer
from tests.support.clock import Clock
from tests.support.file_bench import FileBench
from tests.support.token_endpoint import TokenEndpoint
from tests.support.wire_agents import PROTOCOLS, Connections, agent_over
from tools.registry import Parallel, registry

AddTool = Callable[..., None]


@pytest.fixture
def add_tool() -> Iterator[AddTool]:
    """Register a tool until the end of the test."""
    names: list[str] = []

    def add(name: str, handler: Callable[..., Any], parallel: Parallel = "never", *arguments: str) -> None:
        found = {"path": {"type": "string"}, "who": {"type": "string"}}
        schema = {"type": "object", "properties": found | {argument: {} for argument in arguments}}
        registry.register(name, TEST_TOOLS, schema, handler, description="A tool of a test.", parallel=parallel)
        names.append(name)

    yield add
    for name in names:
        registry.unregister(name)


@pytest.fixture
def over(tmp_path):
    """Make an agent in `tmp_path` that asks the given choices of model in turn."""
    connections = Connections()
    yield lambda *choices, **options: agent_over(tmp_path, connections, choices, **options)
    connections.close()


@pytest.fixture
def endpoint():
    server = TokenEndpoint()
    yield server
    server.close()


@pytest.fixture
def aws_settings(monkeypatch, tmp_path):
    """Credentials of the test's own, and nothing else of this machine's."""
    for name in (
        "AWS_PROFILE",
        "AWS_DEFAULT_REGION",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_SESSION_TOKEN",
        "AWS_CA_BUNDLE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "eu-west-3")


@pytest.fixture
def bedrock_server(aws_settings):
    with BedrockServer() as server:
        yield server


@pytest.fixture(params=PROTOCOLS)
def protocol(request):
    return request.param


@pytest.fixture
def bench(tmp_path):
    bench = FileBench(tmp_path)
    yield bench
    bench.database.close()


@pytest.fixture
def clock():
    return Clock()
