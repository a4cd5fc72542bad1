"""A first prompt of plain text, and cancels, wait for no SDK; all else does, in its order."""

from __future__ import annotations

import asyncio
import functools
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.content import texts_of
from acp_adapter.preload import AheadOfSdk
from acp_adapter.server import serve
from acp_adapter.session import Ticket
from acp_adapter.turn import Answered
from agent_core.config import ConfigSource
from agent_core.errors import RequestError
from agent_core.events import SaidPart, SaidText
from agent_core.home import Home
from tests.support.agent_end import RawClient
from tests.support.editor import Editor, RpcError
from tests.support.in_memory import serving
from tests.support.model_server import Gate, ModelServer, Reply
from tests.support.settings_files import use_model

_LINK = {"type": "resource_link", "name": "a.py", "uri": "file:///a.py"}


class _Loading:
    """The SDK, as long as a test wants it to take."""

    def __init__(self) -> None:
        self.begun, self._may_end = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        assert self._may_end.wait(30)

    def end(self) -> None:
        self._may_end.set()


@pytest.fixture
def sdk() -> Iterator[_Loading]:
    loading = _Loading()
    yield loading
    loading.end()


@asynccontextmanager
async def _editor(home: Path, sdk: _Loading) -> AsyncIterator[Editor]:
    served = functools.partial(serve, load_sdk=sdk)
    async with serving(home, config=ConfigSource(Home(home)), front_door=True, server=served) as editor:
        await editor.initialize()
        try:
            yield editor
        finally:
            sdk.end()


@pytest.fixture
def model(home: Path) -> Iterator[ModelServer]:
    with ModelServer() as served:
        use_model(home, served)
        yield served


async def test_the_first_prompt_is_answered_while_the_sdk_still_loads(
    home: Path, workspace: Path, model: ModelServer, sdk: _Loading
) -> None:
    model.add(Reply("Hello."), Reply("Again."))
    async with _editor(home, sdk) as editor:
        session = await editor.new_session(workspace)
        assert (await editor.prompt(session, "Say hello."))["stopReason"] == "end_turn"
        assert editor.text(session) == "Hello."
        second = editor.begin_prompt(session, "And again.")
        await asyncio.to_thread(sdk.begun.wait, 30)
        assert not second.done()
        sdk.end()
        assert (await editor.answer(second, "session/prompt"))["stopReason"] == "end_turn"
    assert [request.body["messages"][-1]["content"] for request in model.requests] == ["Say hello.", "And again."]


async def test_it_can_be_cancelled_meanwhile(home: Path, workspace: Path, model: ModelServer, sdk: _Loading) -> None:
    never = Gate()
    model.add(Reply("Hello", split=2, gate=never))
    try:
        async with _editor(home, sdk) as editor:
            session = await editor.new_session(workspace)
            prompt = editor.begin_prompt(session, "Say hello.")
            await asyncio.to_thread(sdk.begun.wait, 30)  # its head start is over
            editor.cancel(session)
            assert (await editor.answer(prompt, "session/prompt"))["stopReason"] == "cancelled"
    finally:
        never.set()


async def test_what_needs_the_sdk_is_answered_once_it_is_loaded(
    home: Path, workspace: Path, model: ModelServer, sdk: _Loading
) -> None:
    model.add(Reply("Seen."))
    async with _editor(home, sdk) as editor:
        session = await editor.new_session(workspace)
        linked = editor.begin_prompt(session, [{"type": "text", "text": "Look at"}, _LINK])
        listed = editor.begin("session/list", {})
        await asyncio.to_thread(sdk.begun.wait, 30)
        assert not linked.done()
        assert not listed.done()
        sdk.end()
        assert (await editor.answer(linked, "session/prompt"))["stopReason"] == "end_turn"
        assert await editor.answer(listed, "session/list")


async def test_the_end_of_input_ends_all_while_the_sdk_loads(
    home: Path, workspace: Path, model: ModelServer, sdk: _Loading
) -> None:
    never = Gate()
    model.add(Reply("Hello", split=2, gate=never))
    try:
        async with _editor(home, sdk) as editor:
            session = await editor.new_session(workspace)
            editor.begin_prompt(session, "Say hello.").add_done_callback(lambda future: future.exception())
            await asyncio.to_thread(sdk.begun.wait, 30)
    finally:
        never.set()


async def test_an_error_is_told_as_the_sdk_would_tell_it(
    home: Path, workspace: Path, model: ModelServer, sdk: _Loading
) -> None:
    async with _editor(home, sdk) as editor:
        session = await editor.new_session(workspace)
        with pytest.raises(RpcError) as early:
            await editor.prompt(session, " ")
        sdk.end()
        with pytest.raises(RpcError) as late:
            await editor.prompt(session, " ")
    assert "The prompt is empty." in str(early.value)
    assert vars(early.value) == vars(late.value)


