"""Server-sent events."""

from __future__ import annotations

from agent_core.providers.wire.sse import DONE, data_lines
from tests.support.each import each

STREAM = b': comment\nevent: x\ndata: {"a": 1}\n\ndata:{"b":"\xc3\xbc"}\r\n\r\nid: 7\ndata: [DONE]\n\n'
EXPECTED = [b'{"a": 1}', '{"b":"ü"}'.encode(), DONE]


def flat(pieces):
    return [line for lines in pieces for line in lines]


@each("size", [1, 2, 3, 7, 1000])
def test_lines_are_found_however_the_stream_is_cut(size):
    chunks = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
    assert flat(data_lines(chunks)) == EXPECTED


@each(
    ("chunks", "found"),
    [
        ([], []),
        ([b""], []),
        ([b"data: last line without an end"], [b"last line without an end"]),
        ([b"data:\n"], [b""]),
        ([b"database: no\n data: no\n"], []),
        ([b"data: a\ndata: b\n"], [b"a", b"b"]),
    ],
)
def test_edges(chunks, found):
    assert flat(data_lines(chunks)) == found


def test_a_line_is_there_as_soon_as_it_is_complete():
    taken = []

    def chunks():
        for part in (b"data: 1\n", b"data: 2\n"):
            taken.append(part)
            yield part

    lines = data_lines(chunks())
    assert next(lines) == [b"1"]
    assert len(taken) == 1


def test_a_byte_order_mark_at_the_beginning_hides_nothing():
    assert flat(data_lines([b"\xef\xbb", b"\xbfdata: a\n", b"data: b\n"])) == [b"a", b"b"]
    assert flat(data_lines([b"\xef\xbb\xbfdata: a"])) == [b"a"]


def test_what_comes_together_is_given_together():
    assert list(data_lines([b"data: a\n\ndata: b\n\ndata:", b" c\n", b": nothing\n\n", b"data: d"])) == [
        [b"a", b"b"],
        [b"c"],
        [b"d"],
    ]
