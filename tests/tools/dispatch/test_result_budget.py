"""What results may take of a model's window, and how those of one answer share it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.support.each import each
from tools.dispatch import AnswerShare, fitted, shortened
from tools.result import ShownText, ToolResult
from tools.settings import ToolSettings

LINES = "".join(f"line {number}\n" for number in range(1, 2001))


@each(
    ("window", "result", "answer"),
    [
        (None, 100_000, 200_000),
        (1_000_000, 100_000, 200_000),
        (200_000, 100_000, 200_000),
        (100_000, 60_000, 120_000),
        (32_000, 19_200, 38_400),
        (8_000, 8_000, 16_000),
        (4_096, 3_353, 5_617),
        (1, 3_200, 5_360),
    ],
)
def test_limits_follow_the_window_between_floor_and_setting(window: int | None, result: int, answer: int) -> None:
    settings = fitted(ToolSettings(), window)
    assert (settings.max_result_chars, settings.max_answer_chars) == (result, answer)


def test_what_is_set_is_never_exceeded() -> None:
    settings = fitted(ToolSettings(max_result_chars=500, max_answer_chars=700), 8_000)
    assert (settings.max_result_chars, settings.max_answer_chars) == (500, 700)


def test_a_page_of_a_file_fits_into_one_result() -> None:
    settings = fitted(ToolSettings(), 8_000)
    assert settings.read.max_line_chars <= settings.read.max_chars < settings.max_result_chars


def test_a_result_that_is_no_larger_than_its_part_is_never_cut() -> None:
    share = AnswerShare(9_000, 3)
    for _ in range(3):
        assert share.next_limit() >= 3_000
        share.took(3_000)


def test_what_a_short_result_leaves_goes_to_those_behind_it() -> None:
    share = AnswerShare(9_000, 3)
    share.took(1_000)
    assert share.next_limit() == 4_000
    share.took(0)
    assert share.next_limit() == 8_000


def test_every_result_says_something_however_many_there_are() -> None:
    share = AnswerShare(10_000, 100)
    assert share.next_limit() == 1_000


def test_what_is_cut_is_whole_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "outputs" / "call-1.txt"
    result = shortened(ToolResult(LINES), 1_000, file, 2_000)
    (saved,) = file.parent.iterdir()
    assert saved.read_text() == LINES
    assert f"lines are in {saved}: go on with read_file from line " in result.text
    assert result.text.startswith("line 1\n")
    assert result.text.endswith("line 2000\n")
    assert len(result.text) < 1_300


def test_a_second_cut_leads_to_the_file_of_the_first(tmp_path: Path) -> None:
    file = tmp_path / "call-1.txt"
    first = file.with_suffix(".result.txt")
    first.write_text(LINES)
    again = shortened(ToolResult(LINES[:5_000], (ShownText("x"),)), 1_000, file, 2_000)
    assert f"All of it is in {first}" in again.text
    assert first.read_text() == LINES


def test_a_file_that_the_tool_has_written_is_named(tmp_path: Path) -> None:
    result = replace(ToolResult(LINES), facts={"saved": {"path": "/outputs/c.txt", "size": 1}})
    assert "All of it is in /outputs/c.txt" in shortened(result, 1_000, tmp_path / "c.txt", 2_000).text
    assert list(tmp_path.iterdir()) == []


def test_without_a_place_to_save_the_cut_is_told_all_the_same() -> None:
    assert "too long together" in shortened(ToolResult(LINES), 1_000, None, 2_000).text


def test_a_result_that_fits_stays_as_it_is(tmp_path: Path) -> None:
    result = ToolResult(LINES)
    assert shortened(result, len(LINES), tmp_path / "c.txt", 2_000) is result
