"""What is left of text that would steer a terminal, and how it is told where nothing may be missing."""

from __future__ import annotations

from acp_adapter.format import one_line, safe_text, visible_line, visible_text
from tests.support.each import each


def test_a_command_to_the_terminal_ends_with_its_line_whatever_it_says():
    assert safe_text("a\x1b]0;x\nimport os\n\x07b") == "a0;x\nimport os\nb"
    assert safe_text("a\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\") == "alink"


@each(
    ("text", "seen"),
    [
        ("ls \x1b];rm -rf ~\x07", "ls \\x1b];rm -rf ~\\x07"),
        ("a\u202eb\u200bc\u2028d\ufeff", "a\\u{202e}b\\u{200b}c\\u{2028}d\\u{feff}"),
        ("hidden \U000e0041", "hidden \\u{e0041}"),
        ("a\r\nb\rc\td", "a\nb\\x0dc\td"),
        ("naïve 日本 👩\u200d🚀", "naïve 日本 👩\u200d🚀"),
    ],
)
def test_what_is_not_seen_is_told_by_its_number(text, seen):
    assert visible_text(text) == seen


def test_all_lines_are_one_where_none_may_be_missing():
    assert visible_line("Allow\n  and always\tthe rest") == "Allow and always the rest"


def test_a_line_has_no_tabs_whose_width_nobody_knows():
    assert one_line("a\tb\nc") == "a b ..."
