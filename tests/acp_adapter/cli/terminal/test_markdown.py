"""Markdown as a terminal shows it, as it comes."""

from __future__ import annotations

import io
import itertools
import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from acp_adapter.cli.console import Style, columns
from acp_adapter.cli.markdown import Message
from acp_adapter.cli.transcript import Screen
from tests.support.each import each
from tests.support.screen import screen_of
from tests.support.terminal_snapshots import MARKDOWN

COLOURED = Style(colour=True, signs=True, live=True, columns=lambda: 40)
PLAIN = Style(signs=True, live=True, columns=lambda: 40)
ASCII = Style(live=True, columns=lambda: 40)


def shown(*pieces, style=COLOURED):
    message, out = Message(style), io.StringIO()
    screen = Screen(out, style)
    for piece in pieces:
        screen.show(message.feed(piece), message.tail)
    screen.show(message.finish())
    return out.getvalue().removesuffix("\n")


def words(*pieces, style=COLOURED):
    """What stands there in the end, without the looks."""
    return screen_of(shown(*pieces, style=style))


def look(text):
    """The text with the looks as tags; neighbours of one look are one."""
    tagged = re.sub(r"\x1b\[([0-9;]+)m(.*?)\x1b\[0m", r"<\1:\2>", shown(text, style=Style(colour=True, live=True)))
    return re.sub(r"<([0-9;]+):([^<>]*)><\1:", r"<\1:\2", tagged)


@each(
    ("text", "seen"),
    [
        ("**b** *i* __b__ _i_ ***bi***", "<1:b> <3:i> <1:b> <3:i> <3;1:bi>"),
        ("**bold with *italic* in it**", "<1:bold with ><1;3:italic><1: in it>"),
        ("*italic with **bold** in it*", "<3:italic with ><3;1:bold><3: in it>"),
        ("`a **b** _c_` ``x`y``", "<36:a **b** _c_> <36:x`y>"),
        ("**`code`**", "<1;36:code>"),
        ("~~old~~", "<9:old>"),
        ("a*b*c", "a<3:b>c"),
        ("snake_case_name __init__.py", "snake_case_name <1:init>.py"),
        ("2 * 3 * 4, **kwargs, *args", "2 * 3 * 4, **kwargs, *args"),
        ("`open and **open", "`open and **open"),
        (r"\*no\* \`no\` C:\dir", r"*no* `no` C:\dir"),
        ("[text](https://x.org/a_(b)) [x] [y] z", "<4:text><2: (https://x.org/a_(b))> [x] [y] z"),
        ("[https://x.org](https://x.org)", "<4:https://x.org>"),
        ("[](https://x.org) ![pic](p.png)", "<4:https://x.org> <4:pic><2: (p.png)>"),
        ("<https://x.org> <b> a < b", "<4:https://x.org> <b> a < b"),
        ("# One\n## Two #\n### Three\n#no", "<1;4:One>\n<1:Two>\n<1;3:Three>\n#no"),
        ("- a\n  + b\n1) c", "<36:-> a\n  <36:-> b\n<36:1)> c"),
        (
            "```diff\n+a\n-b\n c\n```",
            "<2:-- diff -------------------------------->\n<32:+a>\n<31:-b>\n c\n<2:" + "-" * 40 + ">",
        ),
    ],
)
def test_marks_become_looks(text, seen):
    assert look(text) == seen


def test_without_colours_the_marks_in_lines_stay():
    text = "# A\n\n**b** `c` [d](e) \\* <https://x.org>\n- f\n"
    assert shown(text, style=PLAIN) == "# A\n\n**b** `c` [d](e) \\* <https://x.org>\n• f"


def test_without_signs_there_is_nothing_beyond_ascii():
    assert shown("- a\n> b\n\n|a|b|\n|-|-|\n|c|d|\n\n---\n```\nx\n```\n", style=ASCII).isascii()


def test_a_paragraph_is_wrapped_between_words_and_goes_on_under_its_beginning():
    text = "- " + "word " * 12 + "\n\n> " + "word " * 12
    assert words(text).splitlines() == [
        "• " + " ".join(["word"] * 7),
        "  " + " ".join(["word"] * 5),
        "",
        "│ " + " ".join(["word"] * 7),
        "│ " + " ".join(["word"] * 5),
    ]


def test_a_word_that_is_longer_than_the_window_is_left_whole_to_be_copied():
    address = "https://example.org/" + "x" * 60
    assert f"\n{address}\nand" in words(f"See\n{address}\nand more")


def test_wide_signs_take_two_columns_and_break_anywhere():
    lines = words("日本語" * 20 + "。").splitlines()
    assert [columns(line) for line in lines] == [40, 40, 40, 2]


