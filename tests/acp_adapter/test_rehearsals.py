"""The session that was opened last is made ready for its first prompt, when nothing else is to be done."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from acp_adapter.rehearsals import Rehearsals
from agent_core.config import ConfigSource
from agent_core.errors import SettingsError, StoreError
from agent_core.home import Home
from agent_core.messages import user_message
from agent_core.rehearsing import Rehearsed
from agent_core.sessions.store import InMemorySessionStore
from tests.support.in_memory import serving
from tests.support.model_replies import Reply
from tests.support.model_server import ModelServer
from tests.support.settings_files import use_model
from tests.support.waiting import wait_until


class _Session:
    """As much of a session as is looked at."""

    def __init__(self, session_id: str) -> None:
        self.id, self.choices, self.stored_model = session_id, None, ""
        self.services: object = None
        self.tickets: list[object] = []
        self.rehearsed: Rehearsed | None = None
        self.is_new = False


class _Factory:
    def __init__(self, fails: bool = False) -> None:
        self.asked: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.sessions = SimpleNamespace(store=InMemorySessionStore())
        self._fails = fails

    def rehearse(self, recalled: Rehearsed, *_: object) -> Rehearsed:
        self.asked.append(recalled.request.session_id)
        assert self.gate.wait(10)
        if self._fails:
            raise SettingsError("the model's key is gone")
        return replace(recalled, request=replace(recalled.request, model="m"))

    def store(self, session_id: str) -> None:
        """A session of that id, with something said in it."""
        store = self.sessions.store
        store.create(session_id, "/srv")
        store.begin_turn(session_id, "t")
        store.append(session_id, "t", user_message("look"))
        store.end_turn(session_id, "t")


class _Line:
    """A `Rehearsals`, the sessions it is told of, and whether a prompt runs."""

    def __init__(self, executor: ThreadPoolExecutor, *, fails: bool = False) -> None:
        self.factory = _Factory(fails)
        self.is_prompted = False
        self.closed: list[object] = []
        self.executor = executor
        factory: Any = self.factory
        self.rehearsals = Rehearsals(
            factory, executor, lambda: self.is_prompted, lambda session: session not in self.closed
        )

    def open(self, session_id: str, *, is_recalled: bool = False) -> Any:
        session: Any = _Session(session_id)
        self.factory.store(session_id)
        self.rehearsals.of(session, self.rehearsals.recall(session) if is_recalled else None)
        return session

    async def settled(self) -> None:
        """What was begun is done, and its result handed over."""
        await asyncio.get_running_loop().run_in_executor(self.executor, int)
        await asyncio.sleep(0)
        await asyncio.sleep(0)


@pytest.fixture
def line() -> Any:
    with ThreadPoolExecutor(1) as executor:
        yield _Line(executor)


async def test_the_last_one_is_made_ready_once_all_is_loaded(line: _Line) -> None:
    first, last = line.open("first"), line.open("last")
    assert line.factory.asked == []
    line.rehearsals.all_loaded()
    await line.settled()
    assert line.factory.asked == ["last"]
    assert (first.rehearsed, last.rehearsed is not None) == (None, True)


async def test_one_at_a_time_holds_what_was_made_ready(line: _Line) -> None:
    line.rehearsals.all_loaded()
    first = line.open("first")
    await line.settled()
    last = line.open("last")
    await line.settled()
    assert (first.rehearsed, last.rehearsed is not None) == (None, True)


@pytest.mark.parametrize("second_is_recalled", [False, True])
async def test_one_at_a_time_holds_what_was_recalled(line: _Line, second_is_recalled: bool) -> None:
    first = line.open("first", is_recalled=True)
    assert first.rehearsed.request.model == ""
    last = line.open("last", is_recalled=second_is_recalled)
    line.rehearsals.all_loaded()
    await line.settled()
    assert line.factory.asked == ["last"]
    assert (first.rehearsed, last.rehearsed.request.model) == (None, "m")


async def test_what_was_recalled_is_not_read_again(line: _Line, monkeypatch: pytest.MonkeyPatch) -> None:
    session = line.open("one", is_recalled=True)
    monkeypatch.setattr("acp_adapter.rehearsals.recall", None)
    line.rehearsals.all_loaded()
    await line.settled()
    assert session.rehearsed.request.model == "m"


async def test_what_was_recalled_stays_where_no_model_can_be_used() -> None:
    with ThreadPoolExecutor(1) as executor:
        line = _Line(executor, fails=True)
        session = line.open("one", is_recalled=True)
        recalled = session.rehearsed
        line.rehearsals.all_loaded()
        await line.settled()
        assert line.factory.asked == ["one"]
        assert session.rehearsed is recalled


@pytest.mark.parametrize("problem", [StoreError("it cannot be read", kind="io"), ValueError("bad")])
def test_what_cannot_be_recalled_is_left_to_the_prompt(
    line: _Line, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    def fails(*_: object) -> None:
        raise problem

    monkeypatch.setattr("acp_adapter.rehearsals.recall", fails)
    session: Any = _Session("one")
    assert line.rehearsals.recall(session) is None


async def test_under_a_prompt_nothing_is_begun(line: _Line) -> None:
    line.is_prompted = True
    line.open("one")
    line.rehearsals.all_loaded()
    await line.settled()
    assert line.factory.asked == []


async def test_what_comes_after_the_prompt_is_dropped(line: _Line) -> None:
    line.rehearsals.all_loaded()
    line.factory.gate.clear()
    session = line.open("one")
    session.tickets.append("a prompt")
    line.factory.gate.set()
    await line.settled()
    assert line.factory.asked == ["one"]
    assert session.rehearsed is None


async def test_a_session_that_was_closed_meanwhile_keeps_nothing(line: _Line) -> None:
    line.rehearsals.all_loaded()
    line.factory.gate.clear()
    session = line.open("one")
    line.closed.append(session)
    line.factory.gate.set()
    await line.settled()
    assert line.factory.asked == ["one"]
    assert session.rehearsed is None


async def test_a_new_session_has_nothing_to_be_made_ready(line: _Line) -> None:
    line.rehearsals.all_loaded()
    session: Any = _Session("new")
    session.is_new = True
    line.rehearsals.of(session)
    await line.settled()
    assert line.factory.asked == []


async def test_at_the_end_what_is_under_way_is_waited_for_and_nothing_begins(line: _Line) -> None:
    line.rehearsals.all_loaded()
    line.factory.gate.clear()
    line.open("one")
    line.open("two")
    await asyncio.to_thread(wait_until, lambda: line.factory.asked == ["one"])
    ending = asyncio.create_task(asyncio.to_thread(line.rehearsals.end))
    await asyncio.to_thread(wait_until, lambda: line.rehearsals._is_over)
    assert not ending.done()
    line.factory.gate.set()
    await ending
    await line.settled()
    assert line.factory.asked == ["one"]


async def test_what_fails_is_left_to_the_prompt() -> None:
    with ThreadPoolExecutor(1) as executor:
        line = _Line(executor, fails=True)
        line.rehearsals.all_loaded()
        session = line.open("one")
        await line.settled()
        assert line.factory.asked == ["one"]
        assert session.rehearsed is None


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> list[Rehearsed]:
    """What first prompts have gone on from."""
    seen, taken = list[Rehearsed](), Rehearsed.hand_over
    monkeypatch.setattr(Rehearsed, "hand_over", lambda made, services: (seen.append(made), taken(made, services)))
    return seen


async def _stored(home: Path, workspace: Path) -> str:
    """A session of an earlier process, with one prompt in it."""
    async with serving(home, config=ConfigSource(Home(home))) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        await editor.prompt(session, "mind the gate")
    return session


async def test_a_prompt_sent_at_once_with_its_load_goes_on_from_what_was_recalled(
    home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, handed_over: list[Rehearsed]
) -> None:
    # Nothing was loaded yet when it comes.
    monkeypatch.setattr(Rehearsals, "all_loaded", lambda _: None)
    with ModelServer(default=lambda _: Reply("Fine.")) as server:
        use_model(home, server)
        session = await _stored(home, workspace)
        async with serving(home, config=ConfigSource(Home(home))) as editor:
            await editor.initialize()
            await editor.load_session(session, workspace)
            await editor.prompt(session, "and now?")
        told = [message["content"] for message in server.requests[-1].body["messages"]]
    (made,) = handed_over
    assert [message["content"] for message in made.request.messages[1:]] == told[1:3] == ["mind the gate", "Fine."]


async def test_a_loaded_sessions_first_prompt_goes_on_from_what_was_made(
    home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, handed_over: list[Rehearsed]
) -> None:
    is_ready, hand_over = asyncio.Event(), Rehearsals._hand_over

    def noted(of: Rehearsals, session: Any, made: Rehearsed | None) -> None:
        hand_over(of, session, made)
        if made is not None:
            is_ready.set()

    monkeypatch.setattr(Rehearsals, "_hand_over", noted)
    with ModelServer(default=lambda _: Reply("Fine.")) as server:
        use_model(home, server)
        session = await _stored(home, workspace)
        async with serving(home, config=ConfigSource(Home(home))) as editor:
            await editor.initialize()
            await editor.load_session(session, workspace)
            await asyncio.wait_for(is_ready.wait(), 30)
            await editor.prompt(session, "and now?")
            await editor.prompt(session, "and then?")
        told = [
            [message["content"] for message in request.body["messages"] if message["role"] != "system"]
            for request in server.requests
        ]
    assert len(handed_over) == 1
    assert told[1] == ["mind the gate", "Fine.", "and now?"]
    assert told[2] == ["mind the gate", "Fine.", "and now?", "Fine.", "and then?"]
