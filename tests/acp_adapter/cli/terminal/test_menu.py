"""Lists to choose from, in windows that are too low for them."""

from __future__ import annotations

from acp_adapter.cli.console import Style, columns
from acp_adapter.cli.terminal_input import Entry, Menu
from tests.support.each import each

MANY = [Entry(f"answer {number}") for number in range(500)]


def window(width: int, height: int) -> Style:
    return Style(live=True, columns=lambda: width, rows=lambda: height)


def test_what_has_room_is_all_shown():
    assert Menu(MANY[:7]).lines(window(40, 9), "hint") == ["    > answer 0"] + [
        f"      answer {number}" for number in range(1, 7)
    ] + ["    hint"]


@each("at", [0, 250, 499])
def test_of_more_than_the_window_holds_the_chosen_one_and_those_near_it_are_shown(at):
    lines = Menu(MANY, at=at).lines(window(40, 10), "hint")
    shown = [line for line in lines if "answer" in line]
    assert len(lines) < 10
    assert len(shown) == 6
    assert f"    > answer {at}" in lines
    above = int(shown[0].split()[-1])
    assert (f"({above} more above)" in " ".join(lines)) == (above > 0)
    assert (f"({494 - above} more below)" in " ".join(lines)) == (above < 494)


def test_names_in_wide_signs_are_broken_by_columns_and_all_there():
    lines = Menu([Entry("許可する" * 12)]).lines(window(40, 24), "hint")
    assert max(map(columns, lines)) <= 40
    assert "".join(line.strip(" >") for line in lines[:-1]) == "許可する" * 12
