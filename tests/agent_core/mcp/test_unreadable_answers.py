"""Answers of a stdio server that cannot be read fail their call at once, and say what was wrong."""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from agent_core.cancel import CancelToken
from agent_core.mcp.message_reader import MessageReader
from agent_core.mcp.session_servers import SessionServers
from agent_core.mcp.specs import ServerSpec
from tests.agent_core.mcp.conftest import Open
from tests.support import mcp_misspeaking_server
from tests.support.each import each
from tests.support.tool_context import told_in

PROPER = b'{"jsonrpc":"2.0","id":@ID@,"result":{"content":[{"type":"text","text":"said"}]}}\n'
AS_TYPESCRIPT = b'{"result":{"content":[{"type":"text","text":"said"}]},"jsonrpc":"2.0","id":@ID@}\n'

MALFORMED = {
    "lone surrogate": (PROPER.replace(b"said", b"half \\ud83d of it"), "half of a surrogate pair"),
    "lone surrogate behind": (PROPER.replace(b"said", b"\\udc00"), "half of a surrogate pair"),
    "bad UTF-8": (PROPER.replace(b"said", b"caf\xe9"), "not valid UTF-8"),
    "bad UTF-8, id last": (AS_TYPESCRIPT.replace(b"said", b"\xff\xfe"), "not valid UTF-8"),
    "string error code": (
        b'{"jsonrpc":"2.0","id":@ID@,"error":{"code":"E_DISK","message":"the disk is full"}}\n',
        "the `code` of its error is no whole number. That is an error of the server's. The server said: \u00abthe",
    ),
    "no error code": (b'{"jsonrpc":"2.0","id":@ID@,"error":{"message":"no"}}\n', "`code` of its error"),
    "no message": (b'{"jsonrpc":"2.0","id":@ID@,"error":{"code":-32000}}\n', "its error has no `message`"),
    "message is null": (b'{"jsonrpc":"2.0","id":@ID@,"error":{"code":1,"message":null}}\n', "has no `message`"),
    "error is a text": (b'{"jsonrpc":"2.0","id":@ID@,"error":"boom"}\n', "its `error` is no object"),
    "result is null": (b'{"jsonrpc":"2.0","id":@ID@,"result":null}\n', "its `result` is null"),
    "result is a list": (b'{"jsonrpc":"2.0","id":@ID@,"result":["said"]}\n', "its `result` is no object"),
    "nothing": (b'{"jsonrpc":"2.0","id":@ID@}\n', "it has no `result` and no `error`"),
    "missing jsonrpc": (PROPER.replace(b'"jsonrpc":"2.0",', b""), "its `jsonrpc` is missing, or not 2.0"),
    "jsonrpc 1.0": (PROPER.replace(b'"2.0"', b'"1.0"'), "its `jsonrpc` is missing, or not 2.0"),
    "jsonrpc is a number": (PROPER.replace(b'"2.0"', b"2.0"), "its `jsonrpc` is missing, or not 2.0"),
    "BOM": (b"\xef\xbb\xbf" + PROPER, "it begins with a byte order mark"),
    "a batch": (b"[" + PROPER.rstrip() + b"]\n", "it came in a batch"),
    "a batch with more": (
        b'[{"jsonrpc":"2.0","method":"notifications/message","params":{}},' + PROPER.rstrip() + b"]\n",
        "it came in a batch",
    ),
    "cut off": (b'{"jsonrpc":"2.0","id":@ID@,"result":{"content":[{"type":"text","te\n', "it is no valid JSON"),
    "a comma too many": (PROPER.replace(b"}]}}", b"}]},}"), "it is no valid JSON"),
    "single quotes": (PROPER.replace(b'"said"', b"'said'"), "it is no valid JSON"),
    "no id": (PROPER.replace(b'"id":@ID@,', b""), "does not name the request"),
    "id is null": (PROPER.replace(b"@ID@", b"null"), "does not name the request"),
    "id of an error is null": (
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n',
        "does not name the request that it answers. That is an error of the server's. The server said: \u00abParse",
    ),
    "id of nobody": (PROPER.replace(b"@ID@", b"987654"), "does not name the request"),
}


def coded(*writes: bytes) -> list[str]:
    return [base64.b64encode(written).decode() for written in writes]


def misspeaking(greeting: bytes | None = None) -> ServerSpec:
    said = "-" if greeting is None else coded(greeting)[0]
    path = str(Path(mcp_misspeaking_server.__file__))
    return ServerSpec("odd", "stdio", command=sys.executable, args=("-IS", path, said))


def called(
    servers: SessionServers, tool: str, told: Callable[[str], None] = lambda _: None, **arguments: object
) -> str:
    return servers.call("odd", tool, arguments, CancelToken(), told).text


@pytest.fixture
def servers(open_servers: Open) -> SessionServers:
    return open_servers(misspeaking())


def test_an_unreadable_answer_fails_its_call_and_says_what_was_wrong(servers: SessionServers) -> None:
    @each("case", MALFORMED)
    def all_of_them(case: str) -> None:
        data, why = MALFORMED[case]
        said = told_in(called(servers, "answer", writes=coded(data)))["error"]
        assert "Its answer could not be read: " in said
        assert why in said
        assert called(servers, "echo", a=1) == '{"a": 1}'

    all_of_them()


