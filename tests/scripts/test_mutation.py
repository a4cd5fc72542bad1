"""Survivors of mutation testing are explained by what they change, and counted in a table."""

from __future__ import annotations

from scripts.mutation.explained import PLACE, explanation_of, explanations
from scripts.mutation.report import Row, table

DIFF = """\
--- a/text.py
+++ b/text.py
@@ -1,2 +1,2 @@
 def cut(text):
-    return text[:40]
+    return text[:41]
"""
KNOWN = """
[[explained]]
why = "elsewhere"
mutants = ["agent.*"]

[[explained]]
why = "one letter more"
mutants = ["other.*", "tools.text.*"]
line = '\\[:41\\]'
"""


def test_a_survivor_is_explained_by_its_name_and_by_the_line_that_it_has_instead():
    known = explanations(KNOWN)
    assert explanation_of(known, "tools.text.x_cut__mutmut_1", DIFF).why == "one letter more"
    assert explanation_of(known, "agent.x_any__mutmut_2", DIFF).why == "elsewhere"
    assert explanation_of(known, "tools.lines.x_cut__mutmut_1", DIFF) is None
    assert explanation_of(known, "tools.text.x_cut__mutmut_3", DIFF.replace("[:41]", "[:]")) is None
    other = DIFF.replace("[:41]", "[:42]").replace("[:40]", "[:41]")
    assert explanation_of(known, "tools.text.x_cut__mutmut_4", other) is None


def test_a_survivor_that_only_leaves_a_line_out_is_explained_by_it():
    known = explanations(KNOWN)
    left_out = "".join(line for line in DIFF.splitlines(keepends=True) if not line.startswith("+ "))
    assert explanation_of(known, "tools.text.x_cut__mutmut_5", left_out) is None
    assert explanation_of(known, "tools.text.x_cut__mutmut_5", left_out.replace("[:40]", "[:41]")) is not None


def test_every_explanation_says_why_and_what_it_is_about():
    known = explanations(PLACE.read_text(encoding="utf-8"))
    assert known
    assert all(each.why and each.mutants for each in known)
    assert len({each.why for each in known}) == len(known)


def test_the_table_counts_each_file_and_all_together():
    rows = [Row("tools/a.py", 10, 3, 1, 0, 2), Row("tools/b.py", 5, 0, 0, 1, 0)]
    assert table(rows).splitlines() == [
        "| file | mutants | refused by types | noticed | explained | survived | not tried |",
        "|---|--:|--:|--:|--:|--:|--:|",
        "| `tools/a.py` | 10 | 3 | 4 | 1 | 0 | 2 |",
        "| `tools/b.py` | 5 | 0 | 4 | 0 | 1 | 0 |",
        "| together | 15 | 3 | 8 | 1 | 1 | 2 |",
    ]
