"""The text of a map stays within its tokens, and reads from the most important on."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from tools.outline.parsing import Definition, Outline
from tools.outline.ranking import BYTES_A_TOKEN, Ranked, rank, tell

pytest.importorskip("hypothesis", reason="needs hypothesis: pip install 'hermes-editor-agent[dev]'")
from hypothesis import given, settings
from hypothesis import strategies as st

names = st.text("abcdefgäß漢_", min_size=1, max_size=12)


quickly = settings(max_examples=40, deadline=None)


@st.composite
def outlines(draw: st.DrawFn) -> Outline:
    definitions: list[Definition] = []
    for index in range(draw(st.integers(0, 6))):
        parent = draw(st.integers(-1, index - 1))
        name = draw(names)
        definitions.append(Definition(name, "class", index + 1, parent, f"class {name}"))
    return Outline(tuple(definitions), draw(st.dictionaries(names, st.integers(1, 5), max_size=6)))


@quickly
@given(st.dictionaries(names.map(PurePath), outlines(), max_size=8), st.integers(1, 200), st.lists(names, max_size=3))
def test_a_map_never_takes_more_than_its_tokens(tree: dict[PurePath, Outline], tokens: int, focus: list[str]):
    told = tell(rank(tree, focus), tokens)
    assert len(told.text.encode()) <= tokens * BYTES_A_TOKEN


@quickly
@given(st.dictionaries(names.map(PurePath), outlines(), max_size=8), st.lists(names, max_size=3))
def test_with_room_for_all_all_is_told_in_the_order_of_the_text(tree: dict[PurePath, Outline], focus: list[str]):
    told = tell(rank(tree, focus), 100_000)
    assert told.definitions == sum(len(outline.definitions) for outline in tree.values())
    for part in _paragraphs(told.text):
        numbers = [int(line.partition("|")[0]) for line in part]
        assert numbers == sorted(numbers)


def test_what_stands_in_something_is_told_within_it():
    outer = Definition("Outer", "class", 1, -1, "class Outer")
    inner = Definition("Inner", "class", 2, 0, "class Inner")
    method = Definition("method", "function", 3, 1, "def method(self)")
    file = Ranked(PurePath("a.py"), Outline((outer, inner, method)), 1.0, (0.0, 0.0, 9.0))
    assert tell([file], 100).text == "a.py\n1|class Outer\n2|  class Inner\n3|    def method(self)"


def test_what_does_not_fit_leaves_its_room_to_what_does():
    long = Definition("long", "function", 1, -1, "def long(" + "x" * 90)
    short = Definition("short", "function", 2, -1, "def short()")
    file = Ranked(PurePath("a.py"), Outline((long, short)), 1.0, (9.0, 1.0))
    assert tell([file], 10).text == "a.py\n2|def short()"


def _paragraphs(text: str) -> list[list[str]]:
    parts: list[list[str]] = []
    for line in text.split("\n") if text else []:
        if line[:1].isdigit():
            parts[-1].append(line)
        else:
            parts.append([])
    return parts
