"""The time for which the person is asked counts for who waits for it, once, and for nobody else."""

from __future__ import annotations

import time

from tests.support.clock import Clock
from tools.approval.questions import AskedTime


def test_questions_of_calls_that_a_watched_call_makes_count_once(monkeypatch):
    clock = Clock(100.0)
    monkeypatch.setattr(time, "monotonic", clock)
    asked = AskedTime()
    with asked.watching("program") as watch:
        with asked.asking_for("program"):
            clock.now += 2
            with asked.asking_for("program"):
                clock.now += 3
                assert watch.seconds() == 5
        clock.now += 10
        with asked.asking_for("another"), asked.asking_for(""):
            clock.now += 20
        assert watch.seconds() == 5
        with asked.asking_for("program"):
            clock.now += 1
        assert watch.seconds() == 6
    with asked.asking_for("program"):
        clock.now += 50
    assert watch.seconds() == 6
