"""How many requests may be unanswered, and answers unread: who waits for that, who is refused, and who never is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from acp_adapter.jsonrpc import Rejected
from acp_adapter.transport import IncomingRequests, Limits

_PATIENCE = 10
_LIMITS = Limits(
    requests=2, request_bytes=100, patience=60.0, prompts=2, prompt_bytes=100, unread_bytes=1_000
)  # fmt: skip


def _requests(limits: Limits = _LIMITS, *, hung_up: bool = False) -> IncomingRequests:
    return IncomingRequests(lambda: hung_up, limits)


@contextmanager
def _held(work: Callable[[], object]) -> Iterator[list[object]]:
    """`work` on a thread, which waits within it until the block is over; what it returned is there afterwards."""
    done: list[object] = []
    thread = threading.Thread(target=lambda: done.append(work()))
    thread.start()
    thread.join(0.05)
    assert not done, "it did not wait"
    yield done
    thread.join(_PATIENCE)
    assert done, "it waits still"


class TestRequests:
    def test_one_more_than_there_may_be_waits_for_an_answer_to_any_of_them(self) -> None:
        requests = _requests()
        assert requests.open(1, "session/list", 10) is requests.open(2, "session/list", 10) is None
        with _held(lambda: requests.open(3, "session/list", 10)) as outcome:
            requests.settle(2)
        assert outcome == [None]

    def test_one_that_is_too_large_beside_the_others_waits_until_it_fits(self) -> None:
        requests = _requests()
        assert requests.open(1, "session/list", 60) is None
        with _held(lambda: requests.open(2, "session/list", 60)):
            requests.settle(1)

    def test_one_that_is_larger_than_all_may_be_is_let_in_alone(self) -> None:
        assert _requests().open(1, "session/list", 1_000) is None
        assert _requests().open(1, "session/prompt", 1_000) is None

    def test_none_waits_for_prompts_which_may_wait_for_what_the_client_says_next(self) -> None:
        requests = _requests()
        for number in range(2):
            assert requests.open(number, "session/prompt", 10) is None
        assert requests.open("a", "session/list", 10) is requests.open("b", "session/list", 10) is None

    def test_when_none_is_answered_for_long_others_are_refused_at_once_until_one_is(self) -> None:
        requests = _requests(Limits(requests=1, patience=0.01))
        assert requests.open(1, "session/list", 10) is None
        for number in (2, 3):
            refused = requests.open(number, "session/list", 10)
            assert isinstance(refused, Rejected)
            assert refused.request_id == number
            assert "none was answered for long" in refused.text
        requests.settle(1)
        assert requests.open(2, "session/list", 10) is None

    @pytest.mark.parametrize(("count", "size"), [(2, 10), (1, 95)])
    def test_prompts_beyond_the_bound_are_refused_at_once_and_do_not_keep_the_id(self, count: int, size: int) -> None:
        requests = _requests()
        for number in range(count):
            assert requests.open(number, "session/prompt", size) is None
        refused = requests.open("more", "session/prompt", size)
        assert isinstance(refused, Rejected)
        assert "cancel some" in refused.text
        requests.settle(0)
        assert requests.open("more", "session/prompt", size) is None

    def test_an_id_that_is_in_use_is_refused_however_full_it_is(self) -> None:
        requests = _requests()
        for number in range(2):
            requests.open(number, "session/list", 10)
        refused = requests.open(1, "session/list", 10)
        assert isinstance(refused, Rejected)
        assert "in use" in refused.text


class TestUnreadAnswers:
    def test_reading_waits_until_the_client_has_read_enough(self) -> None:
        requests = _requests()
        requests.note_answer(600, 600)
        requests.wait_for_reader()
        requests.note_answer(1_200, 600)
        with _held(requests.wait_for_reader):
            requests.note_written(599)
            requests.note_written(600)

    def test_many_small_ones_count_for_more_than_their_bytes(self) -> None:
        requests = _requests()
        for number in range(11):
            requests.note_answer(number, 1)
        with _held(requests.wait_for_reader):
            requests.note_written(10)


@pytest.mark.parametrize("what", ["requests", "answers"])
def test_nothing_is_held_once_the_client_sends_no_more(what: str) -> None:
    requests = _requests(hung_up=True)
    requests.note_answer(2_000, 2_000)
    for number in range(2):
        requests.open(number, "session/list", 10)
    if what == "answers":
        requests.wait_for_reader()
    else:
        assert requests.open(3, "session/list", 10) is None


def test_the_end_of_the_connection_lets_go() -> None:
    requests = _requests()
    requests.note_answer(2_000, 2_000)
    with _held(requests.wait_for_reader):
        requests.end()


def test_a_cancel_is_told_once_and_forgotten_with_the_answer() -> None:
    requests = _requests()
    requests.open(1, "session/prompt", 10)
    assert [requests.cancel(1), requests.cancel(1), requests.cancel(2)] == [True, False, False]
    assert requests.is_cancelled(1)
    requests.settle(1)
    assert not requests.is_cancelled(1)
    assert requests.is_empty
