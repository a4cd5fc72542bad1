"""Items as rows and back: every kind, and whatever models make up."""

from __future__ import annotations

import contextlib
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from agent_core.errors import StoreError
from agent_core.events import (
    AgentText,
    AgentThought,
    ContextCompacted,
    ContextUsed,
    Noticed,
    PlanChanged,
    SessionEvent,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
    UserSaid,
)
from agent_core.sessions.event_codec import KINDS, decode, plain
from agent_core.sessions.journal import JournalRow, TurnJournal
from tests.support.each import each
from tests.support.images import png
from tests.support.sample_events import EVENTS
from tools.result import ResultImage, ShownDiff, ShownOutput, ShownText, ToolResult


def _row(*events: SessionEvent) -> JournalRow:
    journal = TurnJournal()
    for event in events:
        journal.record(event)
    (row,) = journal.take()
    return row


def _back(row: JournalRow) -> tuple[SessionEvent, ...]:
    body = json.loads(json.dumps(row.body, ensure_ascii=False, allow_nan=False).encode())
    return decode(row.kind, row.version, body)


@each(
    "event",
    [event for event in EVENTS if isinstance(event, UserSaid | AgentText | AgentThought | PlanChanged | ContextUsed)],
)
def test_what_comes_at_once_comes_back_as_it_was(event: SessionEvent) -> None:
    assert _back(_row(event)) == (event,)


@each("event", [event for event in EVENTS if isinstance(event, ContextCompacted)])
def test_a_compression_comes_back_once_it_is_over(event: ContextCompacted) -> None:
    journal = TurnJournal()
    journal.record(event)
    assert [_back(row) for row in journal.take()] == ([] if event.state == "running" else [(event,)])


@each("event", [event for event in EVENTS if isinstance(event, ToolFinished)])
def test_a_call_comes_back_with_all_that_it_was(event: ToolFinished) -> None:
    requested = ToolRequested(event.call_id, event.name, event.arguments, event.cwd, announced=False)
    output = ToolOutput(event.call_id, "more\n", "tail\nmore\n", event.name)
    announced = ToolAnnounced(event.call_id, event.name, event.cwd)
    running = ToolRunning(event.call_id, event.name, event.arguments, event.cwd)
    assert _back(_row(announced, requested, running, output, event)) == (requested, output, event)
    assert _back(_row(requested, event)) == (requested, event)
    assert _back(_row(announced, event)) == (announced, event)


def test_a_call_that_is_open_comes_back_as_far_as_it_went() -> None:
    announced, requested = (
        ToolAnnounced("c", "todo", "/"),
        ToolRequested("c", "todo", {"a": [1]}, "/", announced=False),
    )
    running, output = ToolRunning("c", "todo", {"a": [1]}, "/"), ToolOutput("c", "x", "x", "todo")
    assert _back(_row(announced)) == (announced,)
    assert _back(_row(announced, requested)) == (requested,)
    assert _back(_row(requested, running)) == (requested, running)
    assert _back(_row(requested, running, output)) == (requested, running, output)


def test_whose_card_a_call_stands_under_is_kept() -> None:
    announced = ToolAnnounced("c", "todo", "/", parent="p")
    requested = ToolRequested("c", "todo", {}, "/", announced=False, parent="p")
    assert _back(_row(announced)) == (announced,)
    assert _back(_row(requested, ToolFinished("c", "todo", {}, "/", ToolResult("x"))))[0] == requested


@pytest.mark.parametrize("ran", [True, False])
def test_whether_a_call_ran_is_kept(ran: bool) -> None:
    end = ToolFinished("c", "terminal", {}, "/", ToolResult("x", failed=True), ran=ran)
    assert _back(_row(ToolRequested("c", "terminal", {}, "/", announced=False), end))[-1] == end


@each(
    ("value", "kept"),
    [
        (math.nan, None),
        (-math.inf, None),
        ("half \ud83d", "half \ufffd"),
        ("\ud83d\ude00", "😀"),
        (b"by\xfftes", "by\ufffdtes"),
        (Path("/srv/\udcff"), "/srv/\ufffd"),
        ((1, {2: "two"}), [1, {"2": "two"}]),
        ({"\ud800": {"deep": math.inf}}, {"\ufffd": {"deep": None}}),
        ({1}, [1]),
        (None, None),
        (True, True),
        (1.5, 1.5),
        (10**100, 10**100),
    ],
)
def test_what_json_does_not_have_is_replaced(value: object, kept: object) -> None:
    assert plain(value) == kept
    request = ToolRequested("c", "plugin", {"value": value}, "/", announced=False)
    end = ToolFinished("c", "plugin", {"value": value}, "/", ToolResult("x", facts={"fact": value}))
    found = _back(_row(request, end))
    assert found[0] == ToolRequested("c", "plugin", {"value": kept}, "/", announced=False)
    assert isinstance(found[1], ToolFinished)
    assert found[1].result.facts == {"fact": kept}


def test_garbage_that_is_deep_or_huge_does_not_break_a_row() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    row = _row(ToolRequested("c", "t", {"deep": deep, "huge": 10**5000}, "/", announced=False))
    (event,) = _back(row)
    assert isinstance(event, ToolRequested)
    assert str(event.arguments["huge"]).startswith("0x")


