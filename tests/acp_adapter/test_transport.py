"""One connection over real pipes: what is answered at once, what is handed on and how, and the order of it all."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from acp_adapter.jsonrpc import RequestMeta
from acp_adapter.transport import ClientGone, Limits, Transport
from tests.support.agent_end import RawClient, raw_client, unread
from tests.support.waiting import wait_until


def _attached(client: RawClient) -> Transport:
    client.transport.attach(asyncio.get_running_loop())
    return client.transport


def _request(number: Any, method: str = "session/prompt", **params: Any) -> dict[str, Any]:
    return {"id": number, "method": method, "params": params}


def _answer(number: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": {}}


class TestIncoming:
    def test_meta_becomes_one_argument_beside_the_parameters(self, client: RawClient) -> None:
        client.send(_request("a", sessionId="s", _meta={"sessionId": "other", "traceparent": "00"}))
        message = client.transport.inbox.take()
        meta = RequestMeta("a", {"sessionId": "other", "traceparent": "00"})
        assert message is not None
        assert message["params"] == {"sessionId": "s", "_meta": {"hermes_meta": meta}}

    @pytest.mark.parametrize("meta", [None, [], "text", 7])
    def test_a_meta_that_is_no_object_counts_as_none(self, meta: Any, client: RawClient) -> None:
        client.send(_request(1, _meta=meta))
        message = client.transport.inbox.take()
        assert message is not None
        assert message["params"]["_meta"] == {"hermes_meta": RequestMeta(1, {})}

    @pytest.mark.parametrize("request_id", ["text", "", 0, -7, 2**53, None])
    def test_ids_are_kept(self, request_id: Any, client: RawClient) -> None:
        client.send(_request(request_id, "initialize"))
        message = client.transport.inbox.take()
        assert message is not None
        client.transport.answer(message["id"], result={})
        assert client.read() == _answer(request_id)

    def test_the_methods_of_vendors_keep_their_parameters(self, client: RawClient) -> None:
        client.send(_request(1, "_vendor/x", _meta={"a": 1}), {"method": "_vendor/y", "params": {"_meta": {}}})
        first, second = client.transport.inbox.take(), client.transport.inbox.take()
        assert first is not None
        assert second is not None
        assert first["params"] == {"_meta": {"a": 1}}
        assert second["params"] == {"_meta": {}}

    def test_missing_params_are_an_empty_object(self, client: RawClient) -> None:
        client.write(
            b'{"jsonrpc":"2.0","id":1,"method":"_x"}\n{"jsonrpc":"2.0","id":2,"method":"_x","params":null}\n'
        )
        for _ in range(2):
            message = client.transport.inbox.take()
            assert message is not None
            assert message["params"] == {}

    def test_unknown_notifications_are_dropped_and_a_cancel_is_handed_on(self, client: RawClient) -> None:
        client.send({"method": "nonsense", "params": {}}, {"method": "session/cancel", "params": {"sessionId": "s"}})
        message = client.transport.inbox.take()
        assert message is not None
        assert message["method"] == "session/cancel"
        assert message["params"]["sessionId"] == "s"

    def test_an_id_is_free_again_once_its_request_is_answered(self, client: RawClient) -> None:
        client.send(_request(1), _request(1))
        refused = client.read()
        assert (refused["id"], refused["error"]["code"]) == (1, -32600)
        client.transport.inbox.take()
        client.transport.answer(1, result={})
        assert client.read() == _answer(1)
        client.send(_request(1))
        assert client.transport.inbox.take() is not None

    def test_a_client_that_reports_an_error_without_an_id_gets_none_in_return(self, client: RawClient) -> None:
        client.send({"id": None, "error": {"code": -32700, "message": "Parse error"}})
        client.send({"id": None, "result": {}})
        assert client.read()["error"]["message"].startswith("A message must have a method")
        client.close_input()
        assert client.transport.inbox.take() is None
        assert unread(client.end.reader) == 0

    def test_an_answer_without_a_result_is_an_error(self, client: RawClient) -> None:
        client.send({"id": 4})
        message = client.transport.inbox.take()
        assert message is not None
        assert message["error"]["code"] == -32600

    @pytest.mark.parametrize("line", [b"NaN", b'{"id":1.5,"method":"x"}', b'{"id":true,"method":"x"}', b"9" * 5000])
    def test_lines_that_are_no_message_are_answered(self, line: bytes, client: RawClient) -> None:
        client.write(line + b"\n")
        answer = client.read()
        assert answer["id"] is None
        assert answer["error"]["code"] in (-32600, -32700)


class TestCancelRequest:
    async def test_it_is_told_on_the_loop_for_a_request_that_runs_and_for_no_other(self, client: RawClient) -> None:
        transport = _attached(client)
        told: list[Any] = []
        transport.on_cancel_request = told.append
        client.send(_request(1), _request("1"))
        for request_id in (7, "1", [1], None, {}):
            client.send({"method": "$/cancel_request", "params": {"requestId": request_id}})
        client.send({"method": "_last", "params": {}})
        assert [(await transport.receive() or {})["method"] for _ in range(3)][-1] == "_last"
        await asyncio.sleep(0)
        assert told == ["1"]

    async def test_one_that_comes_before_anybody_listens_is_remembered_until_the_answer(
        self, client: RawClient
    ) -> None:
        client.send(_request(1), {"method": "$/cancel_request", "params": {"requestId": 1}}, _request(2))
        transport = _attached(client)
        assert [await transport.receive(), await transport.receive()]
        assert transport.requests.is_cancelled(1)
        assert not transport.requests.is_cancelled(2)
        await transport.send(_answer(1))
        assert not transport.requests.is_cancelled(1)


async def _notify(transport: Transport, method: str, params: Mapping[str, Any]) -> None:
    """Send a notification and wait until it is written."""
    written = asyncio.Event()
    if not transport.once_written(transport.notify(method, params), written.set):
        await written.wait()


class TestOutgoing:
    async def test_answers_notifications_and_the_sdks_messages_keep_one_order(self, client: RawClient) -> None:
        transport = _attached(client)
        sends = []
        for number in range(0, 300, 3):
            sends.append(_notify(transport, "_n", {"number": number}))
            sends.append(transport.send({"jsonrpc": "2.0", "id": number + 1, "method": "_ask"}))
            sends.append(transport.send({"jsonrpc": "2.0", "id": number + 2, "result": {}}))
        await asyncio.gather(*sends)
        seen = [client.read() for _ in range(300)]
        assert [message.get("id", message.get("params", {}).get("number")) for message in seen] == list(range(300))

    async def test_a_worker_that_waits_for_what_it_has_sent_is_answered_on_the_loop(self, client: RawClient) -> None:
        transport, told = _attached(client), asyncio.Queue[int]()

        def tell(number: int) -> None:
            told.put_nowait(number if threading.get_ident() == loop_thread else -1)

        def send(number: int) -> None:
            position = transport.notify("_n", {"text": "x" * 200_000})
            assert not transport.once_written(position, functools.partial(tell, number))

        loop_thread = threading.get_ident()
        await asyncio.gather(*(asyncio.to_thread(send, number) for number in range(20)))
        for _ in range(20):
            await asyncio.to_thread(client.read)
        assert {await asyncio.wait_for(told.get(), 5) for _ in range(20)} == set(range(20))

    @pytest.mark.parametrize("how", ["send", "notify"])
    async def test_sending_what_is_no_answer_returns_when_it_is_written(self, how: str, client: RawClient) -> None:
        transport = _attached(client)
        params = {"text": "x" * 1_000_000}
        first = {"jsonrpc": "2.0", "method": "_n", "params": params}
        sending = asyncio.create_task(transport.send(first) if how == "send" else _notify(transport, "_n", params))
        following = asyncio.create_task(_notify(transport, "_after", {}))
        await asyncio.to_thread(wait_until, lambda: unread(client.end.reader) > 0)
        for _ in range(50):
            await asyncio.sleep(0)
        assert not sending.done(), "most of it does not fit into the pipe"
        assert not following.done()
        assert (await asyncio.to_thread(client.read))["params"] == params
        await asyncio.wait_for(asyncio.gather(sending, following), 5)
        assert client.read()["method"] == "_after"

    async def test_an_answer_in_front_of_the_message_that_is_looked_at_is_handed_on(self, client: RawClient) -> None:
        transport = _attached(client)
        asked = asyncio.create_task(transport.request("fs/read_text_file", {}))
        question = await asyncio.to_thread(client.read)
        client.send({"id": question["id"], "result": {"content": "x"}}, _request(1))
        message = await transport.peek()
        assert await asyncio.wait_for(asked, 5) == {"content": "x"}
        assert message is await transport.receive()
        assert message is not None
        assert message["id"] == 1

    async def test_after_answer_comes_behind_the_answer(self, client: RawClient) -> None:
        transport = _attached(client)
        client.send(_request(1, "session/new"))
        await transport.receive()
        tasks: list[asyncio.Task[None]] = []
        for name in ("_one", "_two"):
            transport.after_answer(
                1, lambda name=name: tasks.append(asyncio.create_task(_notify(transport, name, {})))
            )
        await _notify(transport, "_before", {})
        assert not tasks
        await transport.send(_answer(1))
        await asyncio.gather(*tasks)
        assert [client.read().get("method") for _ in range(4)] == ["_before", None, "_one", "_two"]

    def test_after_answer_runs_at_once_when_no_answer_is_due(self, client: RawClient) -> None:
        ran: list[str] = []
        client.transport.after_answer("unknown", lambda: ran.append("now"))
        assert ran == ["now"]

    def test_after_answer_holds_for_answers_of_the_front_door_too(self, client: RawClient) -> None:
        client.send(_request(1))
        client.transport.inbox.take()
        ran: list[str] = []
        client.transport.after_answer(1, lambda: ran.append("then"))
        client.transport.answer(1, result={})
        assert ran == ["then"]

    async def test_errors_of_the_sdk_go_out_without_input_links_and_line_breaks(self, client: RawClient) -> None:
        problem = {"loc": ["cwd"], "msg": "Input should be a string", "input": "secret", "url": "https://x"}
        error = {"code": -32602, "message": "Invalid\nparams", "data": {"errors": [problem]}}
        await _attached(client).send({"jsonrpc": "2.0", "id": 1, "error": error})
        text = "Invalid params: cwd: Input should be a string"
        assert client.read()["error"] == {"code": -32602, "message": text, "data": {"details": text}}

    async def test_every_line_is_strict_json_in_ascii(self, client: RawClient) -> None:
        values = {
            "nan": float("nan"),
            "deep": [(float("inf"), -1.5)],
            "lone": "a\ud83d",
            "pair": "\ud83d\ude00 \u2028",
        }
        await _notify(_attached(client), "_n", {**values, "k\udcff": "\\ud800"})
        line = client.read_line()
        line.decode("ascii")
        client._rest = line + b"\n"
        assert client.read()["params"] == {
            "nan": None, "deep": [[None, -1.5]], "lone": "a\ufffd", "pair": "\U0001f600 \u2028", "k\ufffd": "\\ud800",
        }  # fmt: skip


class TestFlood:
    """A client that sends and does not read."""

    def test_its_requests_stay_in_the_pipe_and_its_cancels_and_answers_come_through(self) -> None:
        with raw_client(limits=Limits(unread_bytes=200_000)) as client:
            transport = client.transport
            client.send(_request("running"))
            assert transport.inbox.take() is not None
            transport.answer("nobody reads", result="x" * 300_000)
            client.send({"method": "session/cancel", "params": {"sessionId": "s"}}, {"id": 7, "result": {}})
            assert (transport.inbox.take() or {})["method"] == "session/cancel"
            assert (transport.inbox.take() or {})["id"] == 7
            line = json.dumps({"jsonrpc": "2.0", **_request("later", "session/list")}).encode() + b"\n"
            client.write(line)
            wait_until(lambda: unread(client.end.descriptors[0]) == 0)
            client.write(line)
            wait_until(lambda: unread(client.end.descriptors[0]) == len(line))
            assert client.read()["id"] == "nobody reads"
            assert (transport.inbox.take() or {})["id"] == "later"
            assert client.read()["error"]["message"].startswith("The id is in use")

    def test_what_is_refused_at_once_is_not_read_on_either(self) -> None:
        with raw_client(limits=Limits(unread_bytes=200_000)) as client:
            client.transport.answer("nobody reads", result="x" * 300_000)
            client.write(b"nonsense\n")
            wait_until(lambda: unread(client.end.descriptors[0]) == 0)
            client.write(b"nonsense\n")
            assert unread(client.end.descriptors[0]) == len(b"nonsense\n")
            assert [client.read()["id"] for _ in range(3)] == ["nobody reads", None, None]

    def test_its_end_is_seen_while_its_requests_are_held(self) -> None:
        with raw_client(limits=Limits(unread_bytes=200_000)) as client:
            client.transport.answer("nobody reads", result="x" * 300_000)
            client.send(_request(1), _request(2))
            client.close_input()
            assert client.end.over.wait(10)

    async def test_requests_that_are_worked_off_slowly_come_one_after_the_other(self) -> None:
        with raw_client(limits=Limits(requests=1)) as client:
            transport = _attached(client)
            client.send(*(_request(number, "session/list") for number in range(50)))
            for number in range(50):
                assert (await asyncio.wait_for(transport.receive(), 10) or {})["id"] == number
                await transport.send(_answer(number))
            assert [client.read()["id"] for _ in range(50)] == list(range(50))

    async def test_what_is_to_be_done_has_its_turn_while_messages_keep_coming(self, client: RawClient) -> None:
        transport = _attached(client)
        client.send(*({"method": "_n", "params": {}} for _ in range(100)))
        await asyncio.wait_for(transport.inbox.waiting(99), 10)
        turns: list[str] = []
        asyncio.get_running_loop().call_soon(turns.append, "had")
        for _ in range(100):
            await transport.receive()
        assert turns == ["had"]

    async def test_an_answer_that_nobody_reads_has_no_task_that_waits_for_it(self, client: RawClient) -> None:
        transport = _attached(client)
        transport.answer("first", result="x" * 300_000)
        for number in range(3):
            await asyncio.wait_for(transport.send(_answer(number)), 5)


class TestEnd:
    async def test_at_the_end_of_input_requests_are_refused_and_the_rest_still_goes_out(
        self, client: RawClient
    ) -> None:
        transport = _attached(client)
        ended = asyncio.Event()
        transport.on_end = ended.set
        client.send(_request(1))
        client.close_input()
        assert await transport.receive()
        assert await transport.receive() is None
        await asyncio.wait_for(ended.wait(), 5)
        assert client.end.over.is_set()
        with pytest.raises(ClientGone):
            await transport.send({"jsonrpc": "2.0", "id": 9, "method": "session/request_permission"})
        await _notify(transport, "_n", {})
        await transport.send(_answer(1))
        assert [client.read().get("method"), client.read().get("id")] == ["_n", 1]

    async def test_a_file_as_input_ends_the_connection_after_its_last_answer(self) -> None:
        with raw_client(finish_before_end=True) as client:
            transport = _attached(client)
            client.send(_request(1), _request(2))
            client.close_input()
            assert [await transport.receive(), await transport.receive()]
            last = asyncio.create_task(transport.receive())
            await transport.send(_answer(2))
            assert not client.end.over.is_set()
            assert not last.done()
            await transport.send(_answer(1))
            assert await asyncio.wait_for(last, 5) is None
            assert client.end.over.is_set()

    def test_a_file_without_requests_ends_at_once(self) -> None:
        with raw_client(finish_before_end=True) as client:
            client.close_input()
            assert client.transport.inbox.take() is None
            assert client.end.over.wait(5)

    async def test_a_broken_output_ends_the_connection_and_releases_who_waits_for_it(self, client: RawClient) -> None:
        transport = _attached(client)
        sending = [asyncio.create_task(_notify(transport, "_n", {"text": "x" * 500_000})) for _ in range(3)]
        await asyncio.to_thread(wait_until, lambda: unread(client.end.reader) > 0)
        client.close_output()
        await asyncio.wait_for(asyncio.gather(*sending), 5)
        assert await asyncio.wait_for(transport.receive(), 5) is None
        assert client.end.over.wait(5)
        await asyncio.wait_for(transport.send(_answer(1)), 5)
        with pytest.raises(ClientGone):
            await transport.send({"jsonrpc": "2.0", "id": 9, "method": "_ask"})

    async def test_nothing_can_be_asked_after_close(self, client: RawClient) -> None:
        transport = _attached(client)
        await transport.close()
        with pytest.raises(ClientGone):
            await transport.send({"jsonrpc": "2.0", "id": 9, "method": "_ask"})
        await _notify(transport, "_n", {})
        assert client.read()["method"] == "_n"

    def test_the_end_waits_no_longer_than_it_may_for_what_is_queued(self, client: RawClient) -> None:
        client.transport.answer(1, result="x" * 1_000_000)
        assert not client.transport.end(0.01)
        assert client.read()["id"] == 1
        assert client.transport.end(5)

    async def test_nothing_goes_out_after_the_end_and_nobody_waits_for_it(self, client: RawClient) -> None:
        transport = _attached(client)
        assert transport.end(5)
        await asyncio.wait_for(_notify(transport, "_n", {}), 5)
        assert unread(client.end.reader) == 0
