"""The prompts of a batch are read whole before anything is begun; what is wrong names its line."""

import json
from pathlib import Path

import pytest

from agent_core.batch.batch import BatchError, Item, read_items
from tests.support.each import each


def test_a_line_is_an_object_or_a_text_and_empty_ones_are_passed_over(tmp_path):
    (tmp_path / "there").mkdir()
    lines = [
        json.dumps({"id": "a", "prompt": "one", "cwd": "there", "model": "openai:gpt", "tag": 7}),
        "",
        '"two"',
        '{"prompt": "three"}',
    ]
    assert read_items(lines, "p", tmp_path) == [
        Item("a", "one", tmp_path / "there", "openai:gpt", {"tag": 7}),
        Item("3", "two", tmp_path),
        Item("4", "three", tmp_path),
    ]


def test_without_a_directory_there_is_none_yet():
    (item,) = read_items(['"one"'], "p")
    assert item.cwd is None


def test_another_prompt_directory_or_model_is_another_item_another_remark_is_not():
    same = [Item("a", "x"), Item("a", "x", more={"tag": 1})]
    others = [Item("a", "y"), Item("a", "x", Path("/srv")), Item("a", "x", model="openai:gpt")]
    assert len({item.digest for item in same}) == 1
    assert len({item.digest for item in (*same, *others)}) == 4


@each(
    ("lines", "words"),
    [
        ([], "p has no prompts"),
        (['"one"', "{broken"], "p, line 2: not JSON"),
        (["[1]"], "line 1: an object or a text is wanted, not list"),
        (['{"promt": "x"}'], 'line 1: it has no "prompt"'),
        (['{"prompt": 5}'], '"prompt" must be a text, not int'),
        (['{"prompt": "x", "id": "../up"}'], "the id '../up' must be"),
        (['{"prompt": "x", "id": "a"}', '{"prompt": "y", "id": "a"}'], "line 2: the id 'a' is taken"),
        (['{"prompt": "x", "cwd": "/nowhere/at/all"}'], "there is no directory '/nowhere/at/all'"),
        (['{"prompt": "x", "model": "gpt"}'], "provider:model, not 'gpt'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(lines, words):
    with pytest.raises(BatchError) as raised:
        read_items(lines, "p")
    assert words in raised.value.public
