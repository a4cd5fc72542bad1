"""Connections: what ends a request that waits, and where the key goes."""

from __future__ import annotations

import socket
import sys
import threading
import zlib
from pathlib import Path

import httpcore2
import httpx2
import pytest

from agent_core.errors import ProviderConnectionError, ProviderError, ProviderStatusError
from agent_core.messages import user_message
from agent_core.providers.base import Finished, ModelRequest, TextDelta
from agent_core.providers.transport import Abort, make_client
from tests.support.agents import in_background
from tests.support.full_listener import full_listener
from tests.support.model_server import Gate, Hang, ModelServer, Reply, Status
from tests.support.raw_server import RawServer, event_stream
from tests.support.waiting import wait_until

REQUEST = ModelRequest("test-model", [user_message("hello")])


def ours(before):
    """Threads that are neither from before nor the fake server's."""
    return [
        thread
        for thread in threading.enumerate()
        if thread not in before and "process_request_thread" not in thread.name
    ]


def test_close_ends_a_tls_handshake_that_is_never_answered(connect):
    with RawServer(None) as server:
        stream = connect(f"https://127.0.0.1:{server.port}/v1").stream(REQUEST)
        running = in_background(lambda: list(stream))
        assert server.heard.wait(5)
        stream.close()
        with pytest.raises(ProviderConnectionError):
            running.result(2)


def connecting(port):
    """Whether this machine has a connection in the making to `port`."""
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    return any(line.split()[2].endswith(f":{port:04X}") and line.split()[3] == "02" for line in lines)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full queue refuses connections")
def test_close_ends_a_connect_that_is_never_answered(connect):
    with full_listener() as port:
        stream = connect(f"http://127.0.0.1:{port}/v1").stream(REQUEST)
        running = in_background(lambda: list(stream))
        wait_until(lambda: connecting(port))
        stream.close()
        with pytest.raises(ProviderConnectionError):
            running.result(2)


def test_a_hundred_cancels_on_a_stalled_server_leave_no_thread(model_server, connect):
    model_server.add(*[Hang(before_headers=True)] * 100)
    provider, before = connect(), threading.enumerate()
    for number in range(1, 101):
        stream = provider.stream(REQUEST)
        running = in_background(lambda stream=stream: list(stream))
        model_server.wait_for_request(number)
        stream.close()
        with pytest.raises(ProviderConnectionError):
            running.result(2)
    wait_until(lambda: ours(before) == [])


def test_the_requests_patience_is_how_long_a_read_waits(model_server):
    gate = Gate()
    model_server.add(Reply("late", gate=gate))
    with make_client() as client, Abort(patience=30).watching():
        # A read that kept to the client's own limit would fail before anything could be there.
        limits = httpx2.Timeout(5, read=1e-6)
        opening = in_background(lambda: gate.reached.wait(5) and gate.set())
        body = {"model": "test-model", "stream": True}
        assert "late" in client.post(f"{model_server.base_url}/chat/completions", json=body, timeout=limits).text
        opening.result(5)


def test_a_request_is_sent_only_when_its_answer_is_read(model_server, connect):
    connect().stream(REQUEST)
    assert model_server.requests == []


def test_close_ends_its_own_request_only(model_server, connect):
    with ModelServer(Hang(before_headers=True)) as other:
        model_server.add(Hang(before_headers=True))
        streams = [connect().stream(REQUEST), connect(other.base_url).stream(REQUEST)]
        running = [in_background(lambda stream=stream: list(stream)) for stream in streams]
        for server in (model_server, other):
            server.wait_for_request()
        streams[0].close()
        with pytest.raises(ProviderError):
            running[0].result(2)
        assert not running[1].done()
        streams[1].close()
        with pytest.raises(ProviderError):
            running[1].result(2)


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_with_the_key(model_server, ask, code):
    with ModelServer(default=Reply("stolen")) as elsewhere:
        model_server.add(Status(code, headers={"Location": f"{elsewhere.base_url}/chat/completions"}))
        with pytest.raises(ProviderStatusError, match=str(code)):
            ask()
        assert elsewhere.requests == []
    assert len(model_server.requests) == 1


ANSWER = {"choices": [{"delta": {"content": "all"}, "finish_reason": "stop"}]}


def test_an_answer_is_complete_at_done_even_if_the_server_never_ends_it(ask, connect):
    with RawServer(event_stream(ANSWER, b"data: [DONE]\n\n", ended=False)) as server:
        assert ask(connect(f"{server.origin}/v1"))[0] == TextDelta("all")


def test_a_proxy_of_the_environment_is_used_and_not_for_this_machine(model_server, connect, ask, monkeypatch):
    with RawServer(event_stream(ANSWER)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.origin.removeprefix("http://"))
        ask(connect("http://model.example/v1"))
        assert proxy.requests[0].line == "POST http://model.example/v1/chat/completions HTTP/1.1"
        for host in ("127.0.0.1", "localhost"):
            model_server.add(Reply("direct"))
            assert ask(connect(f"http://{host}:{model_server.port}/v1"))[0] == TextDelta("direct")
        assert len(proxy.requests) == 1


def test_an_abort_ends_what_is_read_and_forbids_what_would_follow():
    abort = Abort()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        abort.uses(ours)
        reading = in_background(lambda: ours.recv(1))
        abort.abort()
        abort.abort()
        assert reading.result(2) == b""
        assert theirs.recv(1) == b""
        with pytest.raises(httpcore2.ReadError, match="given up"):
            abort.uses(ours)


def test_an_abort_after_the_work_leaves_the_connection_alone():
    abort = Abort()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with abort.watching():
            abort.uses(ours)
        abort.abort()
        ours.send(b"x")
        assert theirs.recv(1) == b"x"


def test_the_hundred_and_first_request_does_not_wait_for_a_connection(connect):
    with ModelServer(default=Hang(before_headers=True)) as server:
        provider = connect(server.base_url)
        streams = [provider.stream(REQUEST) for _ in range(101)]
        running = [in_background(lambda stream=stream: list(stream)) for stream in streams]
        server.wait_for_request(101, timeout=30)
        for stream in streams:
            stream.close()
        assert all(isinstance(answer.exception(20), ProviderConnectionError) for answer in running)


def test_events_that_come_together_are_given_together(connect):
    pieces = [{"choices": [{"delta": {"content": f"{number} "}}]} for number in range(300)]
    with RawServer(event_stream(*pieces, b"data: [DONE]\n\n")) as server:
        *texts, finished = list(connect(f"{server.origin}/v1").stream(REQUEST))
    assert "".join(event.text for event in texts) == "".join(f"{number} " for number in range(300))
    assert finished == Finished("stop")
    assert len(texts) < 30


def test_a_compressed_body_is_read_as_any_other(connect):
    body = zlib.compress(b'data: {"choices": [{"delta": {"content": "packed"}}]}\n\ndata: [DONE]\n\n')
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: deflate\r\n"
    chunked = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    with RawServer(head + chunked) as server:
        assert list(connect(f"{server.origin}/v1").stream(REQUEST)) == [TextDelta("packed"), Finished("stop")]
