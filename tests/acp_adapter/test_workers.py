"""Threads for what blocks: no more than there may be, none that is not needed, and nothing is lost between them."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from acp_adapter.workers import Workers
from tests.support.waiting import wait_until

_PATIENCE = 10


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers(3, "made-for-this-test")
    yield made
    made.rest()
    wait_until(lambda: not _alive())


def _alive() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("made-for-this-test")]


def test_as_many_run_at_once_as_there_may_be_threads_and_the_others_come_in_order(workers: Workers) -> None:
    gate, begun = threading.Event(), threading.Semaphore(0)
    order: list[int] = []

    def work(number: int) -> int:
        order.append(number)
        begun.release()
        gate.wait(_PATIENCE)
        return number

    futures = [workers.submit(work, number) for number in range(8)]
    for _ in range(3):
        assert begun.acquire(timeout=_PATIENCE)
    assert sorted(order) == [0, 1, 2]
    assert len(_alive()) == 3
    gate.set()
    assert [future.result(_PATIENCE) for future in futures] == list(range(8))
    assert sorted(order) == list(range(8))


def test_a_thread_that_has_nothing_to_do_is_used_again(workers: Workers) -> None:
    for _ in range(20):
        workers.submit(lambda: None).result(_PATIENCE)
        wait_until(lambda: workers.idle == 1)
    assert len(_alive()) == 1


def test_idle_threads_end_and_what_comes_later_is_done_all_the_same() -> None:
    workers = Workers(3, "made-for-this-test", idle_seconds=0.01)
    assert workers.submit(int, "7").result(_PATIENCE) == 7
    wait_until(lambda: not _alive())
    assert workers.submit(int, "8").result(_PATIENCE) == 8
    wait_until(lambda: not _alive())


def test_at_rest_no_thread_waits_and_nothing_is_refused(workers: Workers) -> None:
    workers.submit(lambda: None).result(_PATIENCE)
    workers.rest()
    wait_until(lambda: not _alive())
    assert workers.submit(int, "9").result(_PATIENCE) == 9
    wait_until(lambda: not _alive())


def test_what_fails_tells_whoever_asked_and_no_thread_dies_of_it(workers: Workers) -> None:
    failed = workers.submit(int, "x")
    with pytest.raises(ValueError, match="invalid literal"):
        failed.result(_PATIENCE)
    assert workers.submit(int, "1").result(_PATIENCE) == 1
    assert len(_alive()) == 1


def test_what_is_cancelled_while_it_waits_is_not_done(workers: Workers) -> None:
    gate, done = threading.Event(), list[str]()
    busy = [workers.submit(gate.wait, _PATIENCE) for _ in range(3)]
    waiting = workers.submit(done.append, "done")
    assert waiting.cancel()
    gate.set()
    assert all(future.result(_PATIENCE) for future in busy)
    workers.submit(lambda: None).result(_PATIENCE)
    assert not done


async def test_the_loop_awaits_a_result(workers: Workers) -> None:
    assert await workers.run(lambda: threading.current_thread() in _alive())
