"""Terminal output as plain text."""

import pytest

from tests.support.each import each
from tools.text.terminal_output import plain_text


@each(
    ("output", "expected"),
    [
        ("", ""),
        ("plain\n", "plain\n"),
        ("tab\tkept\n\nblank kept", "tab\tkept\n\nblank kept"),
        ("ünï ✓ 世界 🎉", "ünï ✓ 世界 🎉"),
        ("[brackets] stay \\ too", "[brackets] stay \\ too"),
    ],
)
def test_ordinary_text_stays_as_it_is(output, expected):
    assert plain_text(output) == expected


@each(
    ("output", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[1;38;5;208mbold\x1b[m", "bold"),
        ("\x1b[2K\x1b[1Aup", "up"),
        ("\x1b[?25lhidden\x1b[?25h", "hidden"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://a.b\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPdevice string\x1b\\text", "text"),
        ("\x1b(Btext\x1b=", "text"),
        ("\x9b31mred\x9b0m", "red"),
        ("cut at the end \x1b[3", "cut at the end "),
        ("cut at the end \x1b", "cut at the end "),
        ("\x1b]0;never ended\nnext line", "\nnext line"),
        ("\x1bPnever ended\nnext line", "\nnext line"),
        ("bell\x07 null\x00 delete\x7f", "bell null delete"),
    ],
)
def test_escape_sequences_and_control_characters_are_left_out(output, expected):
    assert plain_text(output) == expected


@each(
    ("output", "expected"),
    [
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        (" 10%\r 50%\r100%\n", "100%\n"),
        (" 10%\r 50%\r100%\r", "100%"),
        ("\r\x1b[K 10%\r\x1b[K 90%\ndone\n", " 90%\ndone\n"),
        ("a\rb\nc\rd\n", "b\nd\n"),
        ("\r\n", "\n"),
    ],
)
def test_a_line_written_over_and_over_shows_its_last_state(output, expected):
    assert plain_text(output) == expected


def test_overstruck_letters_show_once():
    assert plain_text("N\x08NA\x08AM\x08ME\x08E") == "NAME"


@pytest.mark.timeout(5)
@pytest.mark.parametrize("piece", ["\x1b[", "\x1b]", "\x1b[0;", "\r", "\x1bP", "x\x08", "\x1b"])
def test_hostile_output_takes_no_unreasonable_time(piece):
    assert len(plain_text(piece * 50_000)) <= len(piece) * 50_000
