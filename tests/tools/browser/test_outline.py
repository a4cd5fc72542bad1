"""A page's tree as models read it."""

from __future__ import annotations

from tests.support.each import each
from tools.browser.port import fields_with_values, outline, ref_of

TREE = """- generic [active] [ref=e1]:
  - heading "Hi" [level=1] [ref=e2]
  - generic [ref=e3]:
    - link "go" [ref=e4] [cursor=pointer]:
      - /url: /there
  - textbox "Secret" [ref=e5]: open sesame
  - textbox "Name" [ref=e6]: Ada
  - generic [ref=e7] [cursor=pointer]: clicky
  - iframe [ref=e8]:
    - button "in it" [ref=f1e2]"""


def test_only_what_can_be_used_has_a_reference():
    assert outline(TREE, 1000).text.splitlines() == [
        "- generic [active]:",
        '  - heading "Hi" [level=1]',
        '    - link "go" @e4:',
        "      - /url: /there",
        '  - textbox "Secret" @e5: open sesame',
        '  - textbox "Name" @e6: Ada',
        "  - generic @e7: clicky",
        "  - iframe:",
        '    - button "in it" @f1e2',
    ]


def test_what_is_secret_is_not_told():
    assert fields_with_values(TREE) == ("e5", "e6")
    told = outline(TREE, 1000, {"e5"}).text

    assert '- textbox "Secret" @e5: ••••' in told
    assert "sesame" not in told
    assert "Ada" in told


@each("limit", [0, 10, 40, 100, 250])
def test_it_is_cut_at_a_line_and_counts_what_is_left_out(limit):
    whole, part = outline(TREE, 10_000).text, outline(TREE, limit)
    lines = part.text.splitlines()

    assert len(part.text) <= limit
    assert whole.splitlines()[: len(lines)] == lines
    assert len(lines) + part.left_out == len(whole.splitlines())


def test_a_line_that_is_long_is_cut():
    assert len(outline(f"- text: {'x' * 5000}", 10_000).text) < 400


@each(
    ("given", "expected"),
    [("@e12", "e12"), ("e12", "e12"), (" @f1e2 ", "f1e2"), ("12", None), ("e5 >> css=a", None), ("", None)],
)
def test_references_are_nothing_but_references(given, expected):
    assert ref_of(given) == expected
