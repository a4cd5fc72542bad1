"""Titles: one line, bounded, and nothing in them that shows another name than the real one."""

from __future__ import annotations

import pytest

from acp_adapter.tools import card_details, first_line, look_of, one_line, unmasked, unpadded
from tests.support.each import each

CWD = "/srv/project"


def _title(name: str, **arguments: object) -> str:
    return str(card_details(name, arguments, CWD)["title"])


@each(
    ("text", "line"),
    [
        ("a\nb", "a b"),
        ("a \r\n\t b\n", "a b"),
        ("a\u2028b\x85c", "a b c"),
        ("a  b", "a  b"),
        ("\x1b[31mred\x00\x07", "[31mred"),
        ("sums\u202egpj.py\u2066", "sumsgpj.py"),
        ("👩\u200d💻 **bold** `x` <b>", "👩\u200d💻 **bold** `x` <b>"),
        ("", ""),
    ],
)
def test_a_title_is_one_line_without_control_characters(text: str, line: str) -> None:
    assert one_line(text) == line


@pytest.mark.parametrize("length", [199, 200, 201, 5000])
def test_a_title_has_at_most_200_characters_and_shows_that_it_was_cut(length: int) -> None:
    title = _title("search_files", pattern="x" * length)
    assert len(one_line("x" * length)) == min(length, 200)
    assert (one_line("x" * length)[-1] == "…") == (length > 200)
    assert len(title) == 200
    assert one_line("x" * 198 + " yyy") == "x" * 198 + "…"
    assert title.endswith("…")


@each(
    ("command", "title"),
    [
        ("make test", "make test"),
        ("cat <<END > a\nsecond\nEND", "cat <<END > a …"),
        ("\n\n  make\n", "make"),
        ("make\r\n", "make"),
        ("printf 'a\tb'", "printf 'a b'"),
        ("  \n ", "?"),
        (7, "7"),
        (None, "?"),
        ("x" * 300 + "\ny", "x" * 199 + "…"),
    ],
)
def test_a_command_is_shown_by_its_first_line(command: object, title: str) -> None:
    assert _title("terminal", command=command) == title


def test_a_question_is_shown_by_its_first_line() -> None:
    assert _title("clarify", question="Which one?\nThis or that?") == "Which one? …"
    assert _title("clarify") == "Ask a question"


def test_what_a_path_hides_is_not_hidden_in_the_title() -> None:
    assert _title("patch", path="a\u202eyp.exe") == "Edit ayp.exe"
    assert _title("patch", path="a\nb.py") == "Edit a b.py"
    assert _title("patch", path="*_a_*.py") == "Edit *_a_*.py"


@each(
    ("name", "title"),
    [
        ("mcp__git__log", "git: log"),
        ("mcp__git-hub__create__issue", "git-hub: create__issue"),
        ("mcp__broken", "mcp__broken"),
        ("mcp____x", "mcp____x"),
        ("plugin__tool", "plugin__tool"),
        ("od\nd", "od d"),
        ("", "A tool"),
    ],
)
def test_a_tool_without_a_look_is_shown_by_its_name(name: str, title: str) -> None:
    assert _title(name) == look_of(name).waiting == title


def test_a_text_without_a_line_has_a_title_all_the_same() -> None:
    assert first_line(" \n\t", "nothing") == "nothing"


def test_what_is_to_be_allowed_is_shown_with_its_hidden_characters_written_out() -> None:
    assert unmasked("rm a\u202eb\n\tcd \x1b[8mx\r") == "rm a\\u202eb\n\tcd \\x1b[8mx\\r"


def test_a_patch_of_several_files_names_the_first_and_tells_how_many_more():
    patch = "*** Begin Patch\n*** Update File: a/b.py\n-x\n+y\n*** Add File: c.py\n+z\n*** End Patch"
    assert _title("patch", mode="patch", patch=patch) == "Edit a/b.py and 1 more"
    assert _title("patch", mode="patch", patch="*** Delete File: a.py") == "Edit a.py"
    assert _title("patch", patch="nothing") == "Edit ?"


def test_where_nothing_is_said_of_it_a_title_says_only_what_is_known() -> None:
    for everywhere in ("", "."):
        assert _title("search_files", pattern="x", path=everywhere) == "Search 'x'"
    assert _title("search_files") == "Search '?'"
    assert _title("read_file", path="a", offset=1) == "Read a"
    assert _title("read_file", path="a", offset=2) == "Read a from line 2"


@each(
    ("text", "shown"),
    [
        ("a" + " " * 39 + "b", "a" + " " * 39 + "b"),
        ("a" + " " * 40 + "b", "a [… 40 blanks …] b"),
        ("a" + "\n" * 5 + "b", "a" + "\n" * 5 + "b"),
        ("a" + "\n" * 6 + "b", "a\n[… 5 blank lines …]\nb"),
        ("a" + "\n  " * 6 + "\nb", "a\n[… 6 blank lines …]\nb"),
    ],
)
def test_room_that_would_hide_what_follows_is_counted(text: str, shown: str) -> None:
    assert unpadded(text) == shown