def test_an_unreadable_answer_that_is_split_over_writes_fails_its_call_too(servers: SessionServers) -> None:
    @each("case", MALFORMED)
    def all_of_them(case: str) -> None:
        data, why = MALFORMED[case]
        # The id stays whole: the server puts it in.
        before, mark, behind = data.partition(b"@ID@")
        parts = [*slices(before), mark, *slices(behind)]
        assert why in called(servers, "answer", writes=coded(*filter(None, parts)))

    all_of_them()


def slices(data: bytes, length: int = 13) -> list[bytes]:
    return [data[at : at + length] for at in range(0, len(data), length)]


def test_a_proper_answer_that_is_split_anywhere_is_read(servers: SessionServers) -> None:
    for proper in (PROPER, AS_TYPESCRIPT, PROPER.replace(b"\n", b"\r\n"), PROPER.replace(b"said", "säid".encode())):
        before, mark, behind = proper.partition(b"@ID@")
        for length in (1, 7):
            parts = [*slices(before, length), mark, *slices(behind, length)]
            assert called(servers, "answer", writes=coded(*parts)) in {"said", "säid"}


def two_calls(servers: SessionServers, *writes: bytes) -> tuple[str, str]:
    """What a first call, and a second that has the server write these, come to."""
    first: list[str] = []
    has_come = threading.Event()
    holding = threading.Thread(
        target=lambda: first.append(called(servers, "answer", lambda _: has_come.set(), hold=True))
    )
    holding.start()
    assert has_come.wait(20)
    second = called(servers, "answer", writes=coded(*writes))
    holding.join(20)
    assert not holding.is_alive()
    return first[0], second


def held(data: bytes) -> bytes:
    return data.replace(b"@ID@", b"@HELD@")


def test_an_unreadable_answer_leaves_the_other_call_alone(servers: SessionServers) -> None:
    for case in ("bad UTF-8", "a batch", "result is null", "cut off", "missing jsonrpc"):
        data, why = MALFORMED[case]
        first, second = two_calls(servers, data, held(PROPER))
        assert first == "said", case
        assert why in second


def test_unreadable_answers_to_two_calls_at_once_fail_each_its_own(servers: SessionServers) -> None:
    nothing, why_nothing = MALFORMED["result is null"]
    surrogate, why_surrogate = MALFORMED["lone surrogate"]
    first, second = two_calls(servers, held(nothing) + surrogate)
    assert why_nothing in first
    assert why_surrogate in second


def test_a_batch_of_both_answers_fails_both_calls(servers: SessionServers) -> None:
    both = b"[" + held(PROPER).rstrip() + b", " + PROPER.rstrip() + b"]\n"
    assert all("it came in a batch" in said for said in two_calls(servers, both))


def test_lines_that_a_program_logs_in_between_are_no_answers(servers: SessionServers) -> None:
    logged = (
        b'{"level":"error","error":"boom"}\n{"level":50,"id":"abc","error":{"message":"no"}}\n'
        b"[INFO] {\n[1, 2]\n{not json\n{\n  'a': [\n\n\xff\n\"text\"\n"
    )
    assert called(servers, "answer", writes=coded(logged + PROPER)) == "said"
    data, why = MALFORMED["result is null"]
    assert why in called(servers, "answer", writes=coded(logged + data))


def test_a_server_whose_greeting_cannot_be_read_says_so_at_once(open_servers: Open) -> None:
    (status,) = open_servers(misspeaking(b"\xef\xbb\xbf" + PROPER)).status()
    assert status.state == "failed"
    assert "Its answer could not be read: it begins with a byte order mark." in status.error


def test_a_server_whose_answers_cannot_be_read_is_not_shown_as_ready(servers: SessionServers) -> None:
    called(servers, "answer", writes=coded(MALFORMED["result is null"][0]))
    (status,) = servers.status()
    assert status.state == "failed"
    assert status.error.startswith("Its calls fail. Its answer could not be read: its `result` is null.")
    called(servers, "echo")
    assert servers.status()[0].state == "ready"


@pytest.mark.parametrize(
    "answer",
    [
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}',
        b'{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}',
        b'{"jsonrpc":"2.0","id":null,"result":{}}',
    ],
)
def test_an_answer_to_a_notification_fails_no_request(answer: bytes) -> None:
    reader = MessageReader(lambda _: None)
    reader.sent(JSONRPCRequest(jsonrpc="2.0", id=0, method="initialize"))
    assert len(reader.read(b'{"jsonrpc":"2.0","id":0,"result":{}}')) == 1
    reader.sent(JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized"))
    reader.sent(JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/list"))
    assert reader.read(answer) == []
    (listed,) = reader.read(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    assert isinstance(listed, JSONRPCResponse)
    reader.sent(JSONRPCRequest(jsonrpc="2.0", id=2, method="tools/call"))
    (failed,) = reader.read(answer)
    assert isinstance(failed, JSONRPCError)
    assert failed.id == 2


def test_arguments_that_cannot_be_written_fail_their_call_and_no_other(servers: SessionServers) -> None:
    for odd in ("\ud83d", {"deep": ["\udc00"]}, float("nan"), {"\ud800": 1}):
        assert "The call was not sent: its arguments cannot be written as JSON" in called(servers, "echo", a=odd)
    assert called(servers, "echo", a="ä") == json.dumps({"a": "ä"})
