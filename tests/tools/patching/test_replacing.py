"""Replacements that are not quite exact: what is safe is done and told, and never one of two places."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from tests.support.each import each
from tools.errors import ToolError
from tools.patching.replacing import Replacement, replaced


@dataclass(frozen=True)
class Case:
    """`old` becomes `new` in `text`. `after` None: it is refused. `told` is part of the note or of the error."""

    name: str
    text: str
    old: str
    new: str
    after: str | None
    told: str = ""
    every: bool = False


BLANKS, INDENT, ALIKE = "trailing blanks", "indentation", "look-alike"

DONE = (
    Case("exact within a line", "a = f(x)\n", "f(x)", "g(y)", "a = g(y)\n"),
    Case("exact is taken though others are alike", "  x\nx  \n\tx = 1\n", "\tx = 1", "y", "  x\nx  \ny\n"),
    Case("LF for CRLF", "a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n", "Windows"),
    Case("CRLF for LF", "a\nb\nc\n", "a\r\nb", "x\r\ny", "x\ny\nc\n", "Unix"),
    Case("from the end of one CRLF line", "a\r\nb\r\n", "\nb", "\nB", "a\r\nB\r\n", "Windows"),
    Case("over mixed endings", "a\r\nb\nc\r\n", "a\nb\nc", "a\nB\nc", "a\r\nB\r\nc\r\n", "line endings"),
    Case("new lines in a CRLF line", "a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n", "Windows"),
    Case("new CRLF lines in an LF file", "a\nb\n", "b", "b\r\nc", "a\nb\nc\n", "Unix"),
    Case("all pieces over both endings", "a\nb\n-\r\na\r\nb\r\n", "a\nb", "x\ny", "x\ny\n-\r\nx\r\ny\r\n",
         every=True),
    Case("a text without any ending", "ab", "b", "b\r\nc", "ab\r\nc"),
    Case("blanks that the file has", "a  \nb\t\nc\n", "a\nb\nc", "a\nB\nc", "a  \nB\nc\n", BLANKS),
    Case("blanks that were sent", "a\nb\n", "a \nb  ", "a\nB", "a\nB\n", BLANKS),
    Case("blanks at the end of one line", "a = 1\nb\n", "= 1  ", "= 2", "a = 2\nb\n", BLANKS),
    Case("blanks in a line that seems empty", "a\n    \nb\n", "a\n\nb", "a\n\nB", "a\n    \nB\n", BLANKS),
    Case("from within a line", "x = f(  \n  a)\ny\n", "f(\n  a)", "g(\n  a)", "x = g(\n  a)\ny\n", BLANKS),
    Case("less indentation", "  if a:\n    b\n", "if a:\n  b\n", "if a:\n  c\n  d\n", "  if a:\n    c\n    d\n",
         INDENT),
    Case("more indentation", "if a:\n  b\nc\n", "    if a:\n      b", "    if a:\n      d", "if a:\n  d\nc\n",
         INDENT),
    Case("tabs for spaces", "if a:\n    b\n", "if a:\n\tb", "if a:\n\tif c:\n\t\tb", "if a:\n    if c:\n        b\n",
         INDENT),
    Case("spaces for tabs", "\tif a:\n\t\tb\n", "    if a:\n        b", "    if a:\n        c", "\tif a:\n\t\tc\n",
         INDENT),
    Case("two spaces for four", "if a:\n    if b:\n        c\n", "if a:\n  if b:\n    c",
         "if a:\n  if b:\n    d\n    e",
         "if a:\n    if b:\n        d\n        e\n", INDENT),
    Case("one line with other indentation", "\treturn x\n", "    return x", "    return y", "\treturn y\n", INDENT),
    Case("the beginning of such a line", "\tcall(a, b)\n", "    call(a,", "    call(c,", "\tcall(c, b)\n", INDENT),
    Case("from within a line, with other indentation", "x = f(\n      a)\n", "f(\n  a)", "f(\n  b)",
         "x = f(\n      b)\n",
         INDENT),
    Case("indentation in a CRLF file", "  a\r\n    b\r\n", "a\n  b\n", "a\n  c\n", "  a\r\n    c\r\n", INDENT),
    Case("curly quotes", "say(“hi”)\n", 'say("hi")', 'say("you")', "say(“you”)\n", ALIKE),
    Case("dashes", "a – b — c\n", "a - b - c", "a - b - d", "a – b — d\n", ALIKE),
    Case("no-break spaces", "10\u00a0km and 5\u202fm\n", "10 km and 5 m", "10 km or 5 m", "10\u00a0km or 5\u202fm\n",
         ALIKE),
    Case("curly quotes that were sent", 'say("hi")\n', "say(“hi”)", "say(“you”)", 'say("you")\n', ALIKE),
    Case("look-alikes over lines", "“a”\n‘b’\nc\n", "\"a\"\n'b'\nc", "\"a\"\n'x'\nc", "“a”\n‘x’\nc\n", ALIKE),
    Case("look-alikes and indentation", "  “a”\n    b\n", '"a"\n  b', '"a"\n  c', "  “a”\n    c\n", ALIKE),
    Case("a line put between look-alikes", "“a”\n“b”\n", '"a"\n"b"', '"a"\n"n"\n"b"', '“a”\n"n"\n“b”\n', ALIKE),
    Case("no-break spaces as indentation", "if a:\n\u00a0\u00a0b\n", "if a:\n  b", "if a:\n  b\n  c",
         "if a:\n\u00a0\u00a0b\n  c\n", ALIKE),
)  # fmt: skip

NUMBERS, QUOTES, ESCAPES, ENTITIES = "line numbers", "backslashes before quotes", "as the characters", "&lt;"
NUMBERED = "def f():\n    return 1\n\ndef g():\n    return 2\n"

SLIPS = (
    Case(
        "escaped quotes around an apostrophe", 'print("fine")\n', r'print(\"fine\")', r'print(\"it\'s fine\")',
        'print("it\'s fine")\n', "backslashes before quotes",
    ),
    Case("line numbers in both", NUMBERED, "4|def g():\n5|    return 2", "4|def g():\n5|    x = 2\n6|    return x",
         "def f():\n    return 1\n\ndef g():\n    x = 2\n    return x\n", NUMBERS),
    Case("line numbers in the old text", NUMBERED, "2|    return 1\n3|\n", "    return 3\n\n",
         "def f():\n    return 3\n\ndef g():\n    return 2\n", NUMBERS),
    Case("one numbered line", NUMBERED, "5|    return 2", "5|    return 3",
         "def f():\n    return 1\n\ndef g():\n    return 3\n", NUMBERS),
    Case("padded line numbers", NUMBERED, "   4|def g():\n   5|    return 2\n", "   4|def h():\n   5|    return 2\n",
         "def f():\n    return 1\n\ndef h():\n    return 2\n", NUMBERS),
    Case("line numbers and other indentation", "\tx = 1\n\ty = 2\n", "1|    x = 1\n2|    y = 2",
         "1|    x = 1\n2|    y = 3", "\tx = 1\n\ty = 3\n", NUMBERS),
    Case("a table that has numbers", "1|a\n2|b\n", "1|a\n2|b", "1|a\n2|c", "1|a\n2|c\n"),
    Case("escaped quotes in both", 'say("a")\n', r'say(\"a\")', r'say(\"b\")', 'say("b")\n', QUOTES),
    Case("escaped quotes over lines", 'x = "a"\ny = "b"\n', 'x = \\"a\\"\ny = \\"b\\"', 'x = \\"c\\"\ny = 1',
         'x = "c"\ny = 1\n', QUOTES),
    Case("escaped quotes, and new ones that are not", 'say("a")\n', r'say(\"a\")', r'say("a \"b\"")',
         'say("a \\"b\\"")\n', QUOTES),
    Case("escaped quotes with others in them", 'say("a")\n', r'say(\"a\")', r'say(\"a \\\"b\\\"\")',
         'say("a \\"b\\"")\n', QUOTES),
    Case("escaped quotes beside an escape that is one", 'say("a")\n', r'say(\"a\")', r'say(\"b\n\")',
         'say("b\\n")\n', QUOTES),
    Case("escaped apostrophes", "say('a')\n", r"say(\'a\')", r"say(\'b\')", "say('b')\n", QUOTES),
    Case("escapes that the file has", 'say("\\"a\\"")\n', r'\"a\"', r'\"b\"', 'say("\\"b\\"")\n'),
    Case("escaped twice", 'if a:\n\tsay("b\\n")\n', r'if a:\n\tsay(\"b\\n\")', r'if a:\n\tsay(\"c\\n\")\n\treturn',
         'if a:\n\tsay("c\\n")\n\treturn\n', ESCAPES),
    Case("escaped backslashes", "re.compile(r'\\d+')\n", r"re.compile(r'\\d+')", r"re.compile(r'\\w+')",
         "re.compile(r'\\w+')\n", ESCAPES),
    Case("HTML's escapes", "if a < b && c:\n", "if a &lt; b &amp;&amp; c:", "if a &gt; b:", "if a > b:\n", ENTITIES),
    Case("HTML's escapes that the file has", "<p>a &lt; b</p>\n", "a &lt; b", "a &gt; b", "<p>a &gt; b</p>\n"),
    Case("escaped quotes in all places", 'f("a")\nf("a")\n', r'f(\"a\")', r'f(\"b\")', 'f("b")\nf("b")\n', QUOTES,
         every=True),
)  # fmt: skip

REFUSED = (
    Case("twice", "a\nb\na\n", "a", "x", None, "2 times (lines 1, 3)"),
    Case("overlapping", "aaa", "aa", "x", None, "2 times"),
    Case("twice with either ending", "a\nb\n-\r\na\r\nb\r\n", "a\nb", "x\ny", None, "2 times (lines 1, 4)"),
    Case("twice but for blanks", "a \nb\na\t\nb\n", "a\nb", "x", None,
         "trailing blanks it is in f 2 times (lines 1, 3)"),
    Case("twice but for indentation", " a\n b\n  a\n  b\n", "   a\n   b", "x", None,
         "indentation it is in f 2 times"),
    Case("twice but for quotes", "“a”\n‟a‟\n", '"a"', "x", None, "2 times (lines 1, 2)"),
    Case("all, but only alike", "“a” “a”\n", '"a"', "x", None, "2 times", every=True),
    Case("uneven indentation", "if a:\n   b\n     c\n", "if a:\n b\n  c", "if a:\n b\n  d", None, "not in f"),
    Case("indentation that cannot be known", "a:\n\tb\n", "    a:\n        b", "    a:\n      c\n        b", None,
         "not in f"),
    Case("less indentation than any that is known", "    a\n    b\n", "  a\n  b", "a\n  b", None, "not in f"),
    Case("other words", "alpha beta gamma\n", "alpha beta gamme", "x", None, "The closest:\n\n1|alpha"),
    Case("done before", "value = compute(3)\n", "value = compute(2)", "value = compute(3)", None, "line 1"),
    Case("line endings only", "a\r\nb\r\n", "a\r\nb", "a\nb", None, "line endings only"),
    Case("empty", "a\n", "", "x", None, "write_file"),
    Case("the same", "a\n", "a", "a", None, "the same"),
    Case("blanks only", "a\n\tb\n", "      ", "x", None, "not in f"),
    Case("line numbers", "a\nb\n", "1|a\n2|c", "x", None, "line numbers"),
    Case("line numbers of some new lines", "a\nb\n", "1|a\n2|b", "1|a\nc", None, "line numbers"),
    Case("line numbers out of order", "a\nb\n", "2|a\n1|b", "x", None, "not in f"),
    Case("a number of a table that is another", "3|food\n", "4|food", "4|bar", None, "not in f"),
    Case("escaped quotes twice", 'f("a")\nf("a")\n', r'f(\"a\")', "x", None,
         "Read without the backslashes before quotes: old_string is in f 2 times (lines 1, 2)"),
    Case("escaped line breaks, and one that is not", "a\nb\n", r"a\nb", "c\nd", None, "not in f"),
    Case("a line that stands for others", "def f():\n    one()\n    two()\n    return 1\n",
         "def f():\n    ...\n    return 1", "x", None, "`...` stands for others: write out all lines"),
    Case("an elision", "a\nb\nc\n", "a\n# ... existing code ...\nc", "x", None, "`# ... existing code ...` stands"),
)  # fmt: skip


def named(case: Case) -> str:
    return case.name


@each("case", DONE)
def test_what_is_safe_is_done_and_told(case: Case):
    made = replaced(case.text, [Replacement(case.old, case.new, every=case.every)], "f")
    assert made.text == case.after
    note = " ".join(made.notes)
    assert case.told in note
    assert bool(note) == bool(case.told)


@each("case", SLIPS)
def test_a_slip_of_the_model_is_read_as_it_was_meant_and_told(case: Case):
    made = replaced(case.text, [Replacement(case.old, case.new, every=case.every)], "f")
    assert made.text == case.after
    note = " ".join(made.notes)
    assert case.told in note
    assert bool(note) == bool(case.told)


@each("case", REFUSED)
def test_what_is_not_safe_is_refused_with_its_reason(case: Case):
    with pytest.raises(ToolError) as told:
        replaced(case.text, [Replacement(case.old, case.new, every=case.every)], "f")
    assert case.told in str(told.value)


NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "Text"]},
            {
                "cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [],
                "source": ["import os\n", 'x = "ä"\n', "if x:\n", "    print(x)"],
            },
        ],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
    },
    indent=1, ensure_ascii=False,
)  # fmt: skip


def cells(text: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(text)["cells"]]


@each(
    ("old", "new", "second"),
    [
        ('x = "ä"', 'x = "b"', 'import os\nx = "b"\nif x:\n    print(x)'),
        ('x = "ä"\nif x:\n    print(x)', "x = 1\nprint(x, '\\n')", "import os\nx = 1\nprint(x, '\\n')"),
        ("if x:\n    print(x)\n", "while x:\n    x -= 1\n", 'import os\nx = "ä"\nwhile x:\n    x -= 1'),
        ("import os\n", "", 'x = "ä"\nif x:\n    print(x)'),
        ("import os", "import os\nimport sys", 'import os\nimport sys\nx = "ä"\nif x:\n    print(x)'),
    ],
)
def test_lines_of_a_notebooks_cell_are_replaced_in_its_json(old: str, new: str, second: str):
    made = replaced(NOTEBOOK, [Replacement(old, new)], "a.ipynb")
    assert cells(made.text) == ["# Title\nText", second]


def test_an_edit_that_would_break_a_notebooks_json_is_refused():
    with pytest.raises(ToolError, match="no valid JSON"):
        replaced(NOTEBOOK, [Replacement('"import os\\n",', '"import os')], "a.ipynb")
    made = replaced(NOTEBOOK, [Replacement('"import os\\n",', '"import sys\\n",')], "a.ipynb")
    assert "import sys" in cells(made.text)[1]


def test_a_miss_in_a_notebook_says_how_to_edit_cells():
    with pytest.raises(ToolError) as told:
        replaced(NOTEBOOK, [Replacement("import sys\nx = 1", "x")], "a.ipynb")
    assert "lines of one cell" in str(told.value)
    assert "book['cells'][0]['source']" in str(told.value)


def test_a_miss_shows_no_place_that_is_much_less_alike():
    text = "def load(self):\n    with open(self.path) as stream:\n        a\n"
    text += "\ndef save(self):\n    with open(x) as y:\n        b\n"
    with pytest.raises(ToolError) as told:
        replaced(text, [Replacement("def load(self):\n    with open(self.path) as file:\n        a", "x")], "f")
    assert "1|def load(self):" in str(told.value)
    assert "save" not in str(told.value)


def test_edits_are_done_in_order_each_on_what_the_one_before_left():
    made = replaced("a\nb\nc\n", [Replacement("c", "d"), Replacement("a", "a\nc"), Replacement("c\n", "x\n")], "f")
    assert (made.text, made.count) == ("a\nx\nb\nd\n", 3)


def test_the_lines_of_all_edits_are_those_of_the_new_text():
    made = replaced("a\nb\nc\n", [Replacement("c", "C"), Replacement("a", "1\n2\n3")], "f")
    assert made.lines(10) == [1, 5]


def test_the_edit_that_cannot_be_done_is_named():
    with pytest.raises(ToolError, match="Edit 2 of 2: old_string is not in f"):
        replaced("a\n", [Replacement("a", "b"), Replacement("a", "c")], "f")


def test_a_note_names_its_edit():
    made = replaced("a \nb\nc\n", [Replacement("c", "d"), Replacement("a\nb", "x")], "f")
    assert made.notes[0].startswith("edit 2 of 2: old_string was found without regard to trailing blanks")
