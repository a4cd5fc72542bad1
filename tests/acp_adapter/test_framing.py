"""Lines over file descriptors: whatever the pieces, whole lines arrive in order and nobody waits for ever."""

from __future__ import annotations

import os
import queue
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_adapter.jsonrpc import MAX_LINE, LineReader, LineWriter
from tests.support.agent_end import unread
from tests.support.waiting import wait_until


class Pipe:
    """Two ends that the test may close early."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        self._open = {self.reader, self.writer}

    def close(self, *ends: int) -> None:
        for end in ends or tuple(self._open):
            if end in self._open:
                self._open.remove(end)
                os.close(end)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    # A reader must have seen the end before its descriptor's number can be another test's.
    made.close(made.writer)
    for thread in threading.enumerate():
        if thread.name == "acp-reader":
            thread.join(10)
    made.close()


def _lines(fd: int) -> queue.Queue[bytes | None]:
    lines: queue.Queue[bytes | None] = queue.Queue()
    LineReader(fd, lines.put).start()
    return lines


def _all(lines: queue.Queue[bytes | None]) -> list[bytes]:
    return list(iter(lambda: lines.get(timeout=10), None))


class Written:
    """A writer with what it has told."""

    def __init__(self, fd: int) -> None:
        self.progress = threading.Semaphore(0)
        self.broken: queue.Queue[None] = queue.Queue()
        self.writer = LineWriter(fd, self.progress.release, lambda: self.broken.put(None))
        self.writer.start()


class TestReader:
    def test_a_line_that_comes_in_pieces_is_one_line(self, pipe: Pipe) -> None:
        lines = _lines(pipe.reader)
        for piece in (b'{"a', b'": ', b"1}", b"\n"):
            os.write(pipe.writer, piece)
            wait_until(lambda: unread(pipe.reader) == 0)
        assert lines.get(timeout=5) == b'{"a": 1}'
        pipe.close(pipe.writer)
        assert _all(lines) == []

    def test_several_lines_in_one_piece_are_several(self, pipe: Pipe) -> None:
        os.write(pipe.writer, b"one\ntwo\nthr")
        lines = _lines(pipe.reader)
        assert [lines.get(timeout=5), lines.get(timeout=5)] == [b"one", b"two"]
        os.write(pipe.writer, b"ee\n")
        pipe.close(pipe.writer)
        assert _all(lines) == [b"three"]

    def test_the_last_line_needs_no_newline(self, pipe: Pipe) -> None:
        os.write(pipe.writer, b"one\nlast")
        pipe.close(pipe.writer)
        assert _all(_lines(pipe.reader)) == [b"one", b"last"]

    def test_empty_lines_are_no_lines(self, pipe: Pipe) -> None:
        os.write(pipe.writer, b"\n  \r\n\none\n\n")
        pipe.close(pipe.writer)
        assert _all(_lines(pipe.reader)) == [b"one"]

    def test_the_end_is_told_once_and_nothing_after_it(self, pipe: Pipe) -> None:
        lines = _lines(pipe.reader)
        pipe.close(pipe.writer)
        assert lines.get(timeout=5) is None
        wait_until(lambda: not any(thread.name == "acp-reader" for thread in threading.enumerate()))
        assert lines.empty()

    def test_an_oversized_line_is_reported_and_the_next_is_read(self, pipe: Pipe) -> None:
        lines = _lines(pipe.reader)
        block = memoryview(b"x" * (1024 * 1024))
        for extra in (0, 1):
            for _ in range(MAX_LINE // len(block)):
                _write_all(pipe.writer, block)
            os.write(pipe.writer, b"x" * extra + b"\nnext\n")
        pipe.close(pipe.writer)
        whole, after_whole, oversized, after_oversized = _all(lines)
        assert len(whole) == MAX_LINE
        assert oversized is LineReader.OVERSIZED
        assert after_whole == after_oversized == b"next"

    def test_the_bytes_of_the_oversized_mark_are_an_ordinary_line(self, pipe: Pipe) -> None:
        os.write(pipe.writer, LineReader.OVERSIZED + b"\n")
        line = _lines(pipe.reader).get(timeout=5)
        assert line == LineReader.OVERSIZED
        assert line is not LineReader.OVERSIZED

    def test_a_descriptor_that_does_not_block_is_waited_for(self, pipe: Pipe) -> None:
        os.set_blocking(pipe.reader, False)
        lines = _lines(pipe.reader)
        os.write(pipe.writer, b"one\n")
        assert lines.get(timeout=5) == b"one"
        os.write(pipe.writer, b"two\n")
        assert lines.get(timeout=5) == b"two"
        pipe.close(pipe.writer)
        assert _all(lines) == []
        assert not os.get_blocking(pipe.reader), "the flags are shared with others and stay as they are"

    def test_a_regular_file_is_read_to_its_end(self, tmp_path: Path) -> None:
        (tmp_path / "in").write_bytes(b"one\ntwo")
        with (tmp_path / "in").open("rb") as file:
            assert _all(_lines(file.fileno())) == [b"one", b"two"]

    def test_it_tells_that_nobody_can_send_any_more_while_there_is_something_to_read(self, pipe: Pipe) -> None:
        reader = LineReader(pipe.reader, lambda _: None)
        os.write(pipe.writer, b"one\n")
        assert not reader.is_hung_up()
        pipe.close(pipe.writer)
        assert reader.is_hung_up()

    def test_a_regular_file_never_hangs_up(self, tmp_path: Path) -> None:
        (tmp_path / "in").write_bytes(b"one\n")
        with (tmp_path / "in").open("rb") as file:
            assert not LineReader(file.fileno(), lambda _: None).is_hung_up()

    def test_a_descriptor_that_cannot_be_read_has_ended(self, tmp_path: Path) -> None:
        directory = os.open(tmp_path, os.O_RDONLY)
        assert _all(_lines(directory)) == []
        os.close(directory)


class TestWriter:
    def test_what_is_put_comes_out_in_order_and_positions_count_its_bytes(self, pipe: Pipe) -> None:
        told = Written(pipe.writer)
        pieces = [f"{number}\n".encode() for number in range(1000)]
        positions = [told.writer.put(piece) for piece in pieces]
        assert positions[-1] == sum(map(len, pieces))
        assert positions == sorted(positions)
        assert told.writer.wait_written(5)
        assert told.writer.written == positions[-1]
        assert os.read(pipe.reader, 1 << 20) == b"".join(pieces)

    def test_who_waits_for_a_large_write_is_told_when_it_is_out(self, pipe: Pipe) -> None:
        told = Written(pipe.writer)
        told.writer.put(bytes(500_000))
        _read_exactly(pipe.reader, 500_000)
        assert told.progress.acquire(timeout=5)

    @pytest.mark.parametrize("blocking", [True, False])
    def test_a_write_larger_than_the_pipe_goes_out_in_parts(self, pipe: Pipe, blocking: bool) -> None:
        os.set_blocking(pipe.writer, blocking)
        told = Written(pipe.writer)
        data = os.urandom(500_000)
        end = told.writer.put(data)
        wait_until(lambda: unread(pipe.reader) > 0)
        assert told.writer.written < end, "it counts as written only as a whole"
        assert _read_exactly(pipe.reader, len(data)) == data
        assert told.writer.wait_written(5)

    def test_of_many_lines_the_first_count_as_written_before_the_last(self, pipe: Pipe) -> None:
        writer = LineWriter(pipe.writer, lambda: None, lambda: None)
        ends = [writer.put(bytes(600_000)) for _ in range(4)]
        writer.start()
        _read_exactly(pipe.reader, 700_000)
        wait_until(lambda: writer.written >= ends[0])
        assert writer.written < ends[-1]
        _read_exactly(pipe.reader, ends[-1] - 700_000)
        assert writer.wait_written(5)

    def test_put_never_waits_for_a_reader(self, pipe: Pipe) -> None:
        told = Written(pipe.writer)
        for _ in range(100):
            told.writer.put(b"x" * 100_000)
        assert not told.writer.wait_written(0.01)
        pipe.close(pipe.reader)
        assert told.broken.get(timeout=5) is None

    def test_a_reader_that_has_gone_is_told_once_and_what_follows_is_dropped(self, pipe: Pipe) -> None:
        told = Written(pipe.writer)
        pipe.close(pipe.reader)
        told.writer.put(b"lost\n")
        assert told.broken.get(timeout=5) is None
        position = told.writer.put(b"dropped\n")
        assert position == len(b"lost\ndropped\n")
        assert told.writer.broken
        assert told.writer.wait_written(5), "nobody waits for a reader that has gone"
        assert told.broken.empty()
        assert told.writer.written == 0

    def test_a_full_disk_is_a_broken_writer(self) -> None:
        if not Path("/dev/full").exists():
            pytest.skip("needs /dev/full")
        with Path("/dev/full").open("wb") as full:
            told = Written(full.fileno())
            told.writer.put(b"x")
            assert told.broken.get(timeout=5) is None

    def test_a_line_that_has_room_is_out_at_once_and_never_before_an_earlier_one(self, pipe: Pipe) -> None:
        writer = LineWriter(pipe.writer, lambda: None, lambda: None)
        first = writer.put(b"first\n")
        assert writer.written == first
        large = os.urandom(500_000)
        writer.put(large)
        last = writer.put(b"last\n")
        assert writer.written == first, "the large one waits for the thread, and what comes after waits for it"
        writer.start()
        assert _read_exactly(pipe.reader, last) == b"first\n" + large + b"last\n"
        assert writer.wait_written(5)
        assert writer.put(b"again\n") == writer.written

    def test_a_full_pipe_is_left_to_the_thread(self, pipe: Pipe) -> None:
        writer = LineWriter(pipe.writer, lambda: None, lambda: None)
        line = b"x" * 1023 + b"\n"
        positions = [writer.put(line) for _ in range(1000)]
        assert 0 < writer.written < positions[-1]
        writer.start()
        assert _read_exactly(pipe.reader, positions[-1]) == line * 1000

    def test_a_socket_is_written_to_at_once_as_far_as_it_has_room(self) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            writer = LineWriter(ours.fileno(), lambda: None, lambda: None)
            assert writer.put(b"first\n") == writer.written
            data = os.urandom(3_000_000)
            end = writer.put(data)
            assert writer.written < end
            writer.start()
            assert _read_exactly(theirs.fileno(), end) == b"first\n" + data
            assert ours.getblocking(), "the descriptor's flags are others' too"

    def test_a_regular_file_gets_everything(self, tmp_path: Path) -> None:
        with (tmp_path / "out").open("wb") as file:
            told = Written(file.fileno())
            told.writer.put(b"one\n")
            told.writer.put(b"two\n")
            assert told.writer.wait_written(5)
        assert (tmp_path / "out").read_bytes() == b"one\ntwo\n"

    def test_at_its_end_it_writes_what_is_queued_and_its_thread_is_over(self, pipe: Pipe) -> None:
        before = set(threading.enumerate())
        told = Written(pipe.writer)
        (thread,) = set(threading.enumerate()) - before
        data = os.urandom(500_000)
        end = told.writer.put(data)
        assert not told.writer.end(0.01), "not while the reader has not taken everything"
        told.writer.put(b"too late\n")
        assert _read_exactly(pipe.reader, len(data)) == data
        assert told.writer.end(5)
        thread.join(5)
        assert not thread.is_alive()
        assert (told.writer.written, unread(pipe.reader)) == (end, 0)
        assert told.broken.empty(), "the reader has not gone"


def _write_all(fd: int, data: memoryview) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _read_exactly(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += os.read(fd, size - len(data))
    return data
