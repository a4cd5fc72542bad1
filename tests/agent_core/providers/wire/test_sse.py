"""Server-sent events."""

from __future__ import annotations

from agent_core.providers.http_provider import DONE, ErrorEvent, data_lines
from tests.support.each import each

STREAM = b': comment\nevent: x\ndata: {"a": 1}\n\ndata:{"b":"\xc3\xbc"}\r\n\r\nid: 7\ndata: [DONE]\n\n'
EXPECTED = [b'{"a": 1}', '{"b":"ü"}'.encode(), DONE]


def flat(pieces):
    return [line for lines in pieces for line in lines]


@each("size", [1, 2, 3, 7, 1000])
@each("end", [b"\n", b"\r\n", b"\r"])
def test_events_are_found_however_the_stream_is_cut_and_its_lines_end(size, end):
    stream = STREAM.replace(b"\r\n", b"\n").replace(b"\n", end)
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert flat(data_lines(chunks)) == EXPECTED


@each(
    ("chunks", "found"),
    [
        ([], []),
        ([b""], []),
        ([b"data: last line without an end"], [b"last line without an end"]),
        ([b"database: no\n data: no\n\n"], []),
        ([b"data: a\n\ndata: b\n\n"], [b"a", b"b"]),
    ],
)
def test_edges(chunks, found):
    assert flat(data_lines(chunks)) == found


@each(
    ("event", "found"),
    [
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b'data: {\ndata: "a": 1\ndata: }\n\n', [b'{\n"a": 1\n}']),
        (b"data: a\n: between\nid: 5\nretry: 10\nunknown: x\ndata: b\n\n", [b"a\nb"]),
        (b"data:a\ndata\ndata: b\n\n", [b"a\n\nb"]),
        (b"data:\n\n", []),
        (b"data\n\n", []),
        (b"data: \ndata:\n\n", []),
        (b"event: error\n\n", []),
        (b"\n\n\r\n\r\r\n", []),
    ],
)
def test_several_lines_of_data_are_one_event_and_empty_data_is_none(event, found):
    assert flat(data_lines([b"data: before\n\n" + event + b"data: behind\n\n"])) == [b"before", *found, b"behind"]


def test_objects_on_lines_of_their_own_are_events_of_their_own():
    """As of servers that forget the empty line between events."""
    stream = [b'data: {"a": 1}\ndata: {"b": {}}\n', b"data: [DONE]\n"]
    assert flat(data_lines(stream)) == [b'{"a": 1}', b'{"b": {}}', DONE]


def test_an_event_is_there_as_soon_as_it_is_complete():
    taken = []

    def chunks():
        for part in (b"data: 1\n\n", b"data: 2\n\n"):
            taken.append(part)
            yield part

    lines = data_lines(chunks())
    assert next(lines) == [b"1"]
    assert len(taken) == 1


@each("cut", [b"d", b"dat", b"data", b"data:", b"data: ", b'data: {"a": {', b"eve", b"event: err", b": co", b"ret"])
def test_what_the_end_of_the_body_cuts_off_is_no_event_and_no_stray_line(cut):
    stray = bytearray()
    assert flat(data_lines([b"data: {}\n\n" + cut], stray)) == [b"{}"]
    assert not stray


def test_a_byte_order_mark_at_the_beginning_hides_nothing():
    assert flat(data_lines([b"\xef\xbb", b"\xbfdata: a\n\n", b"data: b\n\n"])) == [b"a", b"b"]
    assert flat(data_lines([b"\xef\xbb\xbfdata: a"])) == [b"a"]


def test_what_comes_together_is_given_together():
    assert list(data_lines([b"data: a\n\ndata: b\n\ndata:", b" c\n\n", b": nothing\n\n", b"data: d"])) == [
        [b"a", b"b"],
        [b"c"],
        [b"d"],
    ]


@each(
    ("name", "is_error"),
    [(b"error", True), (b"Error", True), (b" upstream_error ", True), (b"message", False), (b"errors_none", False)],
)
def test_an_event_that_is_called_an_error_is_marked_as_one(name, is_error):
    found = flat(data_lines([b"event:" + name + b"\ndata: a\n\ndata: b\n\n"]))
    assert found == [b"a", b"b"]
    assert [isinstance(each, ErrorEvent) for each in found] == [is_error, False]


def test_an_error_without_words_is_an_event_all_the_same():
    assert flat(data_lines([b"event: error\ndata:\n\n"])) == [ErrorEvent(b"")]


def test_lines_that_belong_to_no_event_are_kept_apart():
    stray = bytearray()
    body = b'{\n  "detail": "no"\n}\n: comment\nevent: x\nid: 1\nretry: 5\ndata: a\n\nupstream: gone'
    assert flat(data_lines([body], stray)) == [b"a"]
    assert bytes(stray) == b'{\n  "detail": "no"\n}\nupstream: gone\n'
    assert flat(data_lines([b"x" * 100 + b"\n"] * 10_000, stray)) == []
    assert len(stray) < 100_000
