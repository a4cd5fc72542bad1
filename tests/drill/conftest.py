"""A hostile world, and an agent in it whose model obeys whoever speaks."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agent_core.config import ConfigSource
from agent_core.home import Home
from tests.support.editor import Editor
from tests.support.editor_profiles import SHOWS_NAMES
from tests.support.hostile.world import World, hostile_world
from tests.support.in_memory import serving
from tests.support.model_server import ModelServer
from tests.support.obedient_model import obey
from tests.support.settings_files import use_model
from tools.environments.sandbox.places import temporary_places

# Not where tests usually work: every command may write there.
_BASE = Path(__file__).resolve().parents[2] / ".cache" / "drill"
_SECRETS_ARE_READ = "- kind: secret files\n  what: read by commands\n  where: {}\n"

Opened = tuple[Editor, ModelServer]
Open = Callable[..., Awaitable[Opened]]


@pytest.fixture
def world(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    if any(_BASE.is_relative_to(place) for place in temporary_places({})):
        pytest.skip("this source tree lies where every command may write")
    with hostile_world(_BASE / secrets.token_hex(4)) as made:
        monkeypatch.setenv("HOME", str(made.home))
        monkeypatch.setenv("HERMES_HOME", str(made.ours))
        monkeypatch.delenv("GIT_CONFIG_GLOBAL")
        monkeypatch.setenv("PLANTED_TOKEN", made.secret)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(made.base / "run" / "agent.sock"))
        yield made


@pytest.fixture
async def opened(world: World) -> AsyncIterator[Open]:
    """`await opened()` starts an agent in the world for a client of that kind; it ends with the test.

    Its person has allowed the workspace's commands to read its secret files, so that it is the sandbox that is tried,
    unless `reads_secrets` says otherwise.
    """
    async with AsyncExitStack() as stack:

        async def opened(
            *, profile: Mapping[str, Any] = SHOWS_NAMES, reads_secrets: bool = True, **settings: object
        ) -> Opened:
            if reads_secrets:
                (world.ours / "permissions.yaml").write_text(_SECRETS_ARE_READ.format(world.workspace))
            server = stack.enter_context(ModelServer(default=obey))
            use_model(world.ours, server, **settings)
            agent = await stack.enter_async_context(
                serving(world.ours, config=ConfigSource(Home(world.ours)), front_door=True)
            )
            await agent.initialize(profile)
            return agent, server

        yield opened
