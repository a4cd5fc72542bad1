"""The lock with a queue."""

import threading

from agent_core.sessions.database import FairLock
from tests.support.waiting import wait_until


def test_threads_get_it_in_the_order_in_which_they_asked():
    lock, order = FairLock(), []
    assert lock.acquire(0)
    threads = []

    def work(number):
        assert lock.acquire(30)
        order.append(number)
        lock.release()

    for number in range(8):
        threads.append(threading.Thread(target=work, args=(number,)))
        threads[-1].start()
        wait_until(lambda count=number + 1: lock.waiting == count)
    lock.release()
    for thread in threads:
        thread.join(30)
    assert order == list(range(8))


def test_a_thread_that_takes_it_at_once_again_comes_after_those_who_wait():
    lock, order = FairLock(), []
    lock.acquire(0)
    other = threading.Thread(target=lambda: (lock.acquire(30), order.append("other"), lock.release()))
    other.start()
    wait_until(lambda: lock.waiting)
    lock.release()
    assert lock.acquire(30)
    order.append("greedy")
    other.join(30)
    assert order == ["other", "greedy"]


def test_waiting_ends_with_the_time_and_leaves_the_queue():
    lock = FairLock()
    assert lock.acquire(0)
    assert not lock.acquire(0.01)
    assert not lock.acquire(-1)
    lock.release()
    assert lock.acquire(0)
