"""Rewrites that lose code: lines that stand for text which was left out, and files that were read only in part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import tools.patch
import tools.read_file
import tools.write_file  # noqa: F401 - registers the tool
from tests.support.each import each
from tests.support.tool_context import ScriptedApprover, call, error_of, make_context, payload
from tools.context import ToolContext
from tools.files.seen import FilesSeen, SeenByProgram
from tools.result import ToolResult

FUNCTIONS = [f"def f{number}():\n    return {number}\n" for number in range(65)]
OLD = "import os\n" + "".join(FUNCTIONS)
KEPT = "import os\nimport sys\n"

LEFT_OUT = [
    ("# ... rest of the file unchanged ...", ".py"),
    ("# ... existing code ...", ".py"),
    ("# existing code here", ".py"),
    ("# ...", ".py"),
    ("#...", ".sh"),
    ("...", ".js"),
    ("...", ".go"),
    ("...", ".json"),
    ("[...]", ".py"),
    ("// rest unchanged", ".js"),
    ("// ...existing code...", ".ts"),
    ("// EXISTING CODE", ".js"),
    ("// …", ".rs"),
    ("// ... other methods ...", ".java"),
    ("// Keep the existing imports", ".ts"),
    ("// same as before", ".c"),
    ("// The rest of the file stays the same.", ".go"),
    ("// ... remaining code unchanged ...", ".js"),
    ("// rest of the implementation...", ".java"),
    ("// ... rest of function", ".js"),
    ("// ... imports ...", ".ts"),
    ("/* ... */", ".c"),
    ("/* ... rest of styles ... */", ".css"),
    ("<!-- ... -->", ".html"),
    ("<!-- rest of the page unchanged -->", ".html"),
    ("<!-- … -->", ".xml"),
    ("{/* ... existing JSX ... */}", ".tsx"),
    ("{/* rest of component unchanged */}", ".tsx"),
    ("{# ... rest unchanged ... #}", ".jinja"),
    ("(* ... *)", ".ml"),
    ("-- ... other tables unchanged ...", ".sql"),
    ("; ... rest ...", ".ini"),
    ("% ... rest of document ...", ".tex"),
    ("REM ... rest ...", ".bat"),
    ("(unchanged)", ".py"),
    ("[rest of file]", ".py"),
    ("[... rest of file unchanged ...]", ".md"),
    ("... (rest of the file remains unchanged)", ".md"),
    ("… existing code …", ".py"),
    ("... rest of the code ...", ".py"),
    ("# (rest of file unchanged)", ".py"),
    ("# Rest of the code remains the same", ".py"),
    ("# ... (120 more lines)", ".py"),
    ("# [existing code]", ".py"),
    ("# --- rest of file unchanged ---", ".py"),
    ("# unchanged", ".py"),
    ("# no changes below", ".py"),
    ("# Remaining functions unchanged", ".py"),
    ("# omitted for brevity", ".py"),
    ("# all other functions remain unchanged", ".py"),
    ("    # ... [unchanged] ...", ".py"),
]

MEANT = [
    ("def a():\n    # Load existing config\n    return read()", ".py"),
    ("def a():\n    # Preserve the original mode\n    return read()", ".py"),
    ("def a():\n    # Keep existing permissions when replacing the file\n    return read()", ".py"),
    ("class P(Protocol):\n    def a(self) -> int:\n        ...", ".py"),
    ("def a():\n    # Nothing yet.\n    ...", ".py"),
    ('def a():\n    """Doc."""\n    ...', ".py"),
    ("def a() -> int: ...", ".py"),
    ("if x:  # why\n    ...", ".py"),
    ("def f(x: tuple[\n    int,\n    ...\n]): pass", ".py"),
    (">>> for x in y:\n...     print(x)\n...", ".py"),
    (">>> f(x,\n... other)", ".rst"),
    ("x: int\n...", ".pyi"),
    ("---\na: 1\n...", ".yaml"),
    ("%YAML 1.2\n---\na: 1\n...\n---\nb: 2", ".yml"),
    ("let a = B {\n    x,\n    ..Default::default()\n};", ".rs"),
    ("f(\n  ..\n)", ".rs"),
    ("const a = {\n  ...rest,\n  ...existing,\n  ...other.props,\n};", ".ts"),
    ("f(\n  ...remaining\n)", ".js"),
    ("const x = {\n  ...(cond ? a : b),\n  ...getRest(),\n}", ".ts"),
    ("int f(\n  const char *a,\n  ...\n);", ".c"),
    ("sub a {\n    ...\n}", ".pl"),
    ("Text\n\n...\n\nmore text", ".md"),
    ("# A title\n```\n# ...\n```", ".md"),
    ("So it goes on\n… and on", ".txt"),
    ("the rest of the text", ".md"),
    ("the rest of the file\nis this", ".rst"),
    ('x = """\n"# ... existing code ..."\n"""', ".py"),
    ('TEXTS = [\n    "# ... rest of file unchanged ...",\n    "...",\n]', ".py"),
    ("# We wait because...\n# ... nobody else does that, said Bob", ".py"),
    ("# Other imports\nimport x", ".py"),
    ("// Remaining handlers", ".js"),
    ("# The rest is history", ".py"),
    ("# existing users keep their names", ".py"),
    ("# all tests use the same fixture", ".py"),
    ("// Keep in sync with server.ts", ".ts"),
    ("# Same as git stash", ".py"),
    ("/* code */", ".c"),
    ("<!-- navigation -->", ".html"),
    ("# Data", ".py"),
    ("// the rest argument is ignored by f", ".js"),
    ("-- previous values", ".sql"),
    ("# original author: X", ".py"),
    ("# unchanged since 1990, see RFC", ".py"),
    ("# other options below", ".cfg"),
    ("// more tests", ".js"),
    ("echo ...", ".sh"),
    ("# type: ignore[...]", ".py"),
    ("# Current state", ".py"),
    ("# all lines here", ".py"),
    ("# everything is here", ".py"),
]


def reading(cwd: Path, **read: int) -> ToolContext:
    """A context whose model has read `a.py`, or the lines that `read` names."""
    ctx = replace(make_context(cwd), seen=FilesSeen())
    payload(call(ctx, "read_file", path="a.py", **read))
    return ctx


def rewritten(cwd: Path, name: str, content: str, old: str = OLD) -> ToolResult:
    (cwd / name).write_text(old)
    return call(make_context(cwd), "write_file", path=name, content=content)


@each(("line", "suffix"), LEFT_OUT)
def test_an_elision_in_the_place_of_lines_is_refused_by_write_file(tmp_path: Path, line: str, suffix: str):
    message = error_of(rewritten(tmp_path, f"a{suffix}", f"{KEPT}{line}\n"))
    assert f"`{line.strip()}` (line 3 of content) would replace 130 lines" in message
    assert "patch" in message
    assert (tmp_path / f"a{suffix}").read_text() == OLD


@each(("text", "suffix"), MEANT)
def test_dots_and_words_that_are_text_are_no_elision(tmp_path: Path, text: str, suffix: str):
    assert payload(rewritten(tmp_path, f"a{suffix}", f"{KEPT}{text}\n"))["status"] == "replaced"


@each(("line", "suffix"), LEFT_OUT)
def test_an_elision_that_the_file_had_may_stay_and_in_a_new_file_it_is_text(tmp_path: Path, line: str, suffix: str):
    assert payload(rewritten(tmp_path, f"a{suffix}", f"{KEPT}{line}\n", f"{OLD}{line}\n"))["status"] == "replaced"
    (tmp_path / f"a{suffix}").unlink()
    value = payload(call(make_context(tmp_path), "write_file", path=f"a{suffix}", content=f"{line}\n"))
    assert value["status"] == "created"


def test_an_elision_more_than_the_file_had_is_refused(tmp_path: Path):
    line = "# ...\n"
    assert "`# ...`" in error_of(rewritten(tmp_path, "a.py", f"{KEPT}{line}{line}", line + OLD))


def test_nobody_is_asked_about_a_text_with_an_elision(tmp_path: Path):
    (tmp_path / "a.py").write_text(OLD)
    approver = ScriptedApprover()
    ctx = make_context(tmp_path, "default", approver)
    error_of(call(ctx, "write_file", path="a.py", content=f"{KEPT}# ... rest unchanged ...\n"))
    assert approver.asked == []


def test_an_elision_that_takes_nothings_place_is_text(tmp_path: Path):
    line = "# ... existing code ..."
    assert payload(rewritten(tmp_path, "a.py", f"{OLD}\n{line}\n"))["status"] == "replaced"


@each("line", ["# ... existing code ...", "# ...", "// rest of the function unchanged", "..."])
def test_an_elision_in_new_string_is_refused_where_more_was_there(tmp_path: Path, line: str):
    (tmp_path / "a.js").write_text(OLD)
    new = f"def f2():\n    {line}\n    return 5\n"
    message = error_of(
        call(make_context(tmp_path), "patch", path="a.js", old_string="".join(FUNCTIONS[2:5]), new_string=new)
    )
    assert f"`{line}` would replace" in message
    assert "Nothing was changed" in message
    assert (tmp_path / "a.js").read_text() == OLD


def test_an_elision_in_one_of_several_edits_leaves_all_undone(tmp_path: Path):
    (tmp_path / "a.py").write_text(OLD)
    edits = [
        {"old_string": "return 1\n", "new_string": "return 11\n"},
        {"old_string": "".join(FUNCTIONS[7:9]), "new_string": "def f7():\n    # ... unchanged ...\n"},
    ]
    assert "# ... unchanged ..." in error_of(call(make_context(tmp_path), "patch", path="a.py", edits=edits))
    assert (tmp_path / "a.py").read_text() == OLD


def test_an_elision_among_a_hunks_new_lines_is_refused(tmp_path: Path):
    (tmp_path / "a.py").write_text(OLD)
    hunk = "-    return 1\n-def f2():\n-    return 2\n+    # ... existing code ...\n+    return 3\n"
    patch = f"*** Begin Patch\n*** Update File: a.py\n@@ def f1():\n{hunk}*** End Patch"
    assert "would replace" in error_of(call(make_context(tmp_path), "patch", patch=patch))
    assert (tmp_path / "a.py").read_text() == OLD


@each("before", ["", "*** Delete File: a.py\n"])
def test_an_elision_in_a_file_that_a_patch_puts_in_anothers_place_is_refused(tmp_path: Path, before: str):
    (tmp_path / "a.py").write_text(OLD)
    patch = f"*** Begin Patch\n{before}*** Add File: a.py\n+import os\n+# ... rest of file ...\n*** End Patch"
    assert "would replace" in error_of(call(reading(tmp_path), "patch", patch=patch))
    assert (tmp_path / "a.py").read_text() == OLD


def test_a_line_like_an_elision_is_added_by_a_patch_that_removes_nothing(tmp_path: Path):
    (tmp_path / "a.py").write_text(OLD)
    new = "import os\n# ... existing code ...\n"
    value = payload(call(make_context(tmp_path), "patch", path="a.py", old_string="import os\n", new_string=new))
    assert value["replacements"] == 1


def test_a_body_becomes_an_ellipsis(tmp_path: Path):
    (tmp_path / "a.py").write_text("def f():\n    one()\n    two()\n    three()\n")
    call(
        make_context(tmp_path),
        "patch",
        path="a.py",
        old_string="    one()\n    two()\n    three()",
        new_string="    ...",
    )
    assert (tmp_path / "a.py").read_text() == "def f():\n    ...\n"


def test_a_much_shorter_text_is_refused_where_lines_were_not_read(tmp_path: Path):
    (tmp_path / "a.py").write_text(OLD)
    ctx = reading(tmp_path, limit=5)
    message = error_of(call(ctx, "write_file", path="a.py", content=KEPT))
    assert "lines 6–131 of a.py" in message
    assert "offset=6" in message
    assert (tmp_path / "a.py").read_text() == OLD
    call(ctx, "read_file", path="a.py", offset=6)
    assert payload(call(ctx, "write_file", path="a.py", content=KEPT))["status"] == "replaced"


def test_a_much_shorter_text_names_each_gap_in_what_was_read(tmp_path: Path):
    (tmp_path / "a.py").write_text(OLD)
    ctx = reading(tmp_path, offset=11, limit=10)
    call(ctx, "read_file", path="a.py", offset=31, limit=101)
    assert "lines 1–10, 21–30 of" in error_of(call(ctx, "write_file", path="a.py", content=KEPT))


def test_lines_that_were_read_twice_were_read(tmp_path: Path):
    (tmp_path / "a.py").write_text(OLD)
    ctx = reading(tmp_path, limit=100)
    call(ctx, "read_file", path="a.py", limit=100)
    assert "lines 101–131 of" in error_of(call(ctx, "write_file", path="a.py", content=KEPT))


def test_what_was_read_before_an_edit_was_read(tmp_path: Path):
    (tmp_path / "a.py").write_text(OLD)
    ctx = reading(tmp_path, limit=100)
    call(ctx, "patch", path="a.py", old_string="    return 7\n", new_string="    x = 7\n    return x\n")
    assert "lines 102–132 of" in error_of(call(ctx, "write_file", path="a.py", content=KEPT))
    call(ctx, "patch", path="a.py", old_string="    return 60\n", new_string="    x = 60\n    return x\n")
    assert "lines 102–133 of" in error_of(call(ctx, "write_file", path="a.py", content=KEPT))
    call(ctx, "read_file", path="a.py", offset=102)
    assert payload(call(ctx, "write_file", path="a.py", content=KEPT))["status"] == "replaced"


def test_a_much_shorter_text_is_written_where_the_file_was_deleted_first(tmp_path: Path):
    (tmp_path / "a.py").write_text(OLD)
    ctx = reading(tmp_path, limit=5)
    call(ctx, "patch", patch="*** Begin Patch\n*** Delete File: a.py\n*** End Patch")
    assert payload(call(ctx, "write_file", path="a.py", content=KEPT))["status"] == "created"


@pytest.mark.parametrize("kept", [65, 66, 130])
def test_a_text_of_at_least_half_the_lines_is_written_with_a_note(tmp_path: Path, kept: int):
    (tmp_path / "a.py").write_text(OLD)
    ctx = reading(tmp_path, limit=5)
    value = call(ctx, "write_file", path="a.py", content="x = 1\n" * kept)
    if 2 * kept < 131:
        assert "not read" in error_of(value)
    else:
        assert "only a part" in payload(value)["note"]


def test_a_much_shorter_text_that_keeps_what_was_not_read_is_written(tmp_path: Path):
    (tmp_path / "a.py").write_text("x = 1\n" * 100 + "y = 2\n")
    assert payload(call(reading(tmp_path, limit=5), "write_file", path="a.py", content="x = 1\ny = 2\n"))


def test_a_program_that_has_read_a_part_loses_no_more_than_that(tmp_path: Path):
    (tmp_path / "a.py").write_text(OLD)
    ctx = replace(make_context(tmp_path), seen=SeenByProgram(FilesSeen()))
    call(ctx, "read_file", path="a.py", limit=5)
    assert "lines 6–131 of" in error_of(call(ctx, "write_file", path="a.py", content=KEPT))
    call(ctx, "read_file", path="a.py", limit=500)
    assert payload(call(ctx, "write_file", path="a.py", content=KEPT))["status"] == "replaced"
