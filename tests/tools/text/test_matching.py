"""Finding text, and the lines that come closest to text that is not there."""

from __future__ import annotations

import itertools

import pytest

from tests.support.each import each
from tools.text.matching import (
    closest_piece,
    closest_regions,
    compact_diff,
    describe_difference,
)


def long_file() -> list[str]:
    return [f"    value_{n} = compute(item_{n % 97}, {n % 31})" for n in range(30_000)]


def test_the_region_with_other_indentation_is_found_deep_in_a_long_file():
    lines = long_file()
    needle = "\n".join(line.replace("    ", "\t") for line in lines[20_000:20_005])
    region = closest_regions("\n".join(lines), needle)[0]
    assert (region.first, region.lines) == (20_001, tuple(lines[20_000:20_005]))
    assert len(region.differences) == 5


def test_the_region_with_one_line_misspelt_is_found():
    lines = long_file()
    wrong = [*lines[500:503], lines[503].replace("compute", "conpute"), *lines[504:507]]
    region = closest_regions("\n".join(lines), "\n".join(wrong))[0]
    assert region.first == 501
    assert len(region.differences) == 1
    assert region.differences[0].startswith("line 504: ")


def test_a_single_misspelt_line_is_found():
    text = "import os\n\n\ndef process_data(rows):\n    return rows\n"
    region = closest_regions(text, "def procces_data(rows):")[0]
    assert region.first == 4


def test_a_line_left_out_is_named():
    text = "def f():\n    first = 1\n    second = 2\n    third = 3\n    return first\n"
    region = closest_regions(text, "def f():\n    first = 1\n    third = 3\n    return first")[0]
    assert (region.first, region.lines[2], region.differences) == (1, "    second = 2", ("you left out line 3",))


def test_at_most_three_regions_come_and_none_overlap():
    block = "def handler(event):\n    return event.value\n"
    regions = closest_regions("\n".join([block] * 6), "def handler(event):\n  return event.value")
    assert len(regions) == 3
    firsts = sorted(region.first for region in regions)
    assert all(later - earlier >= 2 for earlier, later in itertools.pairwise(firsts))


@pytest.mark.parametrize("needle", ["", "\n\n", "   "])
def test_blank_text_resembles_nothing(needle: str):
    assert closest_regions("a\n\nb\n", needle) == []


def test_an_empty_file_resembles_nothing():
    assert closest_regions("", "def f():") == []


@each(
    ("wrote", "has", "reason"),
    [
        ("    x", "\tx", "indented with 1 tab, not 4 spaces"),
        ("x", "  x", "indented with 2 spaces, not nothing"),
        ("x", "x  ", "white space at the end"),
        ("x", "x\r", "Windows line ending"),
        ("a  =  1", "a = 1", "spaces within the line"),
        ("say('x')", 'say("x")', "kind of quotes"),
        ("Name", "name", "upper and lower case"),
        ("a - b", "a – b", "look-alike characters"),
        ("a b", "a\u00a0b", "spaces within the line"),
        (r"print(\"x\")", 'print("x")', "escapes"),
    ],
)
def test_the_kind_of_difference_is_named(wrote: str, has: str, reason: str):
    assert describe_difference(wrote, has).endswith(f"({reason})")


def test_other_text_is_told_as_it_was_written_for_the_files_is_shown():
    assert describe_difference("    one", "two") == "you wrote '    one'"


def test_lines_that_are_not_of_the_place_are_not_shown():
    text = "a = 1\n\ndef f():\n    first = 1\n    second = 2\n\ndef g():\n    pass\n"
    (region,) = closest_regions(text, 'def f():\n    """Doc."""\n    first = 1\n    second = 2\n')
    assert (region.first, len(region.lines)) == (3, 3)
    (told,) = region.differences
    assert told.endswith("which the file does not have before line 4")


def test_a_piece_of_a_long_line_is_found_with_its_columns():
    code = "".join(f'var a{n}=function(b,c){{return b.call(c,{n})+"x{n}"}};' for n in range(3000))
    text = f"short\n{code}\n"
    for needle in (
        'var a1500=function(b,c){return b.call(c,1500)+"y1500"}',
        'var a1500 = function(b, c) { return b.call(c, 1500) + "x1500" }',
        'var a1500=function(b,c){\n  return b.call(c,1500)+"x1500"\n}',
    ):
        piece = closest_piece(text, needle)
        assert piece is not None
        assert piece.text == 'var a1500=function(b,c){return b.call(c,1500)+"x1500"}'
        assert piece.line == 2
        assert code[piece.first - 1 : piece.last] == piece.text


@pytest.mark.parametrize("text", ["", "short\n", "x" * 1000, "word " * 1000])
def test_what_is_nowhere_is_no_piece_of_a_line(text: str):
    assert closest_piece(text, "another thing altogether") is None


def test_several_kinds_of_difference_are_all_named():
    assert describe_difference("  Name", "\tname ").endswith(
        "(indented with 1 tab, not 2 spaces, white space at the end, upper and lower case)"
    )


def test_a_diff_shows_two_lines_around_each_change_with_true_numbers():
    before = "".join(f"{n}\n" for n in range(1, 101))
    after = before.replace("50\n", "fifty\n").replace("90\n", "")
    assert compact_diff(before, after) == (
        "@@ -48,5 +48,5 @@\n 48\n 49\n-50\n+fifty\n 51\n 52\n@@ -88,5 +88,4 @@\n 88\n 89\n-90\n 91\n 92"
    )


def test_a_diff_of_a_long_line_shows_the_changed_characters():
    before = "a\n" + "x" * 5000 + "old" + "y" * 7000 + "\nb\n"
    diff = compact_diff(before, before.replace("old", "new"))
    kept = "[… 4920 characters]" + "x" * 80, "y" * 80 + "[… 6920 characters]"
    assert diff == f"@@ -1,3 +1,3 @@\n a\n-{kept[0]}old{kept[1]}\n+{kept[0]}new{kept[1]}\n b"


def test_a_diff_of_a_long_line_that_is_gone_shows_its_ends():
    diff = compact_diff("a\n" + "x" * 5000 + "y\n", "a\n")
    assert "[… 4602 characters]" in diff
    assert diff.endswith("xy")
    assert len(diff) < 500


def test_a_long_diff_is_cut_at_a_line_and_says_so():
    diff = compact_diff("a\n" * 500, "b\n" * 500, max_chars=100)
    assert diff.splitlines()[-1].startswith("[…")
    assert len(diff) < 140
