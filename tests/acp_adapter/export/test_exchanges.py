"""Requests find their answers, and pieces of a text are one row."""

from __future__ import annotations

from acp_adapter.cli.inspect.recordings import (
    Frame,
    Row,
    hint,
    read_recordings,
    rows_of,
    text_of,
    unanswered,
)
from tests.support.recordings import sample_lines


def rows() -> dict[int, Row]:
    (recording,) = read_recordings(sample_lines()).recordings
    return {row.first.place: row for row in rows_of(recording.frames)}


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
    assert found[11].session == "s1"


def test_an_id_that_is_used_again_is_another_request() -> None:
    messages = [
        ("out", {"id": 1, "method": "a"}),
        ("in", {"id": 1, "result": {}}),
        ("out", {"id": 1, "method": "b"}),
        ("in", {"id": 1, "error": {"code": 1, "message": "no"}}),
    ]
    frames = [Frame.of(place, way, float(place), said) for place, (way, said) in enumerate(messages, 1)]  # type: ignore[arg-type]
    assert [(row.kind, row.name, row.partner) for row in rows_of(frames)] == [
        ("request", "a", 2),
        ("answer", "a", 1),
        ("request", "b", 4),
        ("error", "b", 3),
    ]


def test_pieces_of_a_text_are_one_row_with_all_of_it() -> None:
    row = rows()[6]
    assert len(row.frames) == 3
    assert text_of(row) == "I look at </script><img src=x onerror=alert(1)>"
    assert hint(row).startswith("agent_message_chunk ×3: I look at")


def test_what_was_not_answered_and_what_answered_nothing_is_found() -> None:
    found = rows()
    assert [row.name for row in unanswered(tuple(found.values()))] == ["session/list"]
    assert [place for place, row in found.items() if row.name == "answer to nothing"] == [17]


def test_every_sort_of_row_says_what_it_is_about() -> None:
    said = {place: hint(row) for place, row in rows().items()}
    assert (said[1], said[2], said[3], said[4]) == ("an editor", "hermes-acp", "/srv", "s1")
    assert (said[5], said[9], said[10]) == ("Mend it.", "tool_call: pending Edit sums.py", "Edit sums.py")
    assert (said[11], said[12], said[13]) == ("selected once", "/srv/sums.py", "The disk is full.")
    assert (said[14], said[15]) == ("a print of somebody's", "end_turn")


def test_an_empty_line_that_was_no_message_is_shown_as_that() -> None:
    (row,) = rows_of([Frame.of(1, "in", 0.0, None, "")])
    assert row.kind == "stray"