def test_lines_stay_lines_and_empty_ones_are_one():
    assert words("a\nb\n\n\n\nc\n") == "a\nb\n\nc"


def test_code_is_shown_as_it_is_whatever_stands_in_it():
    code = "    x = **1**  # " + "long " * 20 + "\n\n\n| a |\n~~~\n"
    assert f"\n{code}────" in words(f"```python\n{code}```\nend")


def test_code_in_a_list_loses_its_indent_and_what_is_not_closed_is_closed():
    assert words("- a:\n  ```\n  one\n    two\n").splitlines()[2:] == ["one", "  two", "─" * 40]


def test_a_table_that_is_none_or_has_no_room_is_shown_as_it_was_written():
    assert words("| a | b |\nno table\n") == "| a | b |\nno table"
    wide = "|" + "a|" * 30 + "\n|" + "-|" * 30 + "\n"
    assert words(wide) == wide.strip()


def test_a_tables_columns_share_the_window_and_stand_as_it_says():
    table = "|l|c|r|\n|:-|:-:|-:|\n|" + "word " * 12 + "|mid|9|\n|x|"
    lines = words(table).splitlines()
    assert {columns(line) for line in lines[1:2]} == {40}
    assert max(map(columns, lines)) == 40
    assert lines[2].endswith("│ mid │ 9")


def test_what_comes_is_shown_at_once_and_final_once_another_block_follows():
    message = Message(COLOURED)
    assert (message.feed("Hel"), message.tail) == ([], ["Hel"])
    assert (message.feed("lo\nyou **bo"), message.tail) == ([], ["Hello", "you **bo"])
    assert (message.feed("ld**"), message.tail) == ([], ["Hello", "you \x1b[1mbold\x1b[0m"])
    assert (message.feed("\n\nnext\n"), message.tail) == (["Hello", "you \x1b[1mbold\x1b[0m"], ["", "next"])
    assert message.finish() == ["", "next"]


def test_a_table_is_shown_when_it_has_ended():
    message = Message(PLAIN)
    assert (message.feed("A table:\n\n| a | b |\n|--|--|\n| c | d |\n"), message.tail) == (["A table:"], [])
    assert message.feed("\nand\n") == ["", "a │ b", "──┼──", "c │ d"]


def test_only_what_has_changed_and_is_in_the_window_is_drawn_again():
    out = io.StringIO()
    screen = Screen(out, Style(live=True, columns=lambda: 40, rows=lambda: 5))
    screen.show([], [f"line {number}" for number in range(20)])
    screen.show([], [*(f"line {number}" for number in range(19)), "line x"])
    assert out.getvalue().endswith("line 19\n\r\x1b[1A\x1b[Jline x\n")
    screen.show(["other"], [])
    assert [int(up) for up in re.findall(r"\x1b\[(\d+)A", out.getvalue())] == [1, 4]


def test_nothing_that_is_held_is_lost_when_the_message_ends():
    for text in ("#", "**", "- ", "1.", "> ", "```", "| a", "a [b", "a `b", "`", "<h", "***x", "a \\"):
        assert words(text).replace("•", "-").strip("─ \n").replace("│", ">")[:1] in {text.strip()[:1], "", "c"}


def pieces(text, cuts):
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in itertools.pairwise(places)]


_MARKED = st.text(alphabet="ab *_`~[]()!<>#|-+1.\\\n:/h日", max_size=60)


@settings(max_examples=150, deadline=None)
@given(_MARKED, st.lists(st.integers(0, 10_000), max_size=8))
@example(MARKDOWN, list(range(0, len(MARKDOWN), 3)))
@example(MARKDOWN, list(range(len(MARKDOWN))))
def test_how_a_message_is_cut_into_pieces_does_not_matter(text, cuts):
    for style in (COLOURED, PLAIN):
        assert words(*pieces(text, cuts), style=style) == words(text, style=style)


@each("text", ["a&#27;[2Jb", "[x](a&#13;b&#x1b;c)", "&#8238;x", "```a&#27;b\n```", "<http://a&#7;b>"])
def test_a_character_written_as_its_number_steers_no_terminal(text):
    for style in (COLOURED, PLAIN):
        assert not set(shown(text, style=style).replace("\x1b[", "")) & set("\x1b\r\x07\u202e")


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab \n", max_size=80))
def test_plain_words_are_all_there_in_their_order(text):
    assert words(text).split() == text.split()


@each("piece", ["_a ", "*_", "[", "[x](", "`a``b", "> ", "|", "<http://", "\\", "![", "- ", "|a|b\n", "9"])
def test_no_text_takes_for_ever(piece):
    """The test's own time limit is the judge: what is read again and again would take minutes."""
    text = piece * (5_000 // len(piece))
    assert shown(*(text[at : at + 20] for at in range(0, len(text), 20))) or piece == "> "
