"""The journal of a turn: one row an item, text merged, nothing twice, nothing lost, quick."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from agent_core.events import (
    AgentText,
    AgentThought,
    ContextUsed,
    ModeChanged,
    PlanChanged,
    SaidText,
    SessionEvent,
    SessionNamed,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
    UserSaid,
)
from agent_core.sessions.journal import GrowingText, JournalRow, TurnJournal
from tests.support.clock import Clock
from tests.support.each import each
from tests.support.sample_events import EVENTS
from tools.context import TodoItem
from tools.result import ToolResult


def _journal(*events: SessionEvent, clock: Clock | None = None) -> TurnJournal:
    journal = TurnJournal(clock or Clock())
    for event in events:
        journal.record(event)
    return journal


def _texts(rows: list[JournalRow]) -> list[tuple[str, str]]:
    return [(row.kind, row.body["text"]) for row in rows]


def _begun(call: str = "c") -> list[SessionEvent]:
    return [ToolAnnounced(call, "terminal", "/"), ToolRequested(call, "terminal", {"command": "x"}, "/", True)]


def _end(call: str = "c", result: ToolResult | None = None) -> ToolFinished:
    return ToolFinished(call, "terminal", {"command": "x"}, "/", result or ToolResult("{}"))


def test_pieces_of_a_message_are_one_row() -> None:
    rows = _journal(AgentText("m", "a"), AgentText("m", "b"), AgentText("m", "c")).take()
    assert _texts(rows) == [("text", "abc")]
    assert (rows[0].position, rows[0].open, rows[0].created_at) == (0, False, 1000.0)


@each(
    "between",
    [
        AgentText("other", "x"),
        AgentThought("m", "x"),
        UserSaid("u", (SaidText("x"),)),
        ToolAnnounced("c", "todo", "/"),
        ToolRequested("c", "todo", {}, "/", announced=False),
    ],
)
def test_another_item_in_between_starts_a_new_row(between: SessionEvent) -> None:
    rows = _journal(AgentText("m", "a"), between, AgentText("m", "b")).take()
    assert [row.position for row in rows] == [0, 1, 2]
    assert (rows[0].body["text"], rows[2].body["text"]) == ("a", "b")


@each(
    "between",
    [
        *_begun()[1:],
        ToolRunning("c", "terminal", {}, "/"),
        ToolOutput("c", "out", "out"),
        _end(),
        PlanChanged(()),
        ContextUsed(1, 2),
        ModeChanged("default"),
        SessionNamed("title", 1.0),
        AgentThought("t", ""),
    ],
)
def test_what_has_a_place_of_its_own_does_not_part_text(between: SessionEvent) -> None:
    rows = _journal(*_begun(), AgentText("m", "a"), between, AgentText("m", "b")).take()
    assert [row.body["text"] for row in rows if row.kind == "text"] == ["ab"]


def test_a_call_is_one_row_from_its_first_sight_to_its_end() -> None:
    journal = _journal(ToolAnnounced("c", "terminal", "/"))
    seen: list[Any] = [journal.take()]
    for event in (
        _begun()[1],
        ToolRunning("c", "terminal", {"command": "x"}, "/"),
        ToolOutput("c", "a\n", "a\n"),
        ToolOutput("c", "b\n", "b\n"),
        _end(),
    ):
        journal.record(event)
        seen.append(journal.take())
    assert all(len(rows) == 1 and rows[0].position == 0 for rows in seen)
    bodies = [rows[0].body for rows in seen]
    assert [rows[0].open for rows in seen] == [True, True, True, True, True, False]
    assert [body["requested"] for body in bodies] == [False, True, True, True, True, True]
    assert [body["ran"] for body in bodies] == [False, False, True, True, True, True]
    assert bodies[0]["arguments"] is None
    assert bodies[1]["arguments"] == {"command": "x"}
    assert (bodies[4]["output"], bodies[4]["tail"]) == ("a\nb\n", "b\n")
    assert bodies[5]["result"] == {"text": "{}", "failed": False}


def test_calls_side_by_side_keep_their_own_rows() -> None:
    events = [*_begun("a"), *_begun("b"), ToolOutput("b", "2", "2"), ToolOutput("a", "1", "1"), _end("b")]
    rows = _journal(*events).take()
    assert [(row.body["id"], row.body.get("output"), row.open) for row in rows] == [
        ("a", "1", True),
        ("b", "2", False),
    ]


def test_an_id_that_is_used_again_after_its_end_is_another_call() -> None:
    rows = _journal(*_begun(), _end(), *_begun()).take()
    assert [(row.position, row.open) for row in rows] == [(0, False), (1, True)]


def test_output_of_a_call_that_is_not_there_is_ignored() -> None:
    assert not _journal(ToolOutput("c", "x", "x"), ToolRunning("c", "t", {}, "/")).take()


def test_plan_and_use_are_one_row_each_with_the_latest() -> None:
    journal = _journal(PlanChanged(()), AgentText("m", "x"), ContextUsed(1, 2))
    journal.take()
    journal.record(ContextUsed(3, 4, 0.5))
    journal.record(PlanChanged((TodoItem("1", "a", "pending"),)))
    rows = journal.take()
    assert [(row.position, row.kind) for row in rows] == [(0, "plan"), (2, "usage")]
    assert rows[0].body["items"][0]["content"] == "a"
    assert rows[1].body == {"used": 3, "size": 4, "cost": 0.5}


def test_what_stands_with_the_session_is_not_taken_down() -> None:
    journal = _journal(*(event for event in EVENTS if isinstance(event, ModeChanged | SessionNamed)))
    assert not journal.is_dirty
    assert not journal.take()


def test_take_gives_only_what_is_new_or_changed() -> None:
    journal = _journal(AgentText("m", "a"), *_begun())
    assert journal.is_dirty
    assert [row.position for row in journal.take()] == [0, 1]
    assert not journal.is_dirty
    assert not journal.take()
    journal.record(ToolRunning("c", "terminal", {}, "/"))
    assert journal.is_dirty
    assert [row.position for row in journal.take()] == [1]


class TestPutBack:
    def test_rows_that_could_not_be_written_come_again(self) -> None:
        journal = _journal(AgentText("m", "a"), *_begun())
        rows = journal.take()
        journal.put_back(rows)
        assert journal.is_dirty
        assert journal.take() == rows
        assert not journal.take()

    def test_newer_ones_take_their_place(self) -> None:
        journal = _journal(AgentText("m", "a"), *_begun())
        journal.put_back(journal.take())
        journal.record(AgentText("m", "b"))
        journal.record(_end())
        rows = journal.take()
        assert [row.position for row in rows] == [0, 1, 2]
        assert not rows[1].open

    def test_after_close_they_come_again_too(self) -> None:
        journal = _journal(AgentText("m", "a"))
        rows = journal.take()
        journal.close()
        journal.put_back(rows)
        assert journal.take() == rows


def test_after_close_nothing_is_taken_down_and_the_rest_can_be_taken() -> None:
    journal = _journal(AgentText("m", "a"))
    journal.close()
    for event in EVENTS:
        journal.record(event)
    assert _texts(journal.take()) == [("text", "a")]
    assert not journal.is_dirty


def test_every_event_can_be_taken_down() -> None:
    for event in EVENTS:
        assert len(_journal(event).take()) <= 1


def test_threads_may_record_while_another_takes() -> None:
    journal, rows = TurnJournal(), {}

    def work(worker: int) -> None:
        call = f"c{worker}"
        for event in _begun(call):
            journal.record(event)
        for _ in range(2000):
            journal.record(ToolOutput(call, "x", "x"))
        journal.record(_end(call))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        taken = journal.take()
        if len(taken) % 2:
            journal.put_back(taken)
        else:
            rows |= {row.position: row for row in taken}
    rows |= {row.position: row for row in journal.take()}
    assert sorted((row.body["id"], len(row.body["output"]), row.open) for row in rows.values()) == [
        (f"c{number}", 2000, False) for number in range(4)
    ]


class TestGrowingText:
    def test_text_within_the_limit_is_whole(self) -> None:
        text = GrowingText(100)
        for _ in range(10):
            text.add("0123456789")
            text.text()
        assert text.text() == "0123456789" * 10

    @pytest.mark.parametrize("reads", [True, False])
    def test_beyond_it_beginning_and_end_are_kept_and_a_note_between_them(self, reads: bool) -> None:
        text, size = GrowingText(100), 0
        for number in range(1000):
            text.add(f"{number:09}\n")
            size += 10
            if reads:
                text.text()
        assert text.text() == text.text()
        head, note, tail = text.text().partition("\n[… ")
        left_out = int(tail.split(" ", 1)[0])
        kept = tail.split("…]\n", 1)[1]
        assert note
        assert (head, kept[-10:]) == ("000000000\n000000001\n", "000000999\n")
        assert len(head) + left_out + len(kept) == size