class _Prompting:
    """Notes what it is to do; a prompt is over when the test says so, and fails with `problem`."""

    def __init__(self) -> None:
        self.seen: list[object] = []
        self.over, self.cancelled = asyncio.Event(), asyncio.Event()
        self.problem: Exception | None = None

    async def answer(self, session_id: str, said: Sequence[SaidPart], ticket: Ticket) -> Answered:
        self.seen.append((session_id, said, ticket.request_id))
        await self.over.wait()
        if self.problem is not None:
            raise self.problem
        return Answered("end_turn")

    async def cancel(self, session_id: str) -> None:
        self.seen.append(("cancel", session_id))
        self.cancelled.set()


class _Worker:
    """Loads what it is to load at once, or when the test lets it; the first `failures` loads fail."""

    def __init__(self) -> None:
        self.loads, self.failures = 0, 0
        self.begun, self.may_end = asyncio.Event(), asyncio.Event()
        self.may_end.set()

    def load(self) -> None:
        self.loads += 1
        if self.loads <= self.failures:
            raise ImportError("half of a module")

    async def run(self, function: Callable[[], None]) -> None:
        self.begun.set()
        await self.may_end.wait()
        function()


_Made = tuple[AheadOfSdk, _Prompting, _Worker]


@pytest.fixture
async def made(client: RawClient) -> AsyncIterator[_Made]:
    prompting, worker = _Prompting(), _Worker()
    client.transport.attach(asyncio.get_running_loop())
    faked: Any = prompting
    ahead = AheadOfSdk(client.transport, faked, "s", load=worker.load, run=worker.run, head_start=0.05)
    yield ahead, prompting, worker
    await ahead.close()


def _prompt(number: int, text: str = "Hello.", session: str = "s") -> dict[str, Any]:
    params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
    return {"id": number, "method": "session/prompt", "params": params}


_CANCEL = {"method": "session/cancel", "params": {"sessionId": "s"}}
_ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}}


async def _arrived(client: RawClient, messages: int = 1) -> None:
    await client.transport.inbox.waiting(messages - 1)


async def test_a_prompt_that_has_come_already_goes_before_the_loading(client: RawClient, made: _Made) -> None:
    ahead, prompting, worker = made
    client.send(_prompt(1), _CANCEL)
    await _arrived(client)
    waiting = asyncio.create_task(ahead.until_loaded())
    await prompting.cancelled.wait()
    assert prompting.seen == [("s", (SaidText("Hello."),), 1), ("cancel", "s")]
    assert worker.loads == 0
    assert await waiting
    assert worker.loads == 1
    prompting.over.set()
    assert await asyncio.to_thread(client.read) == _ANSWER


async def test_one_that_comes_while_it_is_loaded_does_not_wait_either(client: RawClient, made: _Made) -> None:
    ahead, prompting, worker = made
    worker.may_end.clear()
    prompting.over.set()
    waiting = asyncio.create_task(ahead.until_loaded())
    await worker.begun.wait()
    client.send(_prompt(1))
    assert await asyncio.to_thread(client.read) == _ANSWER
    worker.may_end.set()
    assert await waiting


async def test_what_needs_the_sdk_ends_the_head_start_and_is_left_to_it(client: RawClient, made: _Made) -> None:
    ahead, prompting, worker = made
    client.send(_prompt(1), _prompt(2))
    await _arrived(client)
    assert await ahead.until_loaded()
    assert worker.loads == 1
    assert len(prompting.seen) == 1
    left = await client.transport.receive()
    assert left is not None
    assert left["id"] == 2


async def test_a_cancel_behind_what_needs_the_sdk_is_taken_up_and_is_left_to_it_too(
    client: RawClient, made: _Made
) -> None:
    ahead, prompting, worker = made
    worker.may_end.clear()
    client.send(_prompt(1), _prompt(2), _CANCEL)
    waiting = asyncio.create_task(ahead.until_loaded())
    await prompting.cancelled.wait()
    worker.may_end.set()
    assert await waiting
    left = [await client.transport.receive() for _ in range(2)]
    assert [message["method"] for message in left if message] == ["session/prompt", "session/cancel"]


async def test_a_flood_of_cancels_does_not_hold_up_the_first(client: RawClient, made: _Made) -> None:
    ahead, prompting, _ = made
    client.send(_prompt(1), *[_CANCEL] * 500)
    await _arrived(client, 501)
    waiting = asyncio.create_task(ahead.until_loaded())
    await prompting.cancelled.wait()
    assert len(await client.transport.inbox.waiting(0)) > 400
    assert await waiting
    assert 1 <= prompting.seen.count(("cancel", "s")) <= 100


