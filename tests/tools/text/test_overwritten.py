"""Text that comes in pieces, without what was written over."""

from tests.support.each import each
from tools.text.terminal_output import Overwritten


def settle(pieces, **limits):
    overwritten = Overwritten(**limits)
    return "".join([*(overwritten.settled(piece) for piece in pieces), overwritten.rest()])


@each(
    ("text", "expected"),
    [
        ("", ""),
        ("plain\ntext", "plain\ntext"),
        ("windows\r\nlines\r\n", "windows\r\nlines\r\n"),
        (" 1%\r 2%\r 3%\ndone\n", " 3%\ndone\n"),
        (" 1%\r 2%\r", " 2%\r"),
        ("a\rb\r\nc", "b\r\nc"),
        ("\r\r\n", "\r\n"),
        ("\r 1%\r\n", " 1%\r\n"),
    ],
)
def test_the_last_state_stays_however_the_text_is_cut(text, expected):
    assert settle([text]).replace("\r\n", "\n") == expected.replace("\r\n", "\n")
    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            settled = settle([text[:first], text[first:second], text[second:]])
            assert settled.replace("\r\n", "\n") == expected.replace("\r\n", "\n")


def test_an_endless_progress_takes_no_room():
    overwritten = Overwritten()
    passed = [overwritten.settled(f"\r{number:>6}%") for number in range(10_000)]

    assert "".join(passed) == ""
    assert overwritten.rest() == "  9999%"


def test_a_long_line_is_passed_on():
    overwritten = Overwritten(longest_line=10)

    assert overwritten.settled("x" * 11) == "x" * 11
    assert overwritten.rest() == ""
