"""A page shows as much as a browser can, and says what it leaves out and how to see that."""

from __future__ import annotations

import re

import pytest

from acp_adapter.cli.inspect import recordings
from acp_adapter.cli.inspect.page import to_page
from acp_adapter.cli.inspect.recordings import (
    Frame,
    Recording,
    RecordingFile,
    Row,
    Span,
    parts,
    read_recordings,
    rows_of,
)
from tests.support.recordings import sample_lines


def rows(many: int) -> tuple[Row, ...]:
    return rows_of(
        [Frame.of(place, "out", float(place), {"method": "x", "n": place}) for place in range(1, many + 1)]
    )


def test_all_of_a_usual_recording_is_shown() -> None:
    (part,) = parts([rows(5)], Span())
    assert (len(part.rows), part.outside, part.before) == (5, 0, 0)


def test_of_more_than_a_page_holds_the_last_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "MOST_ROWS", 6)
    first, second = parts([rows(5), rows(4)], Span())
    assert ([row.first.place for row in first.rows], first.before) == ([4, 5], 3)
    assert (len(second.rows), second.before) == (4, 0)


def test_of_more_text_than_a_page_holds_the_last_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    made = rows(9)
    monkeypatch.setattr(recordings, "MOST_CHARACTERS", 3 * made[0].size)
    (part,) = parts([made], Span())
    assert (len(part.rows), part.before) == (3, 6)


def test_only_the_seconds_that_were_asked_for_are_shown() -> None:
    (part,) = parts([rows(9)], Span(3, 5))
    assert ([row.first.place for row in part.rows], part.outside) == ([3, 4, 5], 6)


def test_the_page_says_what_is_left_out_and_leads_nowhere_that_is_not_on_it() -> None:
    recorded = read_recordings(sample_lines())
    page = to_page(recorded, "x", Span(9, 10))
    assert "messages before or after the seconds that were asked for" in page
    assert 'id="c1-13"' in page
    assert 'id="c1-3"' not in page
    assert "session/new (1.2 s), at 0.100 s" in page
    targets = set(re.findall(r'href="#(c1-\d+)"', page))
    assert targets
    assert targets <= set(re.findall(r'id="(c1-\d+)"', page))


def test_a_page_says_where_to_look_for_what_it_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "MOST_CHARACTERS", 100)
    page = to_page(read_recordings(sample_lines()), "x")
    assert "messages before these are left out of the page. Choose others with --from and --to." in page
    assert "return a + b" not in page


def test_a_connection_without_a_message_in_those_seconds_is_named_all_the_same() -> None:
    page = to_page(RecordingFile((Recording("someone", "", []),), 0), "x", Span(5, 6))
    assert "Connection 1" in page


def test_a_message_that_is_kept_small_is_read_back_as_it_was() -> None:
    for message in ({}, {"id": 1, "text": "ä \ud800" * 2_000}, {"method": "x", "params": {"a": [None, 1.5]}}):
        frame = Frame.of(1, "in", 0.0, message)
        assert frame.message == message
        assert frame.is_message
    assert Frame.of(1, "in", 0.0, None, "").message is None
