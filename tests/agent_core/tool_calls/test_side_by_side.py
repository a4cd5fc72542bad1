"""Calls that come from several threads: which run beside each other, and in which order they wait."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from agent_core.tool_calls import PlannedCall, SideBySide
from tests.support.agents import in_background
from tests.support.waiting import wait_until
from tools.errors import ToolInterrupted

READ = PlannedCall("read_file", "safe")
RUN = PlannedCall("terminal", "never")


def _edit(path):
    return PlannedCall("patch", "paths", (Path(path),))


class Bench:
    def __init__(self):
        self.order, self.done = SideBySide(), []

    def begin(self, call, name):
        """A call on a thread of its own; it ends when its event is set."""
        entered, leave, token = threading.Event(), threading.Event(), CancelToken()

        def work():
            with self.order.entered(call, token):
                self.done.append(name)
                entered.set()
                assert leave.wait(10)

        return entered, leave, token, in_background(work)

    def waiting(self, count):
        wait_until(lambda: self.order.count == count)


def test_what_bears_it_runs_beside_each_other():
    bench = Bench()
    begun = [bench.begin(call, "x") for call in (READ, READ, _edit("/w/a"), _edit("/w/b"))]
    assert all(entered.wait(10) for entered, *_ in begun)
    for _, leave, _, running in begun:
        leave.set()
        running.result(10)


def test_the_others_wait_in_the_order_in_which_they_came():
    bench = Bench()
    first = bench.begin(RUN, "first")
    assert first[0].wait(10)
    calls = [(RUN, "second"), (READ, "third"), (_edit("/w"), "fourth"), (READ, "fifth")]
    others = []
    for number, (call, name) in enumerate(calls, 2):
        others.append(bench.begin(call, name))
        bench.waiting(number)
    assert bench.done == ["first"]
    first[1].set()
    for entered, leave, _, running in others[:1]:
        assert entered.wait(10)
        assert bench.done == ["first", "second"]
        leave.set()
        running.result(10)
    # Reading and an edit of one file bear each other only where their paths are known to differ.
    for entered, leave, _, running in others[1:]:
        assert entered.wait(10)
        leave.set()
        running.result(10)
    assert set(bench.done[2:]) == {"third", "fourth", "fifth"}


def test_who_is_cancelled_while_it_waits_holds_nobody():
    bench = Bench()
    first = bench.begin(RUN, "first")
    assert first[0].wait(10)
    _, _, token, cancelled = bench.begin(RUN, "cancelled")
    bench.waiting(2)
    last = bench.begin(RUN, "last")
    bench.waiting(3)
    token.cancel()
    with pytest.raises(ToolInterrupted):
        cancelled.result(10)
    first[1].set()
    assert last[0].wait(10)
    last[1].set()
    last[3].result(10)
    assert bench.done == ["first", "last"]
