"""What a run is made of: each takes a `FuzzRun`, sends, and waits until all is answered."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator

from tests.fuzz.run import FuzzRun
from tests.fuzz.schemas import REQUESTS

MIB = 1024 * 1024
_BATCH = 500


def random_lines(run: FuzzRun, count: int) -> None:
    """Valid, spoiled and damaged lines, in batches."""
    for begin in range(0, count, _BATCH):
        run.batch(run.messages.lines(min(_BATCH, count - begin)))


def every_field(run: FuzzRun, most: int | None = None) -> None:
    """A wrong value in every field of every method; at most so many for each method."""
    for method in REQUESTS:
        wrong = itertools.islice(run.messages.every_field_wrong(method), most)
        while batch := list(itertools.islice(wrong, _BATCH)):
            run.batch(batch)


def flood(run: FuzzRun, count: int) -> None:
    """So many requests in one piece."""
    run.batch([b"".join(_cheap_requests(count))])


def flood_unread(run: FuzzRun, count: int) -> int:
    """The same while nothing of what the agent writes is read; how much memory it then had more, in KiB."""
    before = run.measure().memory
    run.agent.stop_reading()
    try:
        run.send(b"".join(_cheap_requests(count)))
        # Either it takes all, or it stops to read: then it rests.
        rests = _Rest(run)
        while not run.agent.all_written(0.2) and not rests.now():
            pass
        most = run.measure().memory - before
    finally:
        run.agent.go_on_reading()
    run.settle()
    return most


def huge(run: FuzzRun, size: int) -> None:
    """Messages of `size` bytes: in a method, an id that comes back, a field that nobody reads, and no JSON at all."""
    text = b"x" * size
    run.batch([b'{"jsonrpc":"2.0","id":"huge 1","method":"%s"}\n' % text])
    run.batch([b'{"jsonrpc":"2.0","id":"huge 2","method":"session/list","params":{"_meta":{"key":"%s"}}}\n' % text])
    run.batch([text + b"\n"])
    run.batch([b"[" * size + b"\n"])


def too_long(run: FuzzRun) -> None:
    """A line that is longer than any may be."""
    run.batch([b'{"jsonrpc":"2.0","id":1,"method":"', *[b"x" * MIB] * 65, b'"}\n'])


def _cheap_requests(count: int) -> Iterator[bytes]:
    for number in range(count):
        what = ("initialize", "session/list", "no/such/method")[number % 3]
        params = {"protocolVersion": 1} if what == "initialize" else {}
        yield (
            json.dumps({"jsonrpc": "2.0", "id": f"flood {number}", "method": what, "params": params}).encode() + b"\n"
        )


class _Rest:
    """Whether the process has used no processor for a while."""

    def __init__(self, run: FuzzRun) -> None:
        self._run = run
        self._ticks = -1
        self._since = time.monotonic()

    def now(self) -> bool:
        ticks = self._run.measure().ticks
        if ticks > self._ticks + 2:
            self._since = time.monotonic()
        self._ticks = ticks
        return time.monotonic() - self._since > 2
