"""Work that is finished though nobody waits for it any more."""

from __future__ import annotations

import threading

import pytest

from agent_core.errors import TurnInterrupted
from agent_core.providers.token_renewal import outlasting


def test_the_outcome_is_the_works_whether_it_is_a_value_or_an_error():
    assert outlasting(lambda _: "done", lambda: False) == "done"
    with pytest.raises(TimeoutError, match="its own"):
        outlasting(lambda _: fail(TimeoutError("its own")), lambda: False)


def test_the_caller_is_let_go_at_the_cancel_and_the_work_goes_on_and_knows():
    begun, released, ended = threading.Event(), threading.Event(), threading.Event()
    known = []

    def work(abandoned) -> None:
        known.append(abandoned())
        begun.set()
        released.wait(10)
        known.append(abandoned())
        ended.set()

    with pytest.raises(TurnInterrupted):
        outlasting(work, begun.is_set)
    assert not ended.is_set()
    released.set()
    assert ended.wait(10)
    assert known == [False, True]


def fail(problem: Exception) -> None:
    raise problem
