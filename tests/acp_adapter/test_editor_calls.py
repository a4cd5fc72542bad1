"""Requests of ours to the editor: answered, refused, withdrawn, or left without an answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from acp_adapter.client_io.calls import EditorCalls, EditorGone, EditorRefused, EditorSilent
from acp_adapter.events import Outbox
from acp_adapter.projection import CardFields
from agent_core.cancel import CancelToken
from agent_core.events import AgentText, SessionEvent
from tests.support.agent_end import AgentEnd, RawClient
from tools.errors import ToolInterrupted


class SlowToWake(CancelToken):
    """The token of a turn whose worker sleeps on behind the cancel until `wakes` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.sleeps = threading.Event()
        self.wakes = threading.Event()

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        self.sleeps.set()
        self.wakes.wait()
        return super().wait_for(predicate, timeout)


class Desk:
    """A session's calls over a transport, with a client at the other end."""

    def __init__(self) -> None:
        self.client = RawClient(AgentEnd())
        self.transport = self.client.transport
        loop = asyncio.get_running_loop()
        self.transport.attach(loop)
        self.outbox = Outbox(loop, self._deliver, self.transport.once_written)
        self.calls = EditorCalls(self.transport, loop, "s", self.outbox, CardFields())
        self.token = CancelToken()
        self.reading = asyncio.create_task(self._read())

    def begin(
        self, method: str = "fs/read_text_file", timeout: float | None = None, **params: Any
    ) -> asyncio.Future[Any]:
        return asyncio.ensure_future(asyncio.to_thread(self.calls.call, method, params, self.token, timeout))

    async def next(self) -> dict[str, Any]:
        return await asyncio.to_thread(self.client.read)

    def answer(self, request: dict[str, Any], **outcome: Any) -> None:
        self.client.send({"id": request["id"], **outcome})

    async def close(self) -> None:
        self.client.close_input()
        await self.reading
        await asyncio.to_thread(self.client.close)

    async def _read(self) -> None:
        while await self.transport.receive() is not None:
            pass

    def _deliver(self, event: SessionEvent) -> int:
        assert isinstance(event, AgentText)
        return self.transport.notify("session/update", {"text": event.text})


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    made = Desk()
    yield made
    await made.close()


async def test_the_session_is_named_and_the_result_comes_back(desk: Desk) -> None:
    call = desk.begin(path="/srv/a.py")
    request = await desk.next()
    assert request["params"] == {"sessionId": "s", "path": "/srv/a.py"}
    desk.answer(request, result={"content": "text"})
    assert await call == {"content": "text"}


async def test_what_was_put_before_is_written_first(desk: Desk) -> None:
    desk.outbox.put(AgentText("m", "before"))
    call = desk.begin()
    assert (await desk.next())["params"] == {"text": "before"}
    desk.answer(await desk.next(), result=None)
    assert await call == {}


async def test_answers_may_come_in_any_order(desk: Desk) -> None:
    one = desk.begin(path="1")
    first = await desk.next()
    other = desk.begin(path="2")
    second = await desk.next()
    desk.answer(second, result={"content": "2"})
    desk.answer(first, result={"content": "1"})
    assert [await one, await other] == [{"content": "1"}, {"content": "2"}]


async def test_an_error_is_told_with_its_code(desk: Desk) -> None:
    call = desk.begin()
    desk.answer(await desk.next(), error={"code": -32601, "message": "no such method"})
    with pytest.raises(EditorRefused, match="no such method") as refused:
        await call
    assert refused.value.code == -32601


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("the buffer is read-only", "Internal error: the buffer is read-only"),
        ({"details": "read-only"}, "Internal error: read-only"),
        ({"other": 1}, "Internal error"),
        ("Internal error", "Internal error"),
        ("x" * 9000, f"Internal error: {'x' * 300}"),
        (None, "Internal error"),
    ],
)
async def test_an_error_is_told_with_what_its_data_says(desk: Desk, data: Any, told: str) -> None:
    call = desk.begin()
    desk.answer(await desk.next(), error={"code": -32603, "message": "Internal error", "data": data})
    with pytest.raises(EditorRefused) as refused:
        await call
    assert refused.value.text == told


