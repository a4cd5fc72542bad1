"""When servers are asked for their models in the background: after the first answer, or when nothing happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from acp_adapter.option_changes import Chooser
from acp_adapter.session import Ticket
from acp_adapter.workers import Workers
from agent_core.cancel import CancelToken
from agent_core.config import ConfigSource
from agent_core.home import Home
from tests.support.list_server import ListServer, model_list
from tests.support.settings_files import configure
from tests.support.turn_desk import Desk
from tests.support.waiting import wait_until

_LONG = 3600.0

_T = TypeVar("_T")


@pytest.fixture
def server() -> Iterator[ListServer]:
    with ListServer({"/v1/models": model_list("fresh")}) as server:
        yield server


@pytest.fixture
async def desk(home: Path, workspace: Path, server: ListServer) -> AsyncIterator[Desk]:
    own = {"base_url": f"{server.origin}/v1", "model": "house"}
    configure(home, {"model": {"provider": "work"}, "providers": {"work": own}})
    made = Desk(home)
    await made.open(workspace)
    yield made
    await asyncio.to_thread(made.close)
    await asyncio.wait_for(made.sessions.close(made.session), 10)
    await made.free_workers()
    made.factory.close()


class _Watched(Workers):
    """A chooser, and how often it has gone to a worker thread to ask."""

    def __init__(self, desk: Desk, quiet: float) -> None:
        super().__init__(2, "asking")
        self.begun = 0
        config = ConfigSource(Home(desk.factory.home.root))
        self.chooser = Chooser(desk.factory, config, desk.sessions, self, quiet=quiet)

    async def run(self, function: Callable[[], _T]) -> _T:
        self.begun += 1
        return await super().run(function)


async def _asked(server: ListServer) -> None:
    await asyncio.to_thread(wait_until, lambda: len(server.asked) == 1)


async def test_an_answer_begins_it_once_for_all_sessions_opened_before(desk: Desk, server: ListServer) -> None:
    watched = _Watched(desk, _LONG)
    watched.chooser.answered()
    assert watched.begun == 0, "no session was opened"
    watched.chooser.renew_when_quiet()
    watched.chooser.renew_when_quiet()
    await asyncio.sleep(0)
    assert watched.begun == 0
    watched.chooser.answered()
    watched.chooser.answered()
    await _asked(server)
    watched.chooser.close()
    assert len(server.asked) == 1


async def test_where_nobody_prompts_it_begins_after_a_quiet_while(desk: Desk, server: ListServer) -> None:
    watched = _Watched(desk, 0.01)
    watched.chooser.renew_when_quiet()
    await _asked(server)
    watched.chooser.close()


async def test_a_prompt_that_takes_long_is_not_disturbed_and_its_answer_begins_it(
    desk: Desk, server: ListServer
) -> None:
    watched, over = _Watched(desk, 0.0), asyncio.Event()
    desk.session.tickets.append(Ticket(1, CancelToken()))
    watched.chooser.renew_when_quiet()
    # A later timer of the loop: by then the quiet while is over.
    asyncio.get_running_loop().call_later(0.01, over.set)
    await over.wait()
    assert watched.begun == 0
    desk.session.tickets.clear()
    watched.chooser.answered()
    await _asked(server)
    watched.chooser.close()


async def test_at_the_end_of_the_process_nothing_begins_any_more(desk: Desk, server: ListServer) -> None:
    watched, over = _Watched(desk, 0.0), asyncio.Event()
    watched.chooser.renew_when_quiet()
    watched.chooser.close()
    watched.chooser.renew_when_quiet()
    watched.chooser.answered()
    asyncio.get_running_loop().call_later(0.01, over.set)
    await over.wait()
    assert watched.begun == 0
    assert server.asked == []
