"""A page shows as much as a browser can, and says what it leaves out."""

from __future__ import annotations

import re

import pytest

from acp_adapter.cli.inspect import recordings
from acp_adapter.cli.inspect.main import to_page
from acp_adapter.cli.inspect.recordings import Recording, left_out, read_recordings
from tests.support.recordings import sample_lines


def recording(many: int) -> Recording:
    made = Recording()
    for number in range(many):
        made.add({"dir": "out", "t": 0.0, "frame": {"method": "x", "n": number}})
    return made


def test_all_of_a_usual_recording_is_shown() -> None:
    assert left_out([recording(5)]) == [0]


def test_of_more_than_a_page_holds_the_last_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "MOST_ROWS", 6)
    assert left_out([recording(5), recording(4)]) == [3, 0]


def test_of_more_text_than_a_page_holds_the_last_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    made = recording(9)
    monkeypatch.setattr(recordings, "MOST_CHARACTERS", 3 * made.rows[0].size)
    assert left_out([made]) == [6]


def test_the_page_says_what_it_does_not_hold_and_leads_nowhere_that_is_not_on_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recordings, "MOST_ROWS", 6)
    page = to_page(read_recordings(sample_lines()), "x")
    assert "9 messages before these are left out of the page." in page
    assert "return a + b" not in page
    assert "at 0.100 s, session/new (1.2 s)" in page
    targets = set(re.findall(r'href="#(c1-\d+)"', page))
    assert targets
    assert targets <= set(re.findall(r'id="(c1-\d+)"', page))
