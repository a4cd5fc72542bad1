"""A file's change as lines."""

import random

import pytest

from acp_adapter.export.diffs import change_of
from tests.support.each import each

TEN = "".join(f"{number}\n" for number in range(10))


def test_a_change_has_three_lines_around_it():
    assert change_of(TEN, TEN.replace("5\n", "five\n")).unified() == (
        "@@ -3,7 +3,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    )


def test_changes_far_apart_are_hunks_of_their_own():
    many = "".join(f"{number}\n" for number in range(30))
    change = change_of(many, many.replace("2\n", "two\n", 1).replace("25\n", ""))
    assert [[line.sign for line in hunk].count(" ") for hunk in change.hunks] == [5, 6]
    assert (change.added, change.removed) == (1, 2)


@each(
    ("before", "after", "made"),
    [
        (None, "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"),
        ("a\n", None, "@@ -1,1 +0,0 @@\n-a\n"),
        ("a\n", "a\n", ""),
        (None, "", ""),
        ("a", "a\nb", "@@ -1,1 +1,2 @@\n a\n+b\n"),
        ("x\nx\n", "x\nx\nx\n", "@@ -1,2 +1,3 @@\n x\n x\n+x\n"),
    ],
)
def test_new_deleted_and_unchanged_files(before, after, made):
    assert change_of(before, after).unified() == made


def test_every_removed_and_added_line_is_told_with_its_place():
    dice = random.Random(7)
    for _ in range(300):
        before, after = ([dice.choice("abc") for _ in range(dice.randrange(12))] for _ in range(2))
        change = change_of("".join(f"{line}\n" for line in before), "".join(f"{line}\n" for line in after))
        lines = [line for hunk in change.hunks for line in hunk]
        gone = {line.old - 1: line.text for line in lines if line.sign == "-"}
        new = {line.new - 1: line.text for line in lines if line.sign == "+"}
        kept = [line for place, line in enumerate(before) if place not in gone]
        assert kept == [line for place, line in enumerate(after) if place not in new]
        assert all(before[place] == text for place, text in gone.items())
        assert all(after[place] == text for place, text in new.items())
        assert all(before[line.old - 1] == after[line.new - 1] == line.text for line in lines if line.sign == " ")


@pytest.mark.timeout(10)
def test_two_long_texts_that_share_nothing_take_no_time():
    before = "".join(f"{number}\n" for number in range(20_000))
    change = change_of(before, before.replace("\n", "x\n"))
    assert (change.added, change.removed) == (20_000, 20_000)
