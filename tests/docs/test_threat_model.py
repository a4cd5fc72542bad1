"""The threat model names code and tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.doc_links import DOCS

_PATHS = re.compile(r"`((?:acp_adapter|agent_core|scripts|tests|tools)/[\w./-]+|requirements\.lock)`")
_ENTRY = re.compile(r"^### (.+)$", re.MULTILINE)


def test_what_it_names_is_there() -> None:
    text = (DOCS / "threat-model.md").read_text("utf-8")
    root = Path(__file__).parents[2]
    assert [name for name in _PATHS.findall(text) if not (root / name).exists()] == []


def test_each_way_in_says_what_can_be_tried_what_holds_where_and_which_test_tries_it() -> None:
    comes_in = (DOCS / "threat-model.md").read_text("utf-8").partition("## What could get out")[0]
    titles, sections = _ENTRY.findall(comes_in), _ENTRY.split(comes_in)[2::2]
    for title, section in zip(titles, sections, strict=True):
        assert re.findall(r"^- \*\*(.+?)\*\*:", section, re.MULTILINE) == ["Can try", "Holds", "Code", "Tests"], title
