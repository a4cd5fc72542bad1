"""Patches in the V4A format, and what they make of files: what the grammar admits, and what models get wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

CODE = (
    "import os\n\n\nclass Cat:\n    def name(self):\n        return 1\n\n    def age(self):\n        return 2\n\n\n"
    "class Dog:\n    def name(self):\n        return 1\n\n    def age(self):\n        return 3\n"
)
"""Two classes with a method of the same name and body."""


@dataclass(frozen=True)
class Case:
    """A patch on files. `after` None: nothing changes, and the error holds every one of `told`."""

    name: str
    patch: str
    before: Mapping[str, str | bytes] = field(default_factory=dict)
    after: Mapping[str, str | bytes] | None = None
    told: tuple[str, ...] = ()


def update(*lines: str, path: str = "a.txt") -> str:
    return "\n".join(("*** Begin Patch", f"*** Update File: {path}", *lines, "*** End Patch"))


def code(*lines: str) -> str:
    return update(*lines, path="a.py")


ABC = {"a.txt": "a\nb\nc\n"}

GRAMMAR = (
    Case("a file is added", "*** Begin Patch\n*** Add File: n/x.py\n+a = 1\n+\n+b = 2\n*** End Patch", {},
         {"n/x.py": "a = 1\n\nb = 2\n"}),
    Case("an empty file is added", "*** Begin Patch\n*** Add File: x/__init__.py\n*** End Patch", {},
         {"x/__init__.py": ""}),
    Case("a file is deleted", "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch", ABC, {}),
    Case("a binary file is deleted", "*** Begin Patch\n*** Delete File: a\n*** End Patch", {"a": b"\0\1"}, {}),
    Case("a line is changed", update("@@", " a", "-b", "+B", " c"), ABC, {"a.txt": "a\nB\nc\n"}),
    Case("a line is taken out", update("@@", " a", "-b", " c"), ABC, {"a.txt": "a\nc\n"}),
    Case("a line is put in", update("@@", " a", "+x", " b"), ABC, {"a.txt": "a\nx\nb\nc\n"}),
    Case("the first hunk needs no header", update(" a", "-b", "+B"), ABC, {"a.txt": "a\nB\nc\n"}),
    Case("two hunks of a file", update("@@", "-a", "+A", "@@", "-c", "+C"), ABC, {"a.txt": "A\nb\nC\n"}),
    Case("one hunk with two changes", update("@@", "-a", "+A", " b", "-c", "+C"), ABC, {"a.txt": "A\nb\nC\n"}),
    Case("a file of one line becomes empty", update("-a"), {"a.txt": "a\n"}, {"a.txt": ""}),
    Case("an empty file gets lines", update("@@", "+a", "+b"), {"a.txt": ""}, {"a.txt": "a\nb\n"}),
    Case("the end of the file is meant", update("@@", " x", "+y", "*** End of File"), {"a.txt": "x\nz\nx\n"},
         {"a.txt": "x\nz\nx\ny\n"}),
    Case("new lines at the end", update("@@", "+d", "*** End of File"), ABC, {"a.txt": "a\nb\nc\nd\n"}),
    Case("new lines that name no place go to the end", update("@@", "+d"), ABC, {"a.txt": "a\nb\nc\nd\n"}),
    Case("a file moves", update("*** Move to: d/b.txt"), ABC, {"d/b.txt": "a\nb\nc\n"}),
    Case("a binary file moves", update("*** Move to: b", path="a"), {"a": b"\0\1"}, {"b": b"\0\1"}),
    Case("a file moves and changes", update("*** Move to: b.txt", "@@", "-b", "+B"), ABC, {"b.txt": "a\nB\nc\n"}),
    Case("several files", "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** Add File: n\n+n\n"
         "*** Delete File: b.txt\n*** End Patch", {**ABC, "b.txt": "x\n"}, {"a.txt": "A\nb\nc\n", "n": "n\n"}),
    Case("a file is named twice", "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** Update File: a.txt\n@@\n"
         "-A\n+AA\n*** End Patch", ABC, {"a.txt": "AA\nb\nc\n"}),
    Case("a file that is added is changed", "*** Begin Patch\n*** Add File: n\n+a\n*** Update File: n\n@@\n-a\n+b\n"
         "*** End Patch", {}, {"n": "b\n"}),
    Case("a file is deleted and added", "*** Begin Patch\n*** Delete File: a.txt\n*** Add File: a.txt\n+x\n"
         "*** End Patch", ABC, {"a.txt": "x\n"}),
    Case("two files change places by a third", "*** Begin Patch\n*** Update File: a.txt\n*** Move to: c.txt\n"
         "*** End Patch", ABC, {"c.txt": "a\nb\nc\n"}),
    Case("an anchor tells which", code("@@ class Dog:", "     def name(self):", "-        return 1",
         "+        return 9"),
         {"a.py": CODE}, {"a.py": CODE[:120] + CODE[120:].replace("return 1", "return 9")}),
    Case("nested anchors tell which", code("@@ class Dog:", "@@     def name(self):", "-        return 1",
         "+        return 9"), {"a.py": CODE}, {"a.py": CODE[:120] + CODE[120:].replace("return 1", "return 9")}),
    Case("an anchor means its own block", code("@@ class Cat:", "-        return 1", "+        return 9"),
         {"a.py": CODE}, {"a.py": CODE.replace("return 1", "return 9", 1)}),
    Case("an anchor that is part of a line", code("@@ Dog", "-        return 1", "+        return 9"),
         {"a.py": CODE}, {"a.py": CODE[:120] + CODE[120:].replace("return 1", "return 9")}),
    Case("an anchor that the hunk repeats", code("@@ class Dog:", " class Dog:", "+    legs = 4"), {"a.py": CODE},
         {"a.py": CODE.replace("class Dog:\n", "class Dog:\n    legs = 4\n")}),
    Case("new lines go below their anchor", code("@@ class Dog:", "+    legs = 4"), {"a.py": CODE},
         {"a.py": CODE.replace("class Dog:\n", "class Dog:\n    legs = 4\n")}),
    Case("an anchor without a block means what follows", update("@@ [two]", "-k = 1", "+k = 2"),
         {"a.txt": "[one]\nk = 1\n[two]\nk = 1\n[three]\nk = 1\n"},
         {"a.txt": "[one]\nk = 1\n[two]\nk = 2\n[three]\nk = 1\n"}),
    Case("as many hunks as places", update("@@", "-x", "+1", "@@", "-x", "+2"), {"a.txt": "x\ny\nx\n"},
         {"a.txt": "1\ny\n2\n"}),
    Case("the hunk before tells which", update("@@", "-b", "+B", "@@", "-x", "+X"), {"a.txt": "x\nb\nx\n"},
         {"a.txt": "x\nB\nX\n"}),
    Case("context that two hunks share", update("@@", "-a", "+A", " b", "@@", " b", "-c", "+C"), ABC,
         {"a.txt": "A\nb\nC\n"}),
    Case("signs that are text", update("@@", "--- a", "+++ b"), {"a.txt": "-- a\n"}, {"a.txt": "++ b\n"}),
    Case("marks that are text", update("@@", " *** Begin Patch", "-*** End Patch", "+done"),
         {"a.txt": "*** Begin Patch\n*** End Patch\n"}, {"a.txt": "*** Begin Patch\ndone\n"}),
)  # fmt: skip

FORGIVEN = (
    Case("no begin mark", "*** Update File: a.txt\n@@\n-b\n+B\n*** End Patch", ABC, {"a.txt": "a\nB\nc\n"}),
    Case("a Markdown fence", f"```diff\n{update('@@', '-b', '+B')}\n```\n", ABC, {"a.txt": "a\nB\nc\n"}),
    Case("a fence and no begin mark", "```\n*** Update File: a.txt\n@@\n-b\n+B\n*** End Patch\n```", ABC,
         {"a.txt": "a\nB\nc\n"}),
    Case("a heredoc", f"apply_patch <<'EOF'\n{update('@@', '-b', '+B')}\nEOF\n", ABC, {"a.txt": "a\nB\nc\n"}),
    Case("a heredoc and no begin mark", "<<EOF\n*** Update File: a.txt\n@@\n-b\n+B\n*** End Patch\nEOF", ABC,
         {"a.txt": "a\nB\nc\n"}),
    Case("words around it", f"Here it is:\n\n{update('@@', '-b', '+B')}\n\nThat should do.", ABC,
         {"a.txt": "a\nB\nc\n"}),
    Case("Windows line endings in the patch", update("@@", " a", "-b", "+B").replace("\n", "\r\n"), ABC,
         {"a.txt": "a\nB\nc\n"}),
    Case("a byte order mark before it", "\ufeff" + update("@@", "-b", "+B"), ABC, {"a.txt": "a\nB\nc\n"}),
    Case("all of it indented", "\n".join("  " + line for line in update("@@", " a", "-b", "+B").split("\n")), ABC,
         {"a.txt": "a\nB\nc\n"}),
    Case("blanks around marks", " *** Begin Patch \n  *** Update File: a.txt \n@@ \n-b\n+B\n  *** End Patch  ", ABC,
         {"a.txt": "a\nB\nc\n"}),
    Case("other letter case and spacing", "*** begin patch\n***Update file:a.txt\n@@\n-b\n+B\n*** end patch", ABC,
         {"a.txt": "a\nB\nc\n"}),
    Case("quotes around a path", update("@@", "-b", "+B", path="`a.txt`"), ABC, {"a.txt": "a\nB\nc\n"}),
    Case("stars behind a path", update("@@", "-b", "+B", path="a.txt ***"), ABC, {"a.txt": "a\nB\nc\n"}),
    Case("two patches after each other", update("@@", "-a", "+A") + "\n" + update("@@", "-b", "+B"), ABC,
         {"a.txt": "A\nB\nc\n"}),
    Case("an end mark too early", "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** End Patch\n"
         "*** Add File: n\n+n\n*** End Patch", ABC, {"a.txt": "A\nb\nc\n", "n": "n\n"}),
    Case("an empty line without its space", update("@@", " a", "", "-b", "+B"), {"a.txt": "a\n\nb\n"},
         {"a.txt": "a\n\nB\n"}),
    Case("empty lines between the parts", "*** Begin Patch\n\n*** Update File: a.txt\n\n@@\n-b\n+B\n\n"
         "*** Add File: n\n+n\n\n*** End Patch\n", ABC, {"a.txt": "a\nB\nc\n", "n": "n\n"}),
    Case("an empty line in a new file without its sign", "*** Begin Patch\n*** Add File: n\n+a\n\n+b\n*** End Patch",
         {},
         {"n": "a\n\nb\n"}),
    Case("a new file without signs", "*** Begin Patch\n*** Add File: n\na = 1\nif a:\n    b = 2\n*** End Patch", {},
         {"n": "a = 1\nif a:\n    b = 2\n"}),
    Case("an empty line of context behind the file's end", update("@@", " c", "+d", " "), ABC,
         {"a.txt": "a\nb\nc\nd\n"}),
    Case("the closing signs of a header", code("@@ class Dog: @@", "-        return 1", "+        return 9"),
         {"a.py": CODE}, {"a.py": CODE[:120] + CODE[120:].replace("return 1", "return 9")}),
    Case("an anchor with other blanks", code("@@ class  Dog:", "@@ def age(self):", "-        return 3",
         "+        return 9"),
         {"a.py": CODE}, {"a.py": CODE.replace("return 3", "return 9")}),
    Case("an anchor that is not there, before unique lines", code("@@ class Bird:", "-        return 3",
         "+        return 9"),
         {"a.py": CODE}, {"a.py": CODE.replace("return 3", "return 9")}),
    Case("the end of the file is meant, but it is not there", update("@@", " a", "-b", "+B", "*** End of File"), ABC,
         {"a.txt": "a\nB\nc\n"}),
    Case("hunks in another order", update("@@", "-c", "+C", "@@", "-a", "+A"), ABC, {"a.txt": "A\nb\nC\n"}),
    Case("a hunk without a change", update("@@", " a", " b", "@@", "-c", "+C"), ABC, {"a.txt": "a\nb\nC\n"}),
    Case("the headers of a diff below the path", update("--- a/a.txt", "+++ b/a.txt", "@@ -1,2 +1,2 @@", " a", "-b",
         "+B"),
         ABC, {"a.txt": "a\nB\nc\n"}),
    Case("a unified diff",
         "diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -2,1 +2,1 @@\n"
         "-b\n+B\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n*** End Patch\n", ABC,
         {"a.txt": "a\nB\nc\n", "n": "n\n"}),
    Case("a unified diff that deletes", "--- a/a.txt\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n*** End Patch", ABC,
         {}),
    Case("line numbers that tell which", update("@@ -3,1 +3,1 @@", "-x", "+X"), {"a.txt": "x\ny\nx\n"},
         {"a.txt": "x\ny\nX\n"}),
    Case("blanks at the end of a line", update("@@", " a", "-b", "+B"), {"a.txt": "a  \nb\t\nc\n"},
         {"a.txt": "a  \nB\nc\n"}),
    Case("less indentation", code("@@", "-def f():", "-    return 1", "+def f():", "+    if x:", "+        return 1"),
         {"a.py": "class A:\n    def f():\n        return 1\n"},
         {"a.py": "class A:\n    def f():\n        if x:\n            return 1\n"}),
    Case("spaces for tabs", code("@@", " def f():", "-    return 1", "+    if x:", "+        return 1"),
         {"a.py": "def f():\n\treturn 1\n"}, {"a.py": "def f():\n\tif x:\n\t\treturn 1\n"}),
    Case("plain quotes for curly ones", update("@@", ' say "hi"', '-ask "why" - now', '+ask "why" - later'),
         {"a.txt": "say “hi”\nask “why” – now\n"}, {"a.txt": "say “hi”\nask “why” – later\n"}),
    Case("a space for a no-break space", update("@@", "-10 km", "+20 km"), {"a.txt": "10\u00a0km\n"},
         {"a.txt": "20\u00a0km\n"}),
)  # fmt: skip

NUMBERED = (
    Case("line numbers of read_file in all lines", update("@@", " 1|a", "-2|b", "+2|B", " 3|c"), ABC,
         {"a.txt": "a\nB\nc\n"}),
    Case("line numbers in the old lines", update("@@", " 1|a", "-2|b", "+B"), ABC, {"a.txt": "a\nB\nc\n"}),
    Case("lines that have such numbers", update("@@", " 1|a", "-2|b", "+2|B"), {"a.txt": "1|a\n2|b\n"},
         {"a.txt": "1|a\n2|B\n"}),
)  # fmt: skip

KEPT = (
    Case("Windows line endings", update("@@", " a", "-b", "+B", "+x", " c"), {"a.txt": b"a\r\nb\r\nc\r\n"},
         {"a.txt": b"a\r\nB\r\nx\r\nc\r\n"}),
    Case("mixed line endings", update("@@", " b", "-c", "+C", " d"), {"a.txt": b"a\nb\r\nc\r\nd\ne\r\n"},
         {"a.txt": b"a\nb\r\nC\r\nd\ne\r\n"}),
    Case("a byte order mark", update("@@", "-a", "+A"), {"a.txt": b"\xef\xbb\xbfa\n"}, {"a.txt": b"\xef\xbb\xbfA\n"}),
    Case("UTF-16", update("@@", "-a", "+A"), {"a.txt": "\ufeffa\nb\n".encode("utf-16-le")},
         {"a.txt": "\ufeffA\nb\n".encode("utf-16-le")}),
    Case("a last line without an ending that does not change", update("@@", "-a", "+A"), {"a.txt": "a\nb"},
         {"a.txt": "A\nb"}),
    Case("a last line gets its ending when it is written", update("@@", "-b", "+B"), {"a.txt": "a\nb"},
         {"a.txt": "a\nB\n"}),
    Case("a last line without an ending before new ones", update("@@", " b", "+c"), {"a.txt": "a\nb"},
         {"a.txt": "a\nb\nc\n"}),
    Case("a last line without an ending, put to the end twice", update("@@", "-b", "+B", "@@", "+c",
         "*** End of File"),
         {"a.txt": "a\nb"}, {"a.txt": "a\nB\nc\n"}),
    Case("no ending where the patch says so", update("@@", "-b", "+B", "\\ No newline at end of file"),
         {"a.txt": "a\nb"}, {"a.txt": "a\nB"}),
    Case("form feeds and other separators", update("@@", "-b", "+B"), {"a.txt": "a\x0cA\u2028x\nb\n\x0b\n"},
         {"a.txt": "a\x0cA\u2028x\nB\n\x0b\n"}),
)  # fmt: skip

CUT = "*** Begin Patch\n*** Update File: a.txt\n@@\n-b\n+B\n"

REFUSED = (
    Case("no end mark", CUT, ABC, told=("no *** End Patch", "a.txt", "Nothing was changed")),
    Case("no end mark within a fence", f"```diff\n{CUT}```\n", ABC, told=("no *** End Patch",)),
    Case("no end mark within a heredoc", f"apply_patch <<'EOF'\n{CUT}EOF\n", ABC, told=("no *** End Patch",)),
    Case("half an end mark", f"{CUT}*** End Pa", ABC, told=("no *** End Patch",)),
    Case("half a new file", "*** Begin Patch\n*** Add File: n\n+a\n+b", {}, told=("no *** End Patch", "n")),
    Case("a deletion without an end mark", "*** Begin Patch\n*** Delete File: a.txt", ABC,
         told=("no *** End Patch",)),
    Case("a unified diff without an end mark", "--- a/a.txt\n+++ b/a.txt\n@@ -2,1 +2,1 @@\n-b\n+B\n", ABC,
         told=("no *** End Patch",)),
    Case("a part behind the end mark without its own", f"{CUT}*** End Patch\n*** Delete File: a.txt\n", ABC,
         told=("no *** End Patch", "a.txt")),
    Case("an empty patch", "  \n", ABC, told=("missing",)),
    Case("a patch without a file", "*** Begin Patch\n*** End Patch", ABC, told=("names no file",)),
    Case("a patch of other words", "please change a to b", ABC, told=("Line 1", "Update File")),
    Case("a file without changes", update(), ABC, told=("Line 2", "nothing to change in a.txt")),
    Case("a header that there is not", "*** Begin Patch\n*** Rename File: a.txt\n*** End Patch", ABC,
         told=("Line 2", "Rename File")),
    Case("a header that there is not, within a file", update("@@", "-a", "+A", "*** Modify File: b"), ABC,
         told=("Line 6", "no header")),
    Case("a line without a sign", update("@@", "a", "-b", "+B"), ABC, told=("Line 4", "'a'", "space, - nor +")),
    Case("a hunk without lines", update("@@ class Cat:"), ABC, told=("Line 3", "class Cat")),
    Case("a path that is missing", "*** Begin Patch\n*** Update File:\n-a\n*** End Patch", ABC, told=("Line 2",
         "path")),
    Case("lines below a deletion", "*** Begin Patch\n*** Delete File: a.txt\n+x\n*** End Patch", ABC, told=("Line 3",
         )),
    Case("signs in some lines of a new file", "*** Begin Patch\n*** Add File: n\n+a\nb\n*** End Patch", {},
         told=("Line 4", "begins with +")),
    Case("hunk lines that belong to no file", "*** Begin Patch\n@@\n-a\n+A\n*** End Patch", ABC, told=("Line 2",)),
    Case("hunk lines behind the end", update("@@", "-a", "+A") + "\n@@\n-b\n+B", ABC, told=("header is due",)),
    Case("a file that is not there", update("@@", "-a", "+A", path="no.txt"), ABC, told=("no.txt does not exist",)),
    Case("a file to delete that is not there", "*** Begin Patch\n*** Delete File: no\n*** End Patch", ABC,
         told=("no does not exist",)),
    Case("a file to move that is not there", update("*** Move to: b", path="no"), ABC, told=("no does not exist",)),
    Case("a directory", update("@@", "-a", "+A", path="d"), {"d/x": "a\n"}, told=("d", "directory")),
    Case("a binary file", update("@@", "-a", "+A", path="b"), {"b": b"a\n\0\0"}, told=("binary",)),
    Case("lines that are not there", update("@@", " alpha", "-beta one", "+B"), {"a.txt": "x\nalpha\nbeta two\n"},
         told=("Hunk 1 of a.txt (line 3 of the patch)", "lines 2–3",
         "3|beta two")),
    Case("nothing like it", update("@@", "-zebra crossing", "+x"), ABC, told=("nor anything like them",)),
    Case("a change that was made before", update("@@", " a", "-x", "+b", " c"), ABC, told=("there already",
         "line 1")),
    Case("two places", update("@@", "-x", "+X"), {"a.txt": "x\ny\nx\n"}, told=("2 times (lines 1, 3)", "@@")),
    Case("two places in the anchor's block", code("@@ def f():", "-    x", "+    y"),
         {"a.py": "def f():\n    a\n    x\n    b\n    x\n"}, told=("2 times (lines 3, 5)",)),
    Case("an anchor that is there twice", code("@@ def name(self):", "-        return 1", "+        return 9"),
         {"a.py": CODE}, told=("2 times (lines 6, 14)",)),
    Case("an anchor of new lines that is there twice", code("@@ def name(self):", "+        x = 1"), {"a.py": CODE},
         told=("its anchor is there 2 times",)),
    Case("lines of another block", code("@@ class Cat:", "-        return 3", "+        return 9"), {"a.py": CODE},
         told=("line 17", "not below its anchor @@ class Cat:")),
    Case("a method that the class of the anchor does not have", code("@@ class Cat:", "@@ def bark(self):",
         "-        return 2", "+        return 9"), {"a.py": CODE + "\n    def bark(self):\n        return 2\n"},
         told=("no line like its anchor",)),
    Case("more hunks than places", update("@@", "-x", "+1", "@@", "-x", "+2"), {"a.txt": "x\ny\n"},
         told=("Hunk 2", "another hunk changes")),
    Case("fewer hunks than places", update("@@", "-x", "+1", "@@", "-x", "+2"), {"a.txt": "x\nx\nx\n"},
         told=("Hunk 1", "Hunk 2", "3 times")),
    Case("one hunk of two has no place", update("@@", "-a", "+A", "@@", "-zebra", "+Z"), ABC, told=("Hunk 2",)),
    Case("one file of two is not there", update("@@", "-a", "+A") + "\n" + update("@@", "-a", "+A", path="no.txt"),
         ABC,
         told=("nothing was changed", "no.txt")),
    Case("each hunk that has no place is told", update("@@", "-zebra", "+Z", "@@", "-yak", "+Y"), ABC,
         told=("Hunk 1", "Hunk 2")),
    Case("indentation that differs unevenly", code("@@", "-  if x:", "-      y", "+  if x:", "+      z"),
         {"a.py": "if x:\n     y\n"}, told=("Hunk 1",)),
    Case("a file to move to a place that the patch has filled", "*** Begin Patch\n*** Add File: n\n+n\n"
         "*** Update File: a.txt\n*** Move to: n\n*** End Patch", ABC, told=("n: the patch puts another file",)),
    Case("a character that the file cannot hold", update("@@", "-b", "+\u20ac"),
         {"a.txt": "gr\xfcn und bl\xe4u\nb\n".encode("latin-1")},
         told=("cannot hold",)),
)  # fmt: skip

CASES = (*GRAMMAR, *FORGIVEN, *NUMBERED, *KEPT, *REFUSED)