async def test_a_result_that_is_no_object_is_an_error(desk: Desk) -> None:
    call = desk.begin()
    desk.answer(await desk.next(), result=[1])
    with pytest.raises(EditorRefused, match="no object"):
        await call


async def test_a_request_without_an_answer_in_time_is_withdrawn(desk: Desk) -> None:
    call = desk.begin(timeout=0.05)
    request = await desk.next()
    with pytest.raises(EditorSilent, match=r"0\.05 seconds"):
        await call
    gone = await desk.next()
    assert (gone["method"], gone["params"]) == ("$/cancel_request", {"requestId": request["id"]})


async def test_the_end_of_the_turn_withdraws_the_request(desk: Desk) -> None:
    call = desk.begin()
    request = await desk.next()
    desk.token.cancel()
    with pytest.raises(ToolInterrupted):
        await call
    assert (await desk.next())["params"] == {"requestId": request["id"]}


async def test_the_request_is_withdrawn_before_the_worker_wakes_and_an_answer_then_is_late(desk: Desk) -> None:
    desk.token = slow = SlowToWake()
    call = desk.begin()
    request = await desk.next()
    await asyncio.to_thread(slow.sleeps.wait)
    slow.cancel()
    try:
        assert (await desk.next())["params"] == {"requestId": request["id"]}
        desk.answer(request, result={"content": "late"})
    finally:
        slow.wakes.set()
    with pytest.raises(ToolInterrupted):
        await call


async def test_a_turn_that_is_over_asks_nothing(desk: Desk) -> None:
    desk.token.cancel()
    with pytest.raises(ToolInterrupted):
        await desk.begin("fs/write_text_file", path="/srv/a.py", content="x")
    desk.token = CancelToken()
    call = desk.begin(path="/srv/b.py")
    request = await desk.next()
    assert request["params"]["path"] == "/srv/b.py"
    desk.answer(request, result=None)
    assert await call == {}


@pytest.mark.parametrize("method", ["session/request_permission", "fs/write_text_file"])
async def test_a_turn_that_ends_while_updates_go_out_first_asks_nothing(desk: Desk, method: str) -> None:
    desk.token = slow = SlowToWake()
    before = "more than the pipe takes" * 10_000
    desk.outbox.put(AgentText("m", before))
    call = desk.begin(method, toolCall={"toolCallId": "c"})
    await asyncio.to_thread(slow.sleeps.wait)
    slow.cancel()
    shown = ""
    while len(shown) < len(before):
        shown += (await desk.next())["params"]["text"]
    assert shown == before
    await desk.outbox.drain()
    slow.wakes.set()
    with pytest.raises(ToolInterrupted):
        await call
    desk.token = CancelToken()
    other = desk.begin(path="/srv/b.py")
    request = await desk.next()
    assert request["params"] == {"sessionId": "s", "path": "/srv/b.py"}
    desk.answer(request, result=None)
    assert await other == {}


async def test_a_late_answer_is_dropped(desk: Desk) -> None:
    call = desk.begin(timeout=0.05)
    request = await desk.next()
    with pytest.raises(EditorSilent):
        await call
    await desk.next()
    desk.answer(request, result={"content": "late"})
    again = desk.begin()
    desk.answer(await desk.next(), result={"content": "new"})
    assert await again == {"content": "new"}


async def test_an_answer_to_nothing_is_dropped(desk: Desk) -> None:
    desk.client.send({"id": 999_999, "result": {}})
    call = desk.begin()
    desk.answer(await desk.next(), result={"content": "x"})
    assert await call == {"content": "x"}


async def test_whoever_waits_when_the_client_leaves_is_told_so(desk: Desk) -> None:
    call = desk.begin()
    await desk.next()
    desk.client.close_input()
    with pytest.raises(EditorGone):
        await call


async def test_after_the_client_left_nothing_is_asked(desk: Desk) -> None:
    desk.client.close_input()
    await desk.reading
    with pytest.raises(EditorGone):
        await desk.begin()
