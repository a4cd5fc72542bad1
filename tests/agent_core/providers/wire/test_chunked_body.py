"""Bodies in chunks: read past the HTTP library, they say the same as through it, right or wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import h11
import httpcore2

from agent_core.providers.chunked_body import AnswerHead, ChunkedBody
from agent_core.providers.transport import TrackedStream
from tests.support.each import each

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENTS = [f"data: {number}\n\n".encode() for number in range(200)]
END = b"0\r\n\r\n"


class Connection(httpcore2.NetworkStream):
    """Gives what a server has sent, read by read, and then its end."""

    def __init__(self, reads: list[bytes]) -> None:
        self._reads = iter(reads)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return next(self._reads, b"")

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        pass

    def get_extra_info(self, info: str) -> Any:
        return None


def framed(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)


def cut(data: bytes, dice: random.Random, most: int) -> list[bytes]:
    pieces = []
    while data:
        size = dice.randint(1, most)
        pieces.append(data[:size])
        data = data[size:]
    return pieces


def understood(reads: list[bytes], *, past_the_library: bool) -> tuple[list[object], bytes, int]:
    """What becomes of an answer: what is no body, the body, and in how many pieces that came."""
    stream, library = TrackedStream(Connection(reads)), h11.Connection(h11.CLIENT)
    library.send(h11.Request(method="POST", target="/", headers=[("Host", "x")]))
    library.send(h11.EndOfMessage())
    told: list[object] = []
    body: list[bytes] = []
    try:
        for event in _events(library, stream):
            if isinstance(event, h11.Data):
                body.append(bytes(event.data))
                continue
            told.append(event)
            if isinstance(event, h11.Response) and past_the_library:
                body.extend(stream.pieces())
    except h11.RemoteProtocolError:
        told.append("refused")
    return told, b"".join(body), len(body)


def _events(library: h11.Connection, stream: TrackedStream) -> Iterator[object]:
    while library.their_state is not h11.DONE:
        event = library.next_event()
        if event is h11.NEED_DATA:
            library.receive_data(stream.read(65_536))
        elif isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
            return
        else:
            yield event


def same(answer: bytes) -> bool:
    dice = random.Random(len(answer))
    for size in (1, 2, 3, 7, 40, len(answer)) if len(answer) < 10_000 else (5_000, len(answer)):
        reads = cut(answer, dice, size)
        if understood(reads, past_the_library=True)[:2] != understood(reads, past_the_library=False)[:2]:
            return False
    return True


def test_what_a_read_brings_is_one_piece() -> None:
    answer = HEAD + framed(*EVENTS) + END
    told, body, pieces = understood([answer], past_the_library=False)
    assert (body, pieces) == (b"".join(EVENTS), len(EVENTS))
    assert understood([answer], past_the_library=True) == (told, body, 1)


def test_nothing_of_a_body_is_held_back() -> None:
    body = ChunkedBody()
    assert body.feed(b"a\r\n01234") == b"01234"
    assert body.feed(b"5678") == b"5678"
    assert body.feed(b"9\r\n2\r\nab\r\n3") == b"9ab"
    assert body.feed(b"\r") == b""
    assert body.feed(b"\ncde\r\n") == b"cde"
    assert body.rest is None
    assert body.feed(b"0\r\n\r\n") == b""
    assert body.rest == b"0\r\n\r\n"


@each(
    "answer",
    [
        HEAD + framed(*EVENTS) + END,
        HEAD + framed(b"x" * 5_000, b"y", b"\r\n0\r\n\r\n") + END,
        HEAD + framed(b"one") + b"0\r\nTrailer: yes\r\n\r\n",
        HEAD + END,
        HEAD + b"0A;name=value\r\n0123456789\r\n" + END,
        HEAD.replace(b"chunked", b"Chunked").replace(b"Transfer-Encoding: ", b"TRANSFER-ENCODING:\t")
        + framed(b"a")
        + END,
        b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + framed(*EVENTS) + END,
        b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n" + framed(*EVENTS) + END,
        HEAD.replace(b"\r\n", b"\n") + framed(*EVENTS) + END,
    ],
)
def test_an_answer_in_chunks_is_the_same_however_it_is_read(answer: bytes) -> None:
    assert understood([answer], past_the_library=False)[0][-1] != "refused"
    assert same(answer)


@each(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n5\r\nhello\r\n0\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 44\n\n\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n",
        b"HTTP/1.1 200 OK\r\nX-Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n1\r\na\r\n",
    ],
)
def test_what_is_not_in_chunks_stays_as_it_came(answer: bytes) -> None:
    head = AnswerHead()
    assert head.feed(answer) == len(answer)
    assert (head.is_over, head.in_chunks) == (True, False)
    assert same(answer)


@each(
    "answer",
    [
        HEAD + framed(b"hello"),
        HEAD + b"10\r\nhello",
        HEAD + b"5\r\nhello" + framed(b"world") + END,
        HEAD + b"5\r\nhelloXY" + framed(b"world") + END,
        HEAD + framed(b"hello") + b"zz\r\nworld\r\n" + END,
        HEAD + framed(b"hello") + b"-1\r\nw\r\n" + END,
        HEAD + framed(b"hello") + b"1_0\r\n" + b"w" * 16 + b"\r\n" + END,
        HEAD + framed(b"hello") + b"\r\n" + END,
        HEAD + framed(b"hello") + b"1" * 21 + b"\r\n" + END,
        HEAD + framed(b"hello") + b"1" * 200_000,
        b"no answer at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x" * 200_000,
    ],
)
def test_what_is_broken_is_refused_as_it_would_be_without_it(answer: bytes) -> None:
    assert understood([answer], past_the_library=False)[0][-1] == "refused"
    assert same(answer)


def test_each_request_has_an_answer_of_its_own() -> None:
    plain = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    stream = TrackedStream(Connection([HEAD + framed(b"a", b"b") + END, plain, HEAD, framed(b"c") + END]))
    stream.write(b"one")
    assert (stream.read(100), list(stream.pieces()), stream.read(100)) == (HEAD, [b"ab"], END)
    stream.write(b"two")
    assert (stream.read(100), list(stream.pieces())) == (plain, [])
    stream.write(b"three")
    assert (stream.read(100), list(stream.pieces()), stream.read(100)) == (HEAD, [b"c"], END)


def test_a_body_that_nobody_reads_past_the_library_is_the_librarys() -> None:
    stream = TrackedStream(Connection([HEAD + framed(b"a"), framed(b"b") + END]))
    assert [stream.read(100) for _ in range(3)] == [HEAD, framed(b"a"), framed(b"b") + END]


def test_what_came_before_an_answer_hides_it_not() -> None:
    """As the words of a SOCKS proxy do, which may look like the end of a head."""
    stream = TrackedStream(Connection([b"\x05\x00\x00\x01\n\n\x00\x01\x04\x38", HEAD + framed(b"a") + END]))
    stream.write(b"the proxy's part")
    assert stream.read(100) == b"\x05\x00\x00\x01\n\n\x00\x01\x04\x38"
    stream.write(b"the server's")
    assert (stream.read(100), list(stream.pieces())) == (HEAD, [b"a"])