async def test_nothing_is_loaded_once_the_client_is_gone(client: RawClient, made: _Made) -> None:
    ahead, prompting, worker = made
    client.send(_prompt(1))
    await _arrived(client)
    client.close_input()
    assert not await ahead.until_loaded()
    assert worker.loads == 0
    assert len(prompting.seen) == 1


@pytest.mark.parametrize("messages", [[], [_prompt(1), _prompt(2)]], ids=["nothing waits", "something waits for it"])
async def test_an_end_while_it_is_loaded_does_not_wait_for_it(
    messages: list[dict[str, Any]], client: RawClient, made: _Made
) -> None:
    ahead, _, worker = made
    worker.may_end.clear()
    client.send(*messages)
    waiting = asyncio.create_task(ahead.until_loaded())
    await worker.begun.wait()
    client.close_input()
    assert not await asyncio.wait_for(waiting, 10)
    assert worker.loads == 0


async def test_a_load_that_fails_is_tried_once_more(client: RawClient, made: _Made) -> None:
    ahead, _, worker = made
    worker.failures = 1
    assert await ahead.until_loaded()
    assert worker.loads == 2


async def test_where_it_cannot_be_loaded_the_prompt_that_runs_is_answered_first(
    client: RawClient, made: _Made
) -> None:
    ahead, prompting, worker = made
    worker.failures = 2
    client.send(_prompt(1), _prompt(2))
    waiting = asyncio.create_task(ahead.until_loaded())
    await worker.begun.wait()
    prompting.over.set()
    with pytest.raises(ImportError, match="half of a module"):
        await waiting
    assert await asyncio.to_thread(client.read) == _ANSWER


async def _error_of(problem: Exception, client: RawClient, made: _Made) -> Any:
    ahead, prompting, _ = made
    prompting.problem = problem
    prompting.over.set()
    client.send(_prompt(1))
    await _arrived(client)
    assert await ahead.until_loaded()
    return client.read()["error"]


async def test_what_nobody_has_foreseen_is_told_and_in_the_log(
    client: RawClient, made: _Made, caplog: pytest.LogCaptureFixture
) -> None:
    error = await _error_of(RuntimeError("of the inside"), client, made)
    assert error["message"].startswith("Something went wrong inside the agent.")
    assert "of the inside" in caplog.text
    assert "of the inside" not in str(error)


async def test_a_known_problem_has_its_text(client: RawClient, made: _Made) -> None:
    error = await _error_of(RequestError("The prompt is empty."), client, made)
    assert error["message"] == "The prompt is empty."


@pytest.mark.parametrize(
    "message",
    [
        _prompt(1, session="another"),
        {"id": 1, "method": "session/cancel", "params": {"sessionId": "s"}},
        {"method": "session/cancel", "params": {"sessionId": "another"}},
        {"id": 1, "method": "session/list", "params": {}},
        {"id": 1, "method": "session/prompt", "params": {"sessionId": "s"}},
    ],
)
async def test_all_else_is_left_to_the_sdk(message: dict[str, Any], client: RawClient, made: _Made) -> None:
    ahead, prompting, worker = made
    client.send(message)
    await _arrived(client)
    assert await ahead.until_loaded()
    assert worker.loads == 1
    assert prompting.seen == []
    assert await client.transport.receive() is not None


_TEXT = {"type": "text", "text": "Hello."}


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ([_TEXT], (SaidText("Hello."),)),
        ([_TEXT, _TEXT], (SaidText("Hello."), SaidText("Hello."))),
        ([], None),
        ([_TEXT, _LINK], None),
        ([_TEXT | {"annotations": None, "_meta": None}], (SaidText("Hello."),)),
        ([_TEXT | {"annotations": {"priority": 1}}], None),
        ([_TEXT | {"text": 7}], None),
        ([_TEXT | {"type": "image"}], None),
        ([{"type": "text"}], None),
        (["Hello."], None),
        ("Hello.", None),
        (None, None),
    ],
)
def test_only_plain_texts_are_read_without_the_sdk(prompt: object, said: object) -> None:
    assert texts_of({"sessionId": "s", "prompt": prompt, "_meta": {}}) == said


def test_a_prompt_with_more_in_it_is_left_to_the_sdk() -> None:
    assert texts_of({"sessionId": "s", "prompt": [_TEXT], "messageId": "m"}) is None


def test_the_server_is_there_without_the_sdk() -> None:
    program = "import sys, acp_adapter.server\nprint('acp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
