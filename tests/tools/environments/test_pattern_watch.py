"""Watched texts in a program's output."""

from tests.support.clock import Clock
from tests.support.memory import memory_kept
from tools.environments.background_process import PatternWatch


def test_a_line_that_holds_a_text_is_told_when_it_is_finished():
    watch = PatternWatch(["rea", ""])

    assert list(watch.saw("starting\nrea")) == []
    assert list(watch.saw("dy\nmore")) == [("rea", "ready")]


def test_colours_do_not_hide_a_text():
    assert list(PatternWatch(["ready"]).saw("\x1b[32mre\x1b[0mady\r\n")) == [("ready", "ready")]


def test_the_first_of_each_is_told_at_once_and_then_only_now_and_then():
    clock = Clock(0.0)
    watch = PatternWatch(["a", "b"], pause=15, clock=clock)

    assert [line for _, line in watch.saw("a1\na2\nb1\nb2\na3\n")] == ["a1", "b1"]
    clock.now = 14.9
    assert list(watch.saw("a4\n")) == []
    clock.now = 15
    assert [line for _, line in watch.saw("a5\na6\n")] == ["a5"]


def test_after_so_many_nothing_more_is_told():
    clock = Clock(0.0)
    watch = PatternWatch(["x"], pause=0, most=3, clock=clock)

    assert len(list(watch.saw("x\n" * 10))) == 3
    assert list(watch.saw("x\n")) == []


def test_a_line_without_an_end_does_not_grow_memory():
    watch = PatternWatch(["x"])
    with memory_kept() as kept:
        for _ in range(100):
            assert list(watch.saw("y" * 10_000)) == []
        assert kept() < 50_000


def test_without_patterns_nothing_is_looked_at():
    assert list(PatternWatch([]).saw("x\n")) == []