def test_lone_surrogates_anywhere_are_replaced() -> None:
    bad, good = "a\udc00", "a\ufffd"
    result = ToolResult(
        bad,
        (ShownText(bad, bad), ShownDiff(Path(bad), bad, bad), ShownOutput(bad, 0, bad)),
        failed=True,
    )
    request = ToolRequested(bad, bad, {bad: bad}, bad, announced=False)
    events = _back(_row(request, ToolOutput(bad, bad, bad), ToolFinished(bad, bad, {bad: bad}, bad, result)))
    shown = (ShownText(good, good), ShownDiff(Path(good), good, good), ShownOutput(good, 0, good))
    assert events == (
        ToolRequested(good, good, {good: good}, good, announced=False),
        ToolOutput(good, good, good, good),
        ToolFinished(good, good, {good: good}, good, ToolResult(good, shown, failed=True)),
    )
    assert _back(_row(AgentText(bad, bad))) == (AgentText(good, good),)


@pytest.mark.parametrize(("kind", "version"), [("tool", 2), ("hologram", 1), ("text", 99)])
def test_what_a_later_program_stored_is_a_note(kind: str, version: int) -> None:
    (event,) = decode(kind, version, {"anything": 1})
    assert isinstance(event, AgentThought)
    assert "later version" in event.text
    assert event.message_id == f"note-{kind}-{version}"


@each("kind", sorted(KINDS))
@each("body", [{}, {"id": 1, "text": 2}, {"parts": [1]}, {"items": None}])
def test_a_damaged_body_is_an_error_that_says_what_to_do(kind: str, body: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match="hermes-acp doctor") as problem:
        decode(kind, 1, body)
    assert problem.value.kind == "corrupt"


def test_a_body_with_any_one_value_damaged_is_read_or_refused() -> None:
    dice = random.Random(4)
    outcomes = set()
    for row in _rows_of_every_kind():
        for _ in range(20):
            body = json.loads(json.dumps(row.body))
            _damage(body, dice)
            with contextlib.suppress(StoreError):
                outcomes.add(len(decode(row.kind, row.version, body)))
    assert outcomes <= {1, 2, 3}


def _rows_of_every_kind() -> list[JournalRow]:
    rows = []
    for event in EVENTS:
        journal = TurnJournal()
        for one in (ToolAnnounced("c", "todo", "/"), ToolOutput("c", "x", "x", "todo"), event):
            journal.record(one)
        rows += journal.take()
    assert {row.kind for row in rows} == set(KINDS)
    return rows


def _damage(value: Any, dice: random.Random) -> None:
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = dice.choice(keys)
    if isinstance(value[key], dict | list) and dice.random() < 0.7:
        _damage(value[key], dice)
    else:
        value[key] = dice.choice([None, 7, "x", [], {}, [1], True])


_VERSION_1: dict[str, tuple[dict[str, Any], tuple[SessionEvent, ...]]] = {
    "text": ({"id": "m", "text": "x"}, (AgentText("m", "x"),)),
    "thought": ({"id": "m", "text": "x"}, (AgentThought("m", "x"),)),
    "notice": ({"id": "n", "text": "x", "severity": "warning"}, (Noticed("n", "x", "warning"),)),
    "usage": ({"used": 1, "size": 2, "cost": None}, (ContextUsed(1, 2),)),
    "compaction": (
        {"id": "k", "state": "done", "before": 9, "after": 2, "summary": "s", "made_by": "a:b", "error": ""},
        (ContextCompacted("k", "done", 9, 2, "s", "a:b"),),
    ),
    "plan": ({"items": []}, (PlanChanged(()),)),
    "said": ({"id": "u", "parts": []}, (UserSaid("u", ()),)),
    "tool": (
        {
            "id": "c",
            "name": "patch",
            "cwd": "/srv",
            "arguments": {"path": "a.py"},
            "requested": True,
            "ran": True,
            "output": "out",
            "tail": "ut",
            "result": {
                "text": "{}",
                "failed": False,
                "shown": [{"kind": "diff", "path": "/srv/a.py", "before": None, "after": "x"}],
                "facts": {"path": "/srv/a.py"},
            },
        },
        (
            ToolRequested("c", "patch", {"path": "a.py"}, "/srv", announced=False),
            ToolOutput("c", "out", "ut", "patch"),
            ToolFinished(
                "c",
                "patch",
                {"path": "a.py"},
                "/srv",
                ToolResult("{}", (ShownDiff(Path("/srv/a.py"), None, "x"),), {"path": "/srv/a.py"}),
            ),
        ),
    ),
}


@each("kind", sorted(KINDS))
def test_rows_of_version_1_are_read_for_ever(kind: str) -> None:
    body, events = _VERSION_1[kind]
    assert decode(kind, 1, body) == events


def test_the_images_of_a_result_come_back_byte_for_byte() -> None:
    images = (ResultImage(png(3, 2), "image/png", "a.png"), ResultImage(b"", "image/gif"))
    event = ToolFinished("c", "vision_analyze", {"image_url": "a.png"}, "/srv", ToolResult("{}", images=images))
    assert _back(_row(event))[-1] == event


def test_an_image_that_is_damaged_makes_the_item_damaged() -> None:
    event = ToolFinished("c", "look", {}, "/srv", ToolResult("{}", images=(ResultImage(b"x", "image/png"),)))
    row = _row(event)
    row.body["result"]["images"][0]["data"] = "&&&"
    with pytest.raises(StoreError):
        _back(row)
