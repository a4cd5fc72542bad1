"""One question a command, host and port; withdrawn when nobody waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.support.host_gate import ScriptedGate
from tools.environments.sandbox.network.connections import Desk, Place
from tools.errors import Denied
from tools.ports import Interrupt

PLACE = Place(1, "docs.example.org", 443)


def answer(desk: Desk, place: Place = PLACE) -> bool:
    with desk.asked(place) as found:
        return found.result(10)


def test_the_answer_holds_for_the_command_and_for_that_place_alone() -> None:
    gate = ScriptedGate("docs.example.org")
    desk = Desk(gate)
    assert [answer(desk), answer(desk)] == [True, True]
    assert len(gate.asked) == 1
    answer(desk, Place(2, "docs.example.org", 443))
    answer(desk, Place(1, "docs.example.org", 8443))
    answer(desk, Place(1, "docs.example.org", 443, "in a private network"))
    assert len(gate.asked) == 4


def test_a_no_is_not_asked_again_until_it_is_forgotten() -> None:
    gate = ScriptedGate()
    desk = Desk(gate)
    assert [answer(desk), answer(desk)] == [False, False]
    assert len(gate.asked) == 1
    desk.forget(1)
    assert answer(desk) is False
    assert len(gate.asked) == 2


def test_only_what_was_refused_can_be_forgotten() -> None:
    gate = ScriptedGate("docs.example.org")
    desk = Desk(gate)
    answer(desk)
    answer(desk, Place(1, "no.example.org", 443))
    desk.forget(1, refused_only=True)
    answer(desk)
    answer(desk, Place(1, "no.example.org", 443))
    assert [host for host, *_ in gate.asked] == ["docs.example.org", "no.example.org", "no.example.org"]


def test_connections_that_wait_for_the_same_share_a_question() -> None:
    gate = ScriptedGate("*", holds=True)
    desk = Desk(gate)
    with desk.asked(PLACE) as first, desk.asked(PLACE) as second:
        assert gate.was_asked.wait(5)
        gate.release()
        assert (first.result(5), second.result(5)) == (True, True)
    assert len(gate.asked) == 1


def test_a_question_is_withdrawn_when_the_last_one_has_left() -> None:
    gate = ScriptedGate("*", holds=True)
    desk = Desk(gate)
    with desk.asked(PLACE):
        with desk.asked(PLACE):
            assert gate.was_asked.wait(5)
        assert not gate.withdrawn.is_set()
    assert gate.withdrawn.wait(5)


def test_the_end_of_the_session_withdraws_and_answers_no() -> None:
    gate = ScriptedGate("*", holds=True)
    desk = Desk(gate)
    with desk.asked(PLACE) as found:
        assert gate.was_asked.wait(5)
        desk.close()
        assert found.result(5) is False
    assert answer(desk, Place(2, "docs.example.org", 443)) is False
    assert len(gate.asked) == 1


class _Broken:
    def __init__(self, problem: Exception) -> None:
        self._problem = problem

    def may_connect(self, host: str, port: int, interrupt: Interrupt, inside: str = "") -> bool:
        raise self._problem

    def reached(self) -> None:
        return


@pytest.mark.parametrize("problem", [Denied("no"), ValueError("a mistake")])
def test_whatever_goes_wrong_means_no(problem: Exception) -> None:
    assert answer(Desk(_Broken(problem))) is False


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    for thread in threading.enumerate():
        if thread.name == "host-question":
            thread.join(5)
            assert not thread.is_alive()
