"""Requests find their answers, and pieces of a text are one row."""

from __future__ import annotations

from typing import Any

from acp_adapter.cli.inspect.recordings import Recording, Row, hint, read_recordings, text_of
from tests.support.recordings import sample_lines


def rows() -> dict[int, Row]:
    (recording,) = read_recordings(sample_lines()).recordings
    return {row.place: row for row in recording.rows}


def rows_of(*entries: tuple[str, dict[str, Any]]) -> list[Row]:
    recording = Recording()
    for way, told in entries:
        recording.add({"dir": way, "t": 0.0, **told})
    return recording.rows


def test_ids_belong_to_whoever_asked() -> None:
    """Both sides number their own requests, so the same id is in use twice at a time."""
    found = rows()
    prompt, asked = found[5], found[10]
    assert (prompt.name, prompt.partner, found[15].name, found[15].partner) == (
        "session/prompt",
        15,
        "session/prompt",
        5,
    )
    assert (asked.name, asked.partner, found[11].partner) == ("session/request_permission", 11, 10)
    assert asked.took == 7.0


def test_an_id_that_is_used_again_is_another_request() -> None:
    messages = [
        ("out", {"id": 1, "method": "a"}),
        ("in", {"id": 1, "result": {}}),
        ("out", {"id": 1, "method": "b"}),
        ("in", {"id": 1, "error": {"code": 1, "message": "no"}}),
    ]
    found = rows_of(*((way, {"frame": said}) for way, said in messages))
    assert [(row.kind, row.name, row.partner) for row in found] == [
        ("request", "a", 2),
        ("answer", "a", 1),
        ("request", "b", 4),
        ("error", "b", 3),
    ]


def test_pieces_of_a_text_are_one_row_with_all_of_it() -> None:
    row = rows()[6]
    assert len(row.messages) == 3
    assert text_of(row) == "I look at </script><img src=x onerror=alert(1)>"
    assert hint(row).startswith("agent_message_chunk ×3: I look at")


def test_what_was_not_answered_and_what_answered_nothing_is_found() -> None:
    found = rows()
    assert [row.name for row in found.values() if row.kind == "request" and not row.partner] == ["session/list"]
    assert [place for place, row in found.items() if row.name == "answer to nothing"] == [17]


def test_every_sort_of_row_says_what_it_is_about() -> None:
    said = {place: hint(row) for place, row in rows().items()}
    assert said[3] == '{"cwd": "/srv"}'
    assert said[9].startswith('{"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Edit sums.py"')
    assert "The disk is full." in said[13]
    assert (said[14], said[15]) == ("a print of somebody's", '{"stopReason": "end_turn"}')


def test_an_empty_line_that_was_no_message_is_shown_as_that() -> None:
    (row,) = rows_of(("in", {"line": ""}))
    assert row.kind == "stray"
