"""The text of a memory file: what is not changed stays, byte for byte."""

from __future__ import annotations

import random

import pytest

from agent_core.memory.store import changed, entries_of, used
from tests.support.each import each
from tools.memory_port import MemoryOperation, MemoryRefused


def add(content):
    return MemoryOperation("add", content)


def replace(old, content):
    return MemoryOperation("replace", content, old)


def remove(old):
    return MemoryOperation("remove", "", old)


def texts(text):
    return [entry.text for entry in entries_of(text)]


@each(
    ("text", "entries"),
    [
        ("", []),
        ("\n \n", []),
        ("§", []),
        ("one", ["one"]),
        ("one\n§\ntwo", ["one", "two"]),
        ("\ufeffone\r\n§\r\ntwo\r\nlines\r\n", ["one", "two\nlines"]),
        ("§\none\n§\n\n§\n two \n§\n", ["one", "two"]),
        ("costs 5 § each\n§ not alone", ["costs 5 § each\n§ not alone"]),
    ],
)
def test_entries_stand_between_lines_that_hold_only_the_sign(text, entries):
    assert texts(text) == entries


@each(
    ("text", "operation", "after"),
    [
        ("", add("one"), "one\n"),
        ("§", add("one"), "§\none\n"),
        ("one", add("two"), "one\n§\ntwo"),
        ("  one  \n\n", add("two"), "  one\n§\ntwo  \n\n"),
        ("one\r\n§\r\ntwo\r\n", add("a\nb"), "one\r\n§\r\ntwo\r\n§\r\na\r\nb\r\n"),
        ("one\n§\n", add("two"), "one\n§\ntwo\n§\n"),
        ("one\n§\ntwo\n§\n three\n", replace("tw", "2"), "one\n§\n2\n§\n three\n"),
        (" one\n§\ntwo\n§\nthree\n", remove("one"), " two\n§\nthree\n"),
        ("one\n§\ntwo\n§\nthree\n", remove("two"), "one\n§\nthree\n"),
        ("one\n§\ntwo\n\n", remove("two"), "one\n\n"),
        ("one\n", remove("one"), "\n"),
        ("one  two\n", add("one two"), "one  two\n"),
        ("one\n§\ntwo\n", replace("two", "one"), "one\n"),
        ("a\n§\na\n", remove("a"), "a\n"),
        ("make\n§\nmake test\n", remove("make"), "make test\n"),
    ],
)
def test_a_step_changes_its_entry_and_nothing_else(text, operation, after):
    assert changed(text, [operation]) == after


def test_a_part_that_two_entries_hold_is_answered_with_both():
    with pytest.raises(MemoryRefused) as refused:
        changed("use tabs\n§\nuse spaces\n", [remove("use")])
    assert "2 entries" in str(refused.value)
    assert "- use tabs\n- use spaces" in str(refused.value)


def test_a_batch_sees_its_own_steps_and_names_the_one_that_fails():
    assert changed("", [add("one"), replace("one", "two"), add("three"), remove("two")]) == "three\n"
    with pytest.raises(MemoryRefused, match=r"Operation 2 of 2: No entry holds 'x'"):
        changed("a\n", [add("one"), remove("x")])


def test_whatever_a_file_holds_steps_keep_the_other_entries_as_they_are():
    dice = random.Random(7)
    for _ in range(400):
        pieces = [dice.choice(["a", "b b", " c\n d", "e § e", "", " "]) + str(number) for number in range(4)]
        text = dice.choice(["", "\ufeff", "\n"]) + dice.choice(["\n§\n", "\r\n §\r\n"]).join(pieces)
        before = texts(text)
        one = dice.choice(before)
        assert texts(changed(text, [add("new")])) == [*before, "new"]
        assert texts(changed(text, [remove(one)])) == [entry for entry in before if entry != one]
        assert texts(changed(text, [replace(one, "new")])) == ["new" if entry == one else entry for entry in before]


def test_what_stands_between_entries_counts_too():
    assert used(["one", "two"]) == len("one\n§\ntwo")
    assert used(entries_of(" one \r\n§\r\ntwo\n")) == len("one\n§\ntwo")
