"""A server of Streamable HTTP that was restarted, wants a sign-in, or refuses: what is done, and what is said."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator

import pytest

from agent_core.cancel import CancelToken
from agent_core.mcp.session_servers import SessionServers
from agent_core.mcp.specs import McpLimits, ServerPolicy, ServerSpec, ServerStatus
from tests.agent_core.mcp.conftest import Open
from tests.support.each import each
from tests.support.mcp_http_server import HttpMcpServer, Refusal, in_words
from tests.support.tool_context import told_in
from tests.support.waiting import wait_until
from tests.support.web_server import Exchange, WebServer

# A try that is not made at once is never made.
NEVER = McpLimits(retry_seconds=300)


@pytest.fixture
def server() -> Iterator[HttpMcpServer]:
    with HttpMcpServer() as server:
        yield server


def called(servers: SessionServers, **arguments: object) -> str:
    return servers.call("api", "do", arguments, CancelToken(), lambda _: None).text


def status(servers: SessionServers) -> ServerStatus:
    (found,) = servers.status()
    return found


UNKNOWN = (
    Refusal(404),
    Refusal(404, b"<html>Not Found</html>", "text/html"),
    Refusal(404, b"{not json", "application/json"),
    Refusal(404, b'{"error": "gone"}', "application/json"),
    in_words(404, "Session not found", -32001),
    in_words(404, "Method not found", -32601),
    # As servers made after the examples of the TypeScript SDK say it.
    in_words(400, "Bad Request: No valid session ID provided"),
)


@pytest.mark.parametrize("unknown", UNKNOWN, ids=lambda refusal: f"{refusal.status} {refusal.body[:20]!r}")
def test_a_call_in_a_session_that_the_server_does_not_know_is_repeated_once_in_a_new_one(
    open_servers: Open, server: HttpMcpServer, unknown: Refusal
) -> None:
    server.unknown = unknown
    servers = open_servers(server.spec(), limits=NEVER)
    assert called(servers) == "done in session-1"
    server.restart()
    assert called(servers) == "done in session-2"
    assert server.called == ["session-1", "session-2"]
    assert status(servers).state == "ready"


def test_a_call_is_not_repeated_again_where_the_new_session_is_not_known_either(
    open_servers: Open, server: HttpMcpServer
) -> None:
    servers = open_servers(server.spec(), limits=NEVER)
    server.refusing["tools/call"] = Refusal(404)
    assert "It does not know the session that has just begun either:" in called(servers)
    assert server.begun == 2
    assert status(servers).state == "failed"
    assert not server.called


def test_a_call_that_ran_when_the_session_was_lost_is_not_repeated(open_servers: Open, server: HttpMcpServer) -> None:
    servers = open_servers(server.spec(), limits=NEVER)
    said: list[str] = []
    holding = threading.Thread(target=lambda: said.append(called(servers, hold=True)))
    holding.start()
    assert server.held.wait(20)
    server.restart()
    assert called(servers) == "done in session-2"
    holding.join(20)
    assert "lost its session while the call ran: nobody knows how far it came" in said[0]
    assert server.called == ["session-1", "session-2"]


def test_calls_at_once_share_the_new_session(open_servers: Open, server: HttpMcpServer) -> None:
    servers = open_servers(server.spec(), limits=NEVER)
    server.restart()
    said: list[str] = []
    calling = [threading.Thread(target=lambda: said.append(called(servers))) for _ in range(4)]
    for each_one in calling:
        each_one.start()
    for each_one in calling:
        each_one.join(20)
    assert said == ["done in session-2"] * 4
    assert server.begun == 2


class _Noted(CancelToken):
    """Tells that a call with it is on its way."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        self.asked.set()
        return super().on_cancel(callback)


def test_a_call_that_comes_while_a_lost_session_is_begun_anew_waits_for_it(
    open_servers: Open, server: HttpMcpServer
) -> None:
    servers = open_servers(server.spec(), limits=NEVER)
    server.restart()
    late, said, take = _Noted(), list[str](), server.pages["/mcp"]
    assert callable(take)

    def call_late() -> None:
        said.append(servers.call("api", "do", {}, late, lambda _: None).text)

    calling = threading.Thread(target=call_late)

    def begin(exchange: Exchange) -> None:
        if b'"initialize"' in exchange.request.body:
            calling.start()
            assert late.asked.wait(20)
        take(exchange)

    server.pages["/mcp"] = begin
    assert called(servers) == "done in session-2"
    calling.join(20)
    assert said == ["done in session-2"]


