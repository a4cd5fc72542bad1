"""What is printed again and again is shortened, and never silently."""

from tests.support.each import each
from tools.text.terminal_output import shortened


def test_a_line_that_comes_often_is_counted():
    assert shortened("a\n" + "x\n" * 100 + "b\n") == "a\nx\n[… the same line 99 more times]\nb\n"


@each("text", ["", "x", "x\n" * 5, "a\nb\n" * 20, "".join(f"{number}\n" for number in range(100))])
def test_what_differs_or_is_short_stays(text):
    assert shortened(text) == text


def test_a_progress_shows_its_beginning_and_its_end():
    lines = [f" {share}% [{'#' * (share // 5):<20}] {share * 31} kB/s eta {100 - share}s" for share in range(101)]
    text = shortened("begin\n" + "\n".join(lines) + "\nend\n")

    assert text == f"begin\n{lines[0]}\n[… 99 lines of this progress left out]\n{lines[-1]}\nend\n"


@each(
    "lines",
    [
        [f"src/a{number}.py  {number * 3}  0  100%" for number in range(30)],
        [f"/dev/loop{number}  {number}% /snap/x{number}" for number in range(30)],
        [f"row {99 - number}%" for number in range(30)],
        [f"step {number} of the build" for number in range(30)],
        ["", "", "a", ""] * 10,
    ],
)
def test_tables_with_percentages_stay(lines):
    assert shortened("\n".join(lines)) == "\n".join(lines)
