"""Finding text, and the lines that come closest to text that is not there."""

from __future__ import annotations

import itertools

import pytest

from tools.text.matching import (
    closest_regions,
    compact_diff,
)


def long_file() -> list[str]:
    return [f"    value_{n} = compute(item_{n % 97}, {n % 31})" for n in range(30_000)]


def test_the_region_with_other_indentation_is_found_deep_in_a_long_file():
    lines = long_file()
    needle = "\n".join(line.replace("    ", "\t") for line in lines[20_000:20_005])
    region = closest_regions("\n".join(lines), needle)[0]
    assert (region.first, region.lines) == (20_001, tuple(lines[20_000:20_005]))


def test_the_region_with_one_line_misspelt_is_found():
    lines = long_file()
    wrong = [*lines[500:503], lines[503].replace("compute", "conpute"), *lines[504:507]]
    region = closest_regions("\n".join(lines), "\n".join(wrong))[0]
    assert region.first == 501


def test_a_single_misspelt_line_is_found():
    text = "import os\n\n\ndef process_data(rows):\n    return rows\n"
    region = closest_regions(text, "def procces_data(rows):")[0]
    assert region.first == 4


def test_a_line_left_out_is_shown():
    text = "def f():\n    first = 1\n    second = 2\n    third = 3\n    return first\n"
    region = closest_regions(text, "def f():\n    first = 1\n    third = 3\n    return first")[0]
    assert (region.first, region.lines[2]) == (1, "    second = 2")


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


def test_lines_that_are_not_of_the_place_are_not_shown():
    text = "a = 1\n\ndef f():\n    first = 1\n    second = 2\n\ndef g():\n    pass\n"
    (region,) = closest_regions(text, 'def f():\n    """Doc."""\n    first = 1\n    second = 2\n')
    assert (region.first, len(region.lines)) == (3, 3)


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