def test_a_call_of_a_server_that_does_not_come_back_says_so(open_servers: Open, server: HttpMcpServer) -> None:
    servers = open_servers(server.spec(), limits=NEVER)
    server.restart()
    server.refusing["initialize"] = Refusal(503)
    assert "cannot be used: " in (said := called(servers))
    assert "HTTP 503" in said
    assert status(servers).state == "failed"


def test_a_404_of_a_list_alone_does_not_begin_session_after_session(
    open_servers: Open, server: HttpMcpServer
) -> None:
    server.refusing["prompts/list"] = Refusal(404)
    servers = open_servers(server.spec(), limits=McpLimits(retry_seconds=0.01))
    assert called(servers) == "done in session-1"
    assert server.begun == 1


def test_a_ping_in_a_session_that_the_server_does_not_know_begins_a_new_one(
    open_servers: Open, server: HttpMcpServer
) -> None:
    servers = open_servers(server.spec(policy=ServerPolicy(ping_every=0.05)), limits=NEVER)
    server.restart()
    wait_until(lambda: server.begun == 2)
    wait_until(lambda: status(servers).state == "ready")
    assert called(servers) == "done in session-2"


def test_a_401_in_mid_session_is_a_missing_sign_in_that_says_what_to_do(
    open_servers: Open, server: HttpMcpServer
) -> None:
    for refusal in (Refusal(401), in_words(401, "token expired")):
        servers = open_servers(server.spec(), limits=McpLimits(retry_seconds=0.01))
        server.refusing["tools/call"] = server.refusing["initialize"] = refusal
        assert "needs a sign-in (HTTP 401). Run `hermes-acp mcp login" in called(servers)
        assert "needs a sign-in (HTTP 401)" in status(servers).error
        assert (status(servers).state, status(servers).retry) == ("failed", "")
        server.refusing.clear()
        assert servers.reconnect("api")
        servers.wait(20, CancelToken())
        assert called(servers).startswith("done in")


@each(
    "refusal, told",
    [
        (Refusal(403), "It does not allow this (HTTP 403)."),
        (in_words(403, "not yours"), "that is used may do. The server said: \u00abnot yours\u00bb."),
        (Refusal(429), "It takes no more requests now (HTTP 429). Try again later."),
        (Refusal(429, headers={"Retry-After": "30"}), "(HTTP 429). Try again in 30 s."),
        (in_words(429, "slow down"), "The server said: \u00abslow down\u00bb."),
        (Refusal(500, b"<html>", "text/html"), "It failed (HTTP 500): the error is the server's. Try again later."),
        (in_words(500, "database locked"), "The server said: \u00abdatabase locked\u00bb."),
        (Refusal(502), "It failed (HTTP 502)"),
        (Refusal(503, headers={"Retry-After": "5"}), "the error is the server's. Try again in 5 s."),
        (Refusal(418), "It answered with HTTP 418, and did not say why."),
        (Refusal(400), "It answered with HTTP 400, and did not say why."),
    ],
)
def test_a_refused_call_says_what_the_status_means_and_its_server_is_not_ready(
    open_servers: Open, server: HttpMcpServer, refusal: Refusal, told: str
) -> None:
    servers = open_servers(server.spec(), limits=NEVER)
    begun = server.begun
    server.refusing["tools/call"] = refusal
    assert told in told_in(called(servers))["error"]
    now = status(servers)
    assert (now.state, now.tools) == ("failed", ("mcp__api__do",))
    assert now.error.startswith("Its calls fail. ")
    assert told in now.error
    server.refusing.clear()
    assert called(servers).startswith("done in")
    assert (status(servers).state, status(servers).error) == ("ready", "")
    assert server.begun == begun


def test_an_error_of_the_protocol_leaves_its_server_ready(open_servers: Open, server: HttpMcpServer) -> None:
    servers = open_servers(server.spec(), limits=NEVER)
    server.refusing["tools/call"] = in_words(400, "no such tool", -32602)
    assert "It refused the call (code -32602). The server said: \u00abno such tool\u00bb." in called(servers)
    assert status(servers).state == "ready"


def test_a_refusal_of_the_call_itself_that_speaks_of_sessions_is_no_lost_session(
    open_servers: Open, server: HttpMcpServer
) -> None:
    servers = open_servers(server.spec(), limits=NEVER)
    told = b'{"jsonrpc":"2.0","id":@ID@,"error":{"code":-32602,"message":"Unknown browser session: it was closed"}}'
    server.refusing["tools/call"] = Refusal(400, told, "application/json")
    assert "The server said: \u00abUnknown browser session: it was closed\u00bb." in called(servers)
    assert (server.begun, status(servers).state) == (1, "ready")


