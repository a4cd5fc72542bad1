"""Corpora that nobody ran, most by people who had not seen the classifier; `docs/security.md` tells which."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_corpus import at_home, judge, load_file
from tests.support.each import each

_FOLDER = Path(__file__).parents[2] / "data" / "commands_not_run"


@pytest.mark.long
@each("path", sorted(_FOLDER.glob("*.yaml")))
def test_each_is_judged_as_its_label_says(path: Path) -> None:
    with at_home():
        verdicts = judge(load_file(path))
    assert verdicts
    wrong = [each for each in verdicts if each.is_missed or (each.is_false_alarm and not each.is_unread)]
    assert [str(each) for each in wrong] == []
