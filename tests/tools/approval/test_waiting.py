"""The interrupt of one question: as its turn's, and set as well once there is nothing to ask any more."""

import threading

import pytest

from agent_core.cancel import CancelToken
from tools.approval.questions import OpenQuestion, QuestionQueue
from tools.errors import ToolInterrupted


class Case:
    """A question over a turn's token; `changes` and `needless` are what it depends on."""

    def __init__(self):
        self.token = CancelToken()
        self.changes = 0
        self.needless = False
        self.question = OpenQuestion(self.token, lambda: self.changes, 0, lambda: self.needless)

    def change(self, *, needless):
        self.needless = needless
        self.changes += 1
        self.question.notify()


def _in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_it_waits_for_what_it_is_asked_to():
    case, done, results = Case(), threading.Event(), []
    thread = _in_thread(lambda: results.append(case.question.wait_for(done.is_set, 10)))
    done.set()
    case.question.notify()
    thread.join(10)
    assert results == [True]
    assert not case.question.is_set()


def test_a_time_out_is_neither_a_cancel_nor_a_withdrawal():
    case = Case()
    assert not case.question.wait_for(lambda: False, 0.01)
    assert not case.question.is_set()


def test_the_cancel_of_the_turn_sets_it():
    case, told = Case(), []
    case.question.on_cancel(lambda: told.append("cancel"))
    case.token.cancel()
    assert not case.question.wait_for(lambda: True, 10)
    assert case.question.is_set()
    assert not case.question.is_withdrawn
    assert told == ["cancel"]


def test_a_change_that_makes_it_needless_withdraws_it_on_the_thread_that_waits():
    case, told = Case(), []
    case.question.on_cancel(lambda: told.append(threading.current_thread()))
    thread = _in_thread(lambda: case.question.wait_for(lambda: False, 10))
    case.change(needless=True)
    thread.join(10)
    assert not thread.is_alive()
    assert case.question.is_withdrawn
    assert case.question.is_set()
    assert told == [thread]
    case.token.cancel()
    assert told == [thread], "once"


def test_a_change_that_leaves_it_open_does_not_end_the_wait():
    case, done, results = Case(), threading.Event(), []
    thread = _in_thread(lambda: results.append(case.question.wait_for(done.is_set, 10)))
    case.change(needless=False)
    done.set()
    case.question.notify()
    thread.join(10)
    assert results == [True]


def test_a_callback_that_was_forgotten_is_not_run():
    case, told = Case(), []
    case.question.on_cancel(lambda: told.append(1))()
    case.change(needless=True)
    case.question.wait_for(lambda: False, 10)
    case.token.cancel()
    assert told == []


def test_a_callback_that_comes_after_the_withdrawal_runs_at_once():
    case, told = Case(), []
    case.change(needless=True)
    case.question.wait_for(lambda: False, 10)
    case.question.on_cancel(lambda: told.append(1))
    assert told == [1]


def test_the_place_is_given_back_whatever_happens_in_it():
    place, token = QuestionQueue(), CancelToken()
    with pytest.raises(KeyError), place.place("call", token, lambda: False):
        raise KeyError
    with place.place("call", token, lambda: False) as is_mine:
        assert is_mine


def test_who_waits_for_the_place_is_freed_by_the_cancel_of_their_own_turn():
    place, token = QuestionQueue(), CancelToken()
    with place.place("call", CancelToken(), lambda: False):
        token.cancel()
        with pytest.raises(ToolInterrupted), place.place("call", token, lambda: False):
            pass


def test_who_has_nothing_to_ask_any_more_does_not_wait_for_the_place():
    place = QuestionQueue()
    with (
        place.place("call", CancelToken(), lambda: False),
        place.place("call", CancelToken(), lambda: True) as is_mine,
    ):
        assert not is_mine
    with place.place("call", CancelToken(), lambda: False) as is_mine:
        assert is_mine
