"""The queue of a session's events: order, merging, holding, bound and end, with real threads and a real loop."""

from __future__ import annotations

import asyncio
import itertools
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.events import LEFT_OUT, MAX_WAITING_CHARS, MOST_AFTER_CANCEL, MOST_AT_ONCE, Outbox
from agent_core.cancel import CancelToken
from agent_core.events import (
    AgentText,
    AgentThought,
    ContextUsed,
    ModeChanged,
    Noticed,
    PlanChanged,
    SessionEvent,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
)
from tests.support.gate import Gate
from tools.result import ResultImage, ShownDiff, ToolResult

_OTHER = ToolRunning("c", "read_file", {}, "/")


class Editor:
    """Takes events, one at a time, and no more while `gate` is closed."""

    def __init__(self, *, held: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self.seen: list[SessionEvent] = []
        self.threads: list[int] = []
        self.gate = Gate()
        self.arrived = asyncio.Event()
        loop = asyncio.get_running_loop()
        self.outbox = Outbox(loop, self._deliver, self.gate.once_written, held=held, clock=clock)

    def _deliver(self, event: SessionEvent) -> int:
        self.threads.append(threading.get_ident())
        self.seen.append(event)
        self.arrived.set()
        return len(self.seen)

    async def blocked(self) -> None:
        """From now on the pipe is full: one event is on its way, all others wait."""
        self.gate.clear()
        self.outbox.put(ModeChanged("default"))
        await asyncio.wait_for(self.arrived.wait(), 5)
        self.seen.clear()

    async def all(self) -> list[SessionEvent]:
        self.gate.set()
        await asyncio.wait_for(self.outbox.drain(), 5)
        return self.seen


def _slow() -> Callable[[], float]:
    """A clock by which every event comes long after the one before."""
    return itertools.count().__next__


def _text(text: str, message: str = "m") -> AgentText:
    return AgentText(message, text)


async def test_events_arrive_in_the_order_they_were_put() -> None:
    editor = Editor()
    events: list[SessionEvent] = [
        _text("a"),
        AgentThought("t", "b"),
        _OTHER,
        ToolOutput("c", "d", "d"),
        ModeChanged("default"),
        _text("e"),
    ]
    for event in events:
        editor.outbox.put(event)
    assert await editor.all() == events


@pytest.mark.parametrize(
    ("events", "merged"),
    [
        ([_text("a"), _text("b"), _text("c")], [_text("abc")]),
        ([AgentThought("t", "a"), AgentThought("t", "b")], [AgentThought("t", "ab")]),
        ([ToolOutput("c", "a", "a"), ToolOutput("c", "b", "ab")], [ToolOutput("c", "ab", "ab")]),
    ],
)
async def test_adjacent_text_grows_together_while_the_pipe_is_busy(
    events: list[SessionEvent], merged: list[SessionEvent]
) -> None:
    editor = Editor()
    await editor.blocked()
    for event in events:
        editor.outbox.put(event)
    assert await editor.all() == merged


@pytest.mark.parametrize(
    "events",
    [
        [_text("a", "m1"), _text("b", "m2")],
        [AgentThought("m", "a"), _text("b")],
        [ToolOutput("c1", "a", "a"), ToolOutput("c2", "b", "b")],
        [_text("a"), _OTHER, _text("b")],
        [_text("a"), ToolOutput("c", "x", "x"), _text("b")],
        [_OTHER, _OTHER],
    ],
)
async def test_nothing_else_is_merged(events: list[SessionEvent]) -> None:
    editor = Editor()
    await editor.blocked()
    for event in events:
        editor.outbox.put(event)
    assert await editor.all() == events


async def test_one_event_at_a_time_is_on_its_way_whoever_puts_the_next() -> None:
    editor = Editor()
    await editor.blocked()
    for number in range(3):
        await asyncio.to_thread(editor.outbox.put, _text("x", str(number)))
        for _ in range(10):
            await asyncio.sleep(0)
    assert editor.seen == []
    assert len(editor.gate.unwritten) == 1
    assert len(await editor.all()) == 3


@pytest.mark.parametrize("size", [MOST_AT_ONCE // 3, MOST_AT_ONCE, MOST_AT_ONCE + 1, 100_000])
async def test_merged_pieces_have_a_bound_however_large_what_came_is(size: int) -> None:
    editor = Editor()
    await editor.blocked()
    text = "".join(chr(ord("a") + number % 26) for number in range(size))
    for _ in range(10):
        editor.outbox.put(_text(text))
    editor.outbox.put(_OTHER)
    *seen, last = await editor.all()
    pieces = [event.text for event in seen if isinstance(event, AgentText)]
    assert "".join(pieces) == text * 10
    assert {len(piece) for piece in pieces[:-1]} == {MOST_AT_ONCE}
    assert last == _OTHER


async def test_text_that_comes_while_a_piece_is_on_its_way_follows_it() -> None:
    editor = Editor()
    await editor.blocked()
    editor.outbox.put(_text("x" * (MOST_AT_ONCE + 1)))
    waiting, editor.gate.unwritten = editor.gate.unwritten, []
    for written in waiting:
        written()
    await asyncio.sleep(0)
    editor.outbox.put(_text("y"))
    assert [event.text for event in await editor.all() if isinstance(event, AgentText)] == ["x" * MOST_AT_ONCE, "xy"]


@pytest.mark.parametrize("clock", [lambda: time.monotonic, _slow], ids=["fast", "slow"])
async def test_what_was_put_is_what_arrives_however_threads_and_loop_interleave(
    clock: Callable[[], Callable[[], float]],
) -> None:
    dice = random.Random(20)
    kinds: list[Callable[[str, str], SessionEvent]] = [
        AgentText,
        AgentThought,
        lambda call, text: ToolOutput(call, text, text),
        lambda call, _: ToolRunning(call, "t", {}, "/"),
    ]
    for _ in range(30):
        editor = Editor(clock=clock())
        scripts = [
            [dice.choice(kinds)(f"{worker}{dice.choice('ab')}", dice.choice(["", "x", "yz"])) for _ in range(200)]
            for worker in range(3)
        ]
        pauses = [dice.random() < 0.1 for _ in range(200)]

        def put_all(script: list[SessionEvent], pauses: list[bool] = pauses, editor: Editor = editor) -> None:
            for event, pause in zip(script, pauses, strict=True):
                editor.outbox.put(event)
                if pause:
                    threading.Event().wait(0)

        await asyncio.gather(*(asyncio.to_thread(put_all, script) for script in scripts))
        seen = await editor.all()
        for worker, script in enumerate(scripts):
            assert _joined([event for event in seen if _source(event) == str(worker)]) == _joined(script)


def _source(event: SessionEvent) -> str:
    key = event.message_id if isinstance(event, AgentText | AgentThought) else getattr(event, "call_id", "")
    return str(key)[:1]


def _joined(events: list[SessionEvent]) -> list[SessionEvent]:
    """The events with everything merged that may be merged; tails do not matter."""
    joined: list[SessionEvent] = []
    for found in events:
        event = replace(found, tail="") if isinstance(found, ToolOutput) else found
        last = joined[-1] if joined else None
        if (
            isinstance(event, AgentText | AgentThought | ToolOutput)
            and isinstance(last, type(event))
            and replace(last, text="") == replace(event, text="")
        ):
            joined[-1] = replace(last, text=last.text + event.text)
        else:
            joined.append(event)
    return joined


async def test_text_that_comes_alone_is_carried_by_its_worker() -> None:
    editor = Editor(clock=_slow())
    texts: list[SessionEvent] = [_text("a"), AgentThought("t", "b"), ToolOutput("c", "x", "x"), _text("c")]
    for number, event in enumerate(texts, 1):
        worker = await asyncio.to_thread(_put, editor.outbox, event)
        assert editor.threads[number - 1 :] == [worker]
    assert await editor.all() == texts


async def test_text_that_follows_closely_is_carried_by_the_loop_so_that_it_can_merge() -> None:
    editor = Editor(clock=lambda: 0.0)
    worker = await asyncio.to_thread(_put, editor.outbox, _text("a"), _text("b"), _text("c"))
    assert "".join(event.text for event in await editor.all() if isinstance(event, AgentText)) == "abc"
    assert editor.threads == [worker, *[threading.get_ident()] * (len(editor.threads) - 1)]
    assert len(editor.threads) > 1


async def test_what_a_turn_tells_of_its_tools_is_carried_by_its_worker_however_closely_it_follows() -> None:
    editor = Editor(clock=lambda: 0.0)
    told: list[SessionEvent] = [
        ToolAnnounced("c", "t", "/"),
        ToolRequested("c", "t", {}, "/", announced=True),
        _OTHER,
        ContextUsed(1, 2),
        ToolFinished("c", "t", {}, "/", ToolResult("ok"), ran=True),
    ]
    worker = await asyncio.to_thread(_put, editor.outbox, *told)
    assert editor.threads == [worker] * len(told)
    assert await editor.all() == told


async def test_what_is_told_behind_something_on_its_way_is_carried_behind_it() -> None:
    editor = Editor()
    editor.gate.clear()
    await asyncio.to_thread(_put, editor.outbox, _OTHER, ContextUsed(1, 2), _OTHER)
    assert editor.seen == [_OTHER]
    assert await editor.all() == [_OTHER, ContextUsed(1, 2), _OTHER]


async def test_how_the_session_stands_is_carried_by_the_loop() -> None:
    editor = Editor(clock=_slow())
    await asyncio.to_thread(_put, editor.outbox, ModeChanged("plan"))
    assert await editor.all() == [ModeChanged("plan")]
    assert editor.threads == [threading.get_ident()]


async def test_nothing_is_carried_within_a_put_on_the_loop() -> None:
    editor = Editor(clock=_slow())
    editor.outbox.put(_text("a"))
    editor.outbox.put(_OTHER)
    assert editor.seen == []
    assert await editor.all() == [_text("a"), _OTHER]


async def test_text_waits_behind_a_full_pipe_whoever_carries_it() -> None:
    editor = Editor(clock=_slow())
    editor.gate.clear()
    await asyncio.to_thread(_put, editor.outbox, _text("a"), _text("b"), _text("c"))
    assert editor.seen == [_text("a")]
    assert await editor.all() == [_text("a"), _text("bc")]


async def test_drain_sees_the_end_of_what_a_worker_carries() -> None:
    for _ in range(300):
        editor = Editor(clock=_slow())
        editor.outbox.put(_OTHER)
        putting = asyncio.to_thread(_put, editor.outbox, _text("a"), _OTHER, _text("b"))
        await asyncio.wait_for(asyncio.gather(putting, editor.outbox.drain(), editor.outbox.drain()), 5)
        assert await editor.all() == [_OTHER, _text("a"), _OTHER, _text("b")]


def _put(outbox: Outbox, *events: SessionEvent) -> int:
    for event in events:
        outbox.put(event)
    return threading.get_ident()


async def test_a_held_outbox_keeps_everything_until_it_is_released() -> None:
    editor = Editor(held=True)
    editor.outbox.put(_text("a"))
    await asyncio.to_thread(editor.outbox.put, _text("b"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert editor.seen == []
    editor.outbox.release()
    editor.outbox.put(_OTHER)
    assert await editor.all() == [_text("ab"), _OTHER]


async def test_an_empty_outbox_is_released_and_drained_at_once() -> None:
    editor = Editor(held=True)
    editor.outbox.release()
    assert await editor.all() == []


async def test_drain_returns_only_when_the_last_event_is_written() -> None:
    editor = Editor()
    await editor.blocked()
    editor.outbox.put(_OTHER)
    draining = [asyncio.create_task(editor.outbox.drain()) for _ in range(2)]
    for _ in range(20):
        await asyncio.sleep(0)
    assert not any(task.done() for task in draining)
    assert len(editor.gate.unwritten) == 1, "nothing more is sent while something is not written"
    editor.gate.set()
    await asyncio.wait_for(asyncio.gather(*draining), 5)
    assert editor.seen == [_OTHER]
    assert not editor.gate.unwritten


async def test_drain_does_not_wait_for_what_is_put_after_it_was_called() -> None:
    draining: list[asyncio.Task[None]] = []

    def deliver(event: SessionEvent) -> int:
        seen.append(event)
        # As a background task does that tells something again and again: there is never a quiet moment.
        if not (draining and draining[0].done()) and len(seen) < 1000:
            outbox.put(_OTHER)
        return 0

    seen: list[SessionEvent] = []
    outbox = Outbox(asyncio.get_running_loop(), deliver, Gate().once_written)
    outbox.put(_text("a"))
    outbox.put(_text("b"))
    draining.append(asyncio.create_task(outbox.drain()))
    await asyncio.wait_for(draining[0], 5)
    assert seen[0] == _text("ab")
    assert len(seen) < 10
    await asyncio.wait_for(outbox.drain(), 5)


async def _full(editor: Editor) -> None:
    await editor.blocked()
    editor.outbox.put(_text("x" * (MAX_WAITING_CHARS + 1)))


async def test_a_worker_waits_while_too_much_is_waiting_and_goes_on_afterwards() -> None:
    editor = Editor()
    await _full(editor)
    waiting = asyncio.create_task(asyncio.to_thread(editor.outbox.wait_for_space, CancelToken()))
    assert not (await asyncio.wait([waiting], timeout=0.05))[0]
    await editor.all()
    await asyncio.wait_for(waiting, 5)


@pytest.mark.parametrize("when", ["before", "while it waits"])
async def test_a_cancel_lets_a_waiting_worker_go(when: str) -> None:
    editor = Editor()
    await _full(editor)
    token = CancelToken()
    if when == "before":
        token.cancel()
    waiting = asyncio.create_task(asyncio.to_thread(editor.outbox.wait_for_space, token))
    if when != "before":
        assert not (await asyncio.wait([waiting], timeout=0.05))[0]
        token.cancel()
    await asyncio.wait_for(waiting, 5)
    await editor.all()


async def test_an_event_that_cannot_be_shown_does_not_stop_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[SessionEvent] = []

    def deliver(event: SessionEvent) -> int:
        if event == _OTHER:
            raise ValueError("this one is bad")
        seen.append(event)
        return 0

    outbox = Outbox(asyncio.get_running_loop(), deliver, Gate().once_written)
    for event in (_text("a"), _OTHER, _text("b")):
        outbox.put(event)
    await asyncio.wait_for(outbox.drain(), 5)
    assert seen == [_text("a"), _text("b")]
    assert "could not be shown" in caplog.text
    outbox.put(_text("c"))
    await asyncio.wait_for(outbox.drain(), 5)
    assert seen[-1] == _text("c")


async def test_a_closed_one_has_written_what_came_before_and_drops_what_comes_after() -> None:
    editor = Editor()
    editor.gate.clear()
    editor.outbox.put(ModeChanged("plan"))
    editor.outbox.put(ModeChanged("default"))
    closing = asyncio.create_task(editor.outbox.close())
    await editor.arrived.wait()
    assert not closing.done()
    editor.gate.set()
    await closing
    editor.outbox.put(ModeChanged("dont_ask"))
    await editor.outbox.drain()
    assert editor.seen == [ModeChanged("plan"), ModeChanged("default")]


async def test_other_callbacks_of_the_loop_have_their_turn_between_events() -> None:
    seen: list[object] = []

    def deliver(event: SessionEvent) -> int:
        seen.append(event)
        return 0

    loop = asyncio.get_running_loop()
    outbox = Outbox(loop, deliver, Gate().once_written)
    for event in (_text("a"), _OTHER, _text("b")):
        outbox.put(event)
    for number in range(2):
        loop.call_soon(seen.append, number)
    await asyncio.wait_for(outbox.drain(), 5)
    assert seen == [_text("a"), 0, 1, _OTHER, _text("b")]


_MUCH = "x" * (MAX_WAITING_CHARS // 4)


def _ended(text: str = "ok", **result: Any) -> ToolFinished:
    return ToolFinished("c", "t", {}, "/", ToolResult(text, **result))


def _chars(seen: list[SessionEvent]) -> int:
    return sum(len(event.text) for event in seen if isinstance(event, AgentText | AgentThought | ToolOutput))


async def test_a_cancel_leaves_out_most_text_that_waits_and_says_so_once() -> None:
    editor = Editor()
    await editor.blocked()
    for event in (_text(_MUCH), AgentThought("t", _MUCH), _text(_MUCH, "other"), ToolOutput("c", _MUCH, "tail")):
        editor.outbox.put(event)
    editor.outbox.hurry()
    editor.outbox.put(_text(_MUCH, "late"))
    seen = await editor.all()
    assert _chars(seen) == MOST_AFTER_CANCEL
    assert [event.text for event in seen if isinstance(event, Noticed)] == [LEFT_OUT]
    assert isinstance(seen[0], AgentText), "what is shown goes on where it was"


async def test_a_cancel_leaves_out_nothing_that_is_read_at_once() -> None:
    editor = Editor()
    await editor.blocked()
    told = [_text("a"), _OTHER, AgentThought("t", "b" * 1000), _ended("c" * 1000), PlanChanged(())]
    for event in told[:3]:
        editor.outbox.put(event)
    editor.outbox.hurry()
    for event in told[3:]:
        editor.outbox.put(event)
    assert await editor.all() == told


async def test_after_a_cancel_cards_end_and_everything_stands_as_it_does() -> None:
    editor = Editor()
    await editor.blocked()
    standing = [_OTHER, PlanChanged(()), ModeChanged("plan"), ContextUsed(1, 2), _ended("short", failed=True)]
    for event in (_text(_MUCH), *standing):
        editor.outbox.put(event)
    editor.outbox.hurry()
    seen = await editor.all()
    assert [event for event in seen if not isinstance(event, AgentText | Noticed)] == standing


@pytest.mark.parametrize(
    "result",
    [
        ToolResult(_MUCH),
        ToolResult("ok", shown=(ShownDiff(Path("/f"), _MUCH, ""),), failed=True),
        ToolResult("ok", images=(ResultImage(_MUCH.encode(), "image/png"),)),
    ],
    ids=["text", "diff", "image"],
)
async def test_after_a_cancel_the_end_of_a_card_says_all_that_its_call_did(result: ToolResult) -> None:
    editor = Editor()
    await editor.blocked()
    editor.outbox.hurry()
    editor.outbox.put(replace(_ended(), result=result))
    (ended,) = await editor.all()
    assert isinstance(ended, ToolFinished)
    assert (ended.call_id, ended.result) == ("c", result)


async def test_once_a_cancelled_turn_is_over_everything_is_sent_again() -> None:
    editor = Editor()
    await editor.blocked()
    for _ in range(2):
        editor.outbox.put(_text(_MUCH))
        editor.outbox.hurry()
        editor.outbox.hurry()
        seen = await editor.all()
        assert _chars(seen) == MOST_AFTER_CANCEL
        assert sum(isinstance(event, Noticed) for event in seen) == 1
        editor.seen.clear()
        editor.outbox.calm()
    editor.outbox.put(_text(_MUCH))
    assert _chars(await editor.all()) == len(_MUCH)


async def test_who_drains_while_a_cancel_comes_hears_of_the_last_event() -> None:
    editor = Editor()
    await editor.blocked()
    editor.outbox.put(_text(_MUCH))
    editor.outbox.put(_OTHER)
    draining = asyncio.create_task(editor.outbox.drain())
    await asyncio.sleep(0)
    editor.outbox.hurry()
    assert not draining.done()
    editor.gate.set()
    await asyncio.wait_for(draining, 5)
    assert editor.seen[-1] == _OTHER
    assert _chars(editor.seen) == MOST_AFTER_CANCEL


async def test_a_worker_that_waits_for_space_goes_on_when_a_cancel_makes_some() -> None:
    editor = Editor()
    await _full(editor)
    waiting = asyncio.create_task(asyncio.to_thread(editor.outbox.wait_for_space, CancelToken()))
    await asyncio.sleep(0)
    editor.outbox.hurry()
    await asyncio.wait_for(waiting, 5)
    await editor.all()