def test_an_error_that_names_no_request_is_that_of_the_request_it_answers(
    open_servers: Open, server: HttpMcpServer
) -> None:
    servers = open_servers(server.spec(), limits=NEVER)
    server.refusing["tools/call"] = in_words(200, "no such tool", -32602)
    assert "It refused the call (code -32602). The server said: \u00abno such tool\u00bb." in called(servers)
    body = b'{"jsonrpc":"2.0","id":987654,"result":{"content":[{"type":"text","text":"of another"}]}}'
    server.refusing["tools/call"] = Refusal(200, body, "application/json")
    assert called(servers) == "of another"


def test_an_answer_that_is_no_message_fails_its_call_and_its_server_is_not_ready(
    open_servers: Open, server: HttpMcpServer
) -> None:
    servers = open_servers(server.spec(), limits=NEVER)
    for body in (b"{not json", b"[]", b'{"jsonrpc":"2.0","id":1,"result":null}'):
        server.refusing["tools/call"] = Refusal(200, body, "application/json")
        assert "Its answer could not be read" in called(servers)
        assert status(servers).state == "failed"


@each(
    "name, value",
    [
        ("X-Name", "\u4f60"),
        ("X-Name", "a\nb: c"),
        ("X-Name", "\ud800"),
        ("N\u00e4me", "x"),
        ("", "x"),
        ("X-Name", "a\x00"),
    ],
)
def test_a_header_that_http_cannot_send_is_told_once_and_not_tried_again(
    open_servers: Open, server: HttpMcpServer, name: str, value: str
) -> None:
    servers = open_servers(server.spec(headers=((name, value),)), limits=McpLimits(retry_seconds=0.01))
    now = status(servers)
    assert (now.state, now.retry) == ("failed", "")
    assert "holds a character that HTTP cannot send. Correct it in the settings." in now.error
    assert not server.requests


def test_a_header_of_latin_1_is_sent_and_its_line_break_at_the_end_is_not(
    open_servers: Open, server: HttpMcpServer
) -> None:
    servers = open_servers(server.spec(headers=(("X-Name", "Andr\u00e9\n"),)), limits=NEVER)
    assert called(servers) == "done in session-1"
    assert server.requests[0].headers["X-Name"] == "Andr\u00e9"


def test_what_no_retry_can_cure_is_not_tried_again(open_servers: Open, server: HttpMcpServer) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":7}}'
    server.refusing["initialize"] = Refusal(200, body, "application/json")
    servers = open_servers(server.spec(), limits=McpLimits(retry_seconds=0.01))
    assert (status(servers).state, status(servers).retry) == ("failed", "")
    asked = len(server.requests)
    assert "cannot be used" in called(servers)
    assert len(server.requests) == asked


def test_arguments_that_cannot_be_written_do_not_end_the_connection(
    open_servers: Open, server: HttpMcpServer
) -> None:
    servers = open_servers(server.spec(), limits=NEVER)
    odd = servers.call("api", "do", {"text": "\ud83d"}, CancelToken(), lambda _: None)
    assert "cannot be written as JSON" in odd.text
    assert called(servers) == "done in session-1"


def test_a_server_of_the_older_kind_that_refuses_a_call_is_noticed_at_once(open_servers: Open) -> None:
    streams: list[Exchange] = []
    refused: list[int] = []

    def stream(exchange: Exchange) -> None:
        exchange.head(content_type="text/event-stream")
        exchange.write(b"event: endpoint\ndata: /messages\n\n")
        streams.append(exchange)
        exchange.hold()

    def message(exchange: Exchange) -> None:
        sent = json.loads(exchange.request.body)
        exchange.send(status=500 if refused else 202)
        info = {"name": "older", "version": "1"}
        answers = {
            "initialize": {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, "serverInfo": info},
            "tools/list": {"tools": [{"name": "do", "inputSchema": {}}]},
        }
        if not refused and (result := answers.get(sent["method"])):
            told = json.dumps({"jsonrpc": "2.0", "id": sent["id"], "result": result})
            streams[-1].write(f"event: message\ndata: {told}\n\n".encode())

    with WebServer({"/sse": stream, "/messages": message}) as web:
        servers = open_servers(ServerSpec("api", "sse", url=web.url("/sse")), limits=NEVER)
        assert status(servers).state == "ready"
        refused.append(1)
        assert "HTTP 500" in called(servers)
        assert status(servers).state == "failed"
        servers.close()
