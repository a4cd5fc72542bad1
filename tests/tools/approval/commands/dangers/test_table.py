"""How the rows of the table are read, and that each of them can be."""

import re

from tests.support.each import each
from tests.tools.approval.commands.dangers.scene import PROJECT
from tools.approval.commands.bash.interpreter import read_command
from tools.approval.commands.dangers.programs import PROGRAMS
from tools.approval.commands.dangers.table import CONDITIONS, Table, options_with_values, rows

VALUES = options_with_values("""
    tool     v --value
""")


def _is_found(row: str, command: str) -> bool:
    (call,) = read_command(command, PROJECT).invocations
    table = Table(lambda: rows(f"[deletion] goes through {{}}\n{row}"), VALUES)
    found = list(table.findings(call.program, call.arguments, call))
    assert {one.why for one in found} <= {"goes through tool"}
    return bool(found)


@each(
    ("row", "found", "not_found"),
    [
        ("tool", "tool", "another"),
        ("to*", "tool", "another"),
        ("other tool  any a", "tool b a", "tool ab"),
        ("tool  verb drop (?:a|b)", "tool -x drop --now b c", "tool drop bc"),
        ("tool  verb a", "tool -v x a", "tool x a"),
        ("tool  verb! list", "tool drop", "tool --all"),
        ("tool  verb! list", "tool drop", "tool list"),
        ("tool  first a", "tool a b", "tool b a"),
        ("tool  first! a", "tool", "tool a"),
        ("tool  early c", "tool a b c", "tool a b d c"),
        ("tool  said c|--c", "tool a b d --c", "tool a b c"),
        ("tool  none --dry", "tool a", "tool a --dry"),
        ("tool  has -r --recursive", "tool -fr", "tool -f"),
        ("tool  has -r --recursive", "tool --recurs", "tool r"),
        ("tool  lacks -n", "tool -r", "tool -rn"),
        ("tool  line a_b c", "tool 'a b' c d", "tool a b c"),
        ("tool  told \\bdrop\\b", "tool <<< 'now drop it'", "tool <<< drops"),
        ("tool  splits", "tool $X", 'tool "$X"'),
        ("tool  any a  none b", "tool a", "tool a b"),
    ],
)
def test_a_row_holds_where_all_its_conditions_do(row, found, not_found):
    assert _is_found(row, found)
    assert not _is_found(row, not_found)


def test_a_line_goes_on_behind_a_backslash_and_all_rows_may_share_conditions():
    row, other = rows("# A remark.\n[git, outside] why  none z\na \\\n    b  any x\\\n    |y\nc")

    assert (row.programs, row.conditions) == (("a", "b"), (("any", "x|y"), ("none", "z")))
    assert other.conditions == (("none", "z"),)
    assert other.finding.outside


def test_every_row_of_the_table_is_one():
    for row in PROGRAMS.rows:
        assert all(re.fullmatch(r"[\w.+*-]+", program) for program in row.programs), row
        assert all(kind in CONDITIONS and re.compile(expected) for kind, expected in row.conditions), row
