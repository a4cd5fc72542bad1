"""The line that says what goes on."""

from __future__ import annotations

from acp_adapter.cli.console import Style
from acp_adapter.cli.transcript import Progress
from tests.support.scripted import update

NARROW = Style(live=True, columns=lambda: 40)


def progress(*updates, style=NARROW):
    found = Progress(style)
    found.begin("Thinking", 0.0)
    for number, each in enumerate(updates, 1):
        found.see(each, float(number))
    return found


def call(call_id, status, **fields):
    return update("tool_call_update", toolCallId=call_id, status=status, **fields)


def test_while_nothing_is_known_it_is_the_words_and_the_time_since_something_came():
    assert progress().line(3.8) == "  - Thinking  3 s"
    assert progress(update("agent_message_chunk")).line(3.2) == "  / Thinking  2 s"
    assert progress(update("usage_update")).line(75.0) == "  | Thinking  1 min 15 s"


def test_a_call_that_runs_is_told_with_the_time_since_it_began():
    running = progress(call("a", "pending", title="make"), call("a", "in_progress"), update("agent_message_chunk"))
    assert running.line(9.0) == "  | make  7 s"


def test_of_several_calls_the_last_is_named_and_the_others_counted():
    several = progress(call("a", "in_progress", title="one"), call("b", "in_progress", title="two"))
    assert several.line(3.0) == "  | two and 1 more  1 s"
    several.see(call("b", "completed"), 4.0)
    assert several.line(5.0) == "  | one  4 s"
    several.see(call("a", "failed"), 6.0)
    assert several.line(7.0) == "  | Thinking  1 s"


def test_how_far_the_plan_is_stands_behind_until_it_is_done():
    half = progress(update("plan", entries=[{"status": "completed"}, {"status": "pending"}]))
    assert half.line(1.0) == "  | Thinking  0 s  plan 1/2"
    half.see(update("plan", entries=[{"status": "completed"}]), 2.0)
    assert half.line(2.0) == "  | Thinking  0 s"


def test_it_never_fills_the_last_column_of_the_window():
    long = progress(call("a", "in_progress", title="日本" * 40))
    line = long.line(1.0)
    assert len(line) + line.count("日") + line.count("本") < 40
    assert "...  0 s" in line


def test_in_a_window_that_is_too_narrow_there_is_none():
    for width in (1, 10, 15):
        tiny = progress(style=Style(live=True, columns=lambda width=width: width))
        assert tiny.line(1.0) == ""
    assert progress(style=Style(live=True, columns=lambda: 20)).line(1.0) == "  | Thinking  1 s"


def test_after_the_end_there_is_none_and_nothing_of_it_comes_back():
    ended = progress(call("a", "in_progress", title="make"))
    ended.begin("", 2.0)
    assert ended.line(3.0) == ""
    ended.begin("Thinking", 4.0)
    assert ended.line(5.0).endswith("Thinking  1 s")


def test_what_makes_no_sense_is_passed_over():
    strange = (update("plan", entries=5), update("plan", entries=[5]), call(["c"], ["x"]), {})
    assert "Thinking" in progress(*strange).line(3.0)
