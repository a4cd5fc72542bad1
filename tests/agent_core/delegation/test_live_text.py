"""What sub-agents say is shown in whole lines, not at every word, and not without end."""

from __future__ import annotations

import pytest

from agent_core.delegation.subagent import LiveText
from tests.support.clock import Clock


@pytest.fixture
def clock():
    return Clock(0.0)


@pytest.fixture
def shown():
    return []


@pytest.fixture
def live(shown, clock):
    return LiveText(shown.append, pause=1.0, clock=clock)


def test_lines_of_two_do_not_mix(live, shown, clock):
    for who, text in (("A", "one "), ("B", "two "), ("A", "line\n"), ("B", "lines\n")):
        clock.now += 2
        live.say(who, text)
    assert shown == ["A: one line\n", "B: two lines\n"]


def test_what_comes_within_the_pause_is_shown_together(live, shown, clock):
    for number in range(5):
        live.say("A", f"{number}\n")
    assert shown == ["A: 0\n"]
    clock.now = 1.0
    live.say("A", "5\n")
    assert shown[1:] == ["A: 1\nA: 2\nA: 3\nA: 4\nA: 5\n"]


def test_the_end_of_a_message_shows_its_last_line_and_a_word_of_ours_comes_at_once(live, shown):
    live.say("A", "first\nlast")
    live.end("A", "done")
    assert "".join(shown) == "A: first\nA: last\nA: [done]\n"


def test_a_long_line_and_a_flood_are_cut(live, shown):
    live.say("A", "x" * 5_000)
    live.end("A")
    for number in range(10_000):
        live.say("A", f"line {number}\n")
    live.say("B", "still heard\n")
    live.close()
    text = "".join(shown)
    assert len(text) < 50_000
    assert len(text.split("\n", 1)[0]) < 400
    assert "more is in its transcript" in text
    assert text.endswith("B: still heard\n")
