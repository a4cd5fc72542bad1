"""Replacements that are not quite exact: what is safe is done and told, and never one of two places."""

from __future__ import annotations

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
    Case("line numbers", "a\nb\n", "1|a\n2|b", "x", None, "line numbers"),
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


@each("case", REFUSED)
def test_what_is_not_safe_is_refused_with_its_reason(case: Case):
    with pytest.raises(ToolError) as told:
        replaced(case.text, [Replacement(case.old, case.new, every=case.every)], "f")
    assert case.told in str(told.value)


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
