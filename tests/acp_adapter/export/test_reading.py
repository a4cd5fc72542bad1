"""Recordings are read, however they were made and whatever became of the file."""

from __future__ import annotations

import json

import pytest

from acp_adapter.cli.inspect.main import to_page
from acp_adapter.cli.inspect.recordings import read_recordings
from agent_core.errors import RequestError
from tests.support.recordings import sample_lines


def test_a_recording_is_read_with_who_made_it() -> None:
    (recording,) = read_recordings(sample_lines()).recordings
    assert (recording.program, recording.begun) == ("hermes-acp 9", "2026-11-22T10:00:00Z")
    assert recording.lines == 17
    assert [row.stray for row in recording.rows if not row.messages] == ["a print of somebody's"]


def test_connections_in_one_file_are_told_apart_even_if_their_lines_are_mixed() -> None:
    one, two = sample_lines(run="r1"), sample_lines(run="r2")
    mixed = [line for pair in zip(one, two, strict=True) for line in pair]
    found = read_recordings(mixed).recordings
    assert [recording.lines for recording in found] == [17, 17]


def test_what_prompt_prints_as_json_is_a_recording() -> None:
    lines = [json.dumps({"dir": "out", "t": 0.1, "frame": {"id": 1, "method": "initialize"}})]
    (recording,) = read_recordings(lines).recordings
    assert recording.rows[0].messages == [{"id": 1, "method": "initialize"}]


def test_a_line_that_was_cut_is_counted_and_the_rest_is_read() -> None:
    lines = sample_lines()
    found = read_recordings([*lines[:-1], lines[-1][:20], "", "[1]", "[" * 100_000])
    assert found.unreadable == 3
    assert found.recordings[0].lines == 16


@pytest.mark.parametrize("at", ["NaN", "Infinity", "-Infinity", "1e400", "1e300", "9" * 400])
def test_a_line_whose_time_is_none_is_counted_as_unreadable(at: str) -> None:
    found = read_recordings([*sample_lines(), f'{{"run": "r1", "dir": "in", "t": {at}, "frame": {{"id": 1}}}}'])
    assert found.unreadable == 1
    assert to_page(found, "x")


@pytest.mark.parametrize("lines", [[], ["# a text", "of something else"], ['{"dir": "up", "t": 0, "frame": {}}']])
def test_what_is_no_recording_is_refused_with_how_one_is_made(lines: list[str]) -> None:
    with pytest.raises(RequestError, match="--record FILE"):
        read_recordings(lines)
