"""Texts in columns of a terminal."""

from __future__ import annotations

from acp_adapter.cli.console import clipped, columns, wrapped
from tests.support.each import each


@each(
    ("text", "room", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301" * 4, 4, "e\u0301" * 4),
        ("abcd\u0301", 3, "ab…"),
        ("abc", 0, "…"),
    ],
)
def test_what_has_no_room_is_cut_by_columns(text, room, shown):
    assert clipped(text, room, "…") == shown


def test_a_title_of_a_megabyte_is_cut_as_a_short_one_is():
    assert clipped("字" * 500_000, 5, "…") == "字字…"


@each(
    ("text", "lines"),
    [
        ("one two three", ["- one two", "  three"]),
        ("日本語の文章 と", ["- 日本語の", "  文章 と"]),
        ("averylongword is whole", ["- averylongword", "  is whole"]),
        ("  kept  blanks", ["-   kept", "  blanks"]),
        ("", []),
    ],
)
def test_words_are_wrapped_by_columns(text, lines):
    assert wrapped(text, 10, "- ", "  ") == lines


def test_words_that_have_no_room_are_broken_where_that_is_wanted():
    lines = wrapped("go: averylongwordindeed 日本語の文章です ok", 10, "- ", "  ", breaks_words=True)
    assert "".join(line[2:] for line in lines).replace(" ", "") == "go:averylongwordindeed日本語の文章ですok"
    assert max(map(columns, lines)) == 10
