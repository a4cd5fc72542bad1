"""The cancel signal of a turn."""

from __future__ import annotations

import threading

from agent_core.cancel import CancelToken
from tests.support.agents import in_background


def test_a_new_token_is_not_set_and_a_cancelled_one_stays_set():
    token = CancelToken()
    assert not token.is_set()
    token.cancel()
    token.cancel()
    assert token.is_set()


def test_callbacks_run_once_at_the_cancel_on_the_callers_thread():
    token, ran_on = CancelToken(), []
    token.on_cancel(lambda: ran_on.append(threading.current_thread()))
    token.on_cancel(lambda: ran_on.append(threading.current_thread()))
    token.cancel()
    token.cancel()
    assert ran_on == [threading.current_thread()] * 2


def test_a_callback_that_comes_after_the_cancel_runs_at_once():
    token, ran = CancelToken(), []
    token.cancel()
    forget = token.on_cancel(lambda: ran.append("late"))
    assert ran == ["late"]
    forget()


def test_a_forgotten_callback_never_runs():
    token, ran = CancelToken(), []
    forget = token.on_cancel(lambda: ran.append("forgotten"))
    token.on_cancel(lambda: ran.append("kept"))
    forget()
    forget()
    token.cancel()
    assert ran == ["kept"]


def test_a_callback_may_use_the_token():
    token, seen = CancelToken(), []

    def look() -> None:
        seen.append((token.is_set(), token.wait_for(lambda: True)))
        token.notify()

    token.on_cancel(look)
    token.cancel()
    assert seen == [(True, False)]


def test_wait_for_returns_true_at_once_when_the_predicate_holds():
    assert CancelToken().wait_for(lambda: True, timeout=0) is True


def test_wait_for_returns_false_after_its_time():
    assert CancelToken().wait_for(lambda: False, timeout=0.01) is False


def test_wait_for_wakes_when_it_is_told_that_the_predicate_holds():
    token, state = CancelToken(), {"ready": False}
    asleep = threading.Event()

    def ready() -> bool:
        asleep.set()
        return state["ready"]

    waiting = in_background(lambda: token.wait_for(ready, timeout=10))
    assert asleep.wait(5)
    state["ready"] = True
    token.notify()
    assert waiting.result(5) is True


def test_wait_for_does_not_wake_for_good_while_the_predicate_does_not_hold():
    token, looks = CancelToken(), threading.Semaphore(0)

    def never() -> bool:
        looks.release()
        return False

    waiting = in_background(lambda: token.wait_for(never, timeout=10))
    assert looks.acquire(timeout=5)
    token.notify()
    assert looks.acquire(timeout=5)
    assert not waiting.done()
    token.cancel()
    assert waiting.result(5) is False


def test_the_cancel_wakes_every_sleeper():
    token, asleep = CancelToken(), threading.Barrier(4)

    def sleeper() -> bool:
        asleep.wait(5)
        return token.wait_for(lambda: False, timeout=10)

    sleepers = [in_background(sleeper) for _ in range(3)]
    asleep.wait(5)
    token.cancel()
    assert [one.result(5) for one in sleepers] == [False] * 3
