"""The queue between the reader thread and its two takers: the front door, then the event loop."""

from __future__ import annotations

import asyncio
import threading

from acp_adapter.transport import Inbox

_ONE, _TWO, _THREE = {"id": 1}, {"id": 2}, {"id": 3}


def test_messages_are_taken_in_order_and_one_put_back_comes_first_again() -> None:
    inbox = Inbox()
    for message in (_ONE, _TWO, None):
        inbox.put(message)
    assert inbox.take() is _ONE
    inbox.put_back(_ONE)
    assert [inbox.take(), inbox.take(), inbox.take()] == [_ONE, _TWO, None]


def test_take_waits_for_a_message() -> None:
    inbox = Inbox()
    taken: list[object] = []
    taker = threading.Thread(target=lambda: taken.append(inbox.take()))
    taker.start()
    inbox.put(_ONE)
    taker.join(5)
    assert taken == [_ONE]


def test_a_full_inbox_holds_the_reader_back_until_one_is_taken() -> None:
    inbox = Inbox(bound=2)
    inbox.put(_ONE)
    inbox.put(_TWO)
    passed = threading.Event()

    def third() -> None:
        inbox.put(_THREE)
        passed.set()

    reader = threading.Thread(target=third)
    reader.start()
    assert not passed.wait(0.05)
    assert inbox.take() is _ONE
    assert passed.wait(5)
    reader.join(5)


def test_the_end_is_told_even_when_the_inbox_is_full() -> None:
    inbox = Inbox(bound=1)
    inbox.put(_ONE)
    inbox.put(None)
    assert [inbox.take(), inbox.take()] == [_ONE, None]


async def test_what_came_before_the_loop_is_received_on_it() -> None:
    inbox = Inbox()
    inbox.put(_ONE)
    inbox.put_back(_TWO)
    inbox.attach(asyncio.get_running_loop())
    assert [await inbox.receive(), await inbox.receive()] == [_TWO, _ONE]


async def test_a_message_from_a_thread_wakes_the_loop() -> None:
    inbox = Inbox()
    inbox.attach(asyncio.get_running_loop())
    for message in (_ONE, None):
        waiting = asyncio.create_task(inbox.receive())
        await asyncio.sleep(0)
        await asyncio.to_thread(inbox.put, message)
        assert await asyncio.wait_for(waiting, 5) is message


async def test_many_messages_from_a_thread_all_arrive_in_order_through_a_small_inbox() -> None:
    inbox = Inbox(bound=3)
    inbox.attach(asyncio.get_running_loop())
    reader = threading.Thread(target=lambda: [inbox.put({"id": number}) for number in range(2000)])
    reader.start()
    received = [await asyncio.wait_for(inbox.receive(), 5) for _ in range(2000)]
    reader.join(5)
    assert [message["id"] for message in received if message] == list(range(2000))


async def test_a_message_that_is_looked_at_stays_the_next_one() -> None:
    inbox = Inbox()
    inbox.attach(asyncio.get_running_loop())
    waiting = asyncio.create_task(inbox.peek())
    await asyncio.sleep(0)
    await asyncio.to_thread(inbox.put, _ONE)
    assert await asyncio.wait_for(waiting, 5) is _ONE
    assert await inbox.peek() is _ONE
    assert await inbox.receive() is _ONE


async def test_what_waits_behind_other_messages_can_be_looked_at() -> None:
    inbox = Inbox()
    inbox.attach(asyncio.get_running_loop())
    inbox.put(_ONE)
    waiting = asyncio.create_task(inbox.waiting(1))
    await asyncio.sleep(0)
    inbox.put(_TWO)
    assert await asyncio.wait_for(waiting, 5) == (_TWO,)
    assert await inbox.waiting(0) == (_ONE, _TWO)
    assert [await inbox.receive(), await inbox.receive()] == [_ONE, _TWO]


async def test_a_receive_that_was_given_up_loses_no_message() -> None:
    inbox = Inbox()
    inbox.attach(asyncio.get_running_loop())
    waiting = asyncio.create_task(inbox.receive())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    inbox.put(_ONE)
    assert await inbox.receive() is _ONE


def test_a_message_after_the_end_of_the_loop_is_no_error() -> None:
    inbox = Inbox()
    loop = asyncio.new_event_loop()
    inbox.attach(loop)
    loop.close()
    inbox.put(_ONE)
    assert inbox.take() is _ONE


def test_large_messages_hold_the_reader_back_and_one_is_always_let_in() -> None:
    inbox = Inbox(most_bytes=100)
    inbox.put(_ONE, 1_000)
    passed = threading.Event()

    def second() -> None:
        inbox.put(_TWO, 10)
        passed.set()

    reader = threading.Thread(target=second)
    reader.start()
    assert not passed.wait(0.05)
    inbox.put_back(_THREE)
    assert inbox.take() is _THREE
    assert not passed.wait(0.05)
    assert inbox.take() is _ONE
    assert passed.wait(5)
    assert inbox.take() is _TWO
    reader.join(5)
