"""`patch`: exact, unique, in the file's own line endings; a miss shows what comes closest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tools.patch
import tools.read_file  # noqa: F401 - registers the tool
from tests.support.tool_context import ScriptedApprover, call, error_of, make_context, page_of, payload
from tools.registry import registry
from tools.result import ShownDiff, ToolResult

FILE = "def a():\n    return 1\n\n\ndef b():\n    return 2\n"


def patched(tmp_path: Path, content: str | bytes, old: str, new: str, **args: Any) -> ToolResult:
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "f.py").write_bytes(data)
    return call(make_context(tmp_path), "patch", path="f.py", old_string=old, new_string=new, **args)


def test_a_unique_piece_is_replaced_and_the_diff_returned(tmp_path: Path):
    result = patched(tmp_path, FILE, "return 2", "return 3", mode="replace")
    value = payload(result)
    assert (value["path"], value["replacements"]) == ("f.py", 1)
    assert value["diff"] == "@@ -4,3 +4,3 @@\n \n def b():\n-    return 2\n+    return 3"
    assert (tmp_path / "f.py").read_text() == FILE.replace("2", "3")
    assert result.shown == (ShownDiff(tmp_path / "f.py", FILE, FILE.replace("2", "3")),)
    assert result.facts == {"path": str(tmp_path / "f.py"), "line": 6, "lines": [6]}


def test_a_piece_that_is_there_twice_is_refused_with_its_lines(tmp_path: Path):
    message = error_of(patched(tmp_path, FILE, "    return", "    yield"))
    assert "2 times" in message
    assert "lines 2, 6" in message
    assert (tmp_path / "f.py").read_text() == FILE


def test_pieces_that_overlap_are_not_unique(tmp_path: Path):
    assert "2 times" in error_of(patched(tmp_path, "x = aaa\n", "aa", "b"))


def test_replace_all_replaces_each_and_tells_their_lines(tmp_path: Path):
    result = patched(tmp_path, FILE, "):\n", "):\n    pass\n", replace_all="true")
    assert payload(result)["replacements"] == 2
    assert result.facts["lines"] == [1, 6]
    assert (tmp_path / "f.py").read_text() == FILE.replace("):\n", "):\n    pass\n")


def test_replace_all_takes_overlapping_pieces_from_the_left(tmp_path: Path):
    assert payload(patched(tmp_path, "aaaaa", "aa", "b", replace_all=True))["replacements"] == 2
    assert (tmp_path / "f.py").read_text() == "bba"


def test_an_empty_new_string_deletes(tmp_path: Path):
    patched(tmp_path, FILE, "\n\ndef b():\n    return 2\n", "")
    assert (tmp_path / "f.py").read_text() == "def a():\n    return 1\n"


def test_windows_line_endings_are_matched_and_written_back(tmp_path: Path):
    value = payload(patched(tmp_path, b"a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n"))
    assert (tmp_path / "f.py").read_bytes() == b"x\r\ny\r\nz\r\nc\r\n"
    assert "Windows" in value["note"]


def test_a_new_line_put_into_one_windows_line_gets_a_windows_ending(tmp_path: Path):
    patched(tmp_path, b"a\r\nb\r\n", "b", "b1\nb2")
    assert (tmp_path / "f.py").read_bytes() == b"a\r\nb1\r\nb2\r\n"


def test_windows_line_endings_sent_for_a_unix_file_are_turned(tmp_path: Path):
    patched(tmp_path, b"a\nb\n", "a\r\nb", "x\r\ny")
    assert (tmp_path / "f.py").read_bytes() == b"x\ny\n"


def test_the_windows_part_of_a_mixed_file_is_matched_and_the_rest_left_alone(tmp_path: Path):
    patched(tmp_path, b"a\nb\r\nc\r\nd\n", "b\nc", "x\ny")
    assert (tmp_path / "f.py").read_bytes() == b"a\nx\r\ny\r\nd\n"


def test_mark_and_encoding_survive(tmp_path: Path):
    patched(tmp_path, b"\xef\xbb\xbfa\n", "a", "\u20ac")
    assert (tmp_path / "f.py").read_bytes() == b"\xef\xbb\xbf\xe2\x82\xac\n"
    patched(tmp_path, "grün\n".encode("latin-1"), "gr", "Gr")
    assert (tmp_path / "f.py").read_bytes() == "Grün\n".encode("latin-1")


def test_a_character_that_the_files_encoding_lacks_is_refused(tmp_path: Path):
    assert "latin-1" in error_of(patched(tmp_path, "grün\n".encode("latin-1"), "gr", "\u20ac"))
    assert (tmp_path / "f.py").read_bytes() == "grün\n".encode("latin-1")


@pytest.mark.parametrize(
    ("old", "new", "advice"),
    [
        ("", "x", "write_file"),
        ("return 1", "return 1", "the same"),
        ("1|def a():\n2|    return 3", "x", "line numbers"),
    ],
)
def test_a_patch_that_cannot_be_meant_says_what_to_do(tmp_path: Path, old: str, new: str, advice: str):
    assert advice in error_of(patched(tmp_path, FILE, old, new))


def test_another_mode_is_a_clear_error(tmp_path: Path):
    assert "one of replace, patch" in error_of(patched(tmp_path, FILE, "return 1", "x", mode="rewrite"))


PATCH = "*** Begin Patch\n*** Add File: new.py\n+x\n*** End Patch"


def test_with_a_replacement_and_a_patch_nothing_is_guessed(tmp_path: Path):
    assert "Give either old_string" in error_of(patched(tmp_path, FILE, "return 1", "x", patch=PATCH))
    assert not (tmp_path / "new.py").exists()


@pytest.mark.parametrize(("mode", "is_made"), [("patch", True), ("replace", False)])
def test_a_mode_beside_both_says_which_counts(tmp_path: Path, mode: str, is_made: bool):
    patched(tmp_path, FILE, "return 1", "return 7", patch=PATCH, mode=mode)
    assert (tmp_path / "new.py").exists() is is_made
    assert ("return 7" in (tmp_path / "f.py").read_text()) is not is_made


def test_a_mode_is_not_told_of(tmp_path: Path):
    entry = registry.get("patch")
    assert entry is not None
    assert "mode" not in entry.schema["properties"]


def test_a_miss_shows_the_closest_lines(tmp_path: Path):
    message = error_of(patched(tmp_path, FILE.replace("    ", "\t"), "def b():\n    return two", "x"))
    assert "5|def b():\n6|\treturn 2" in message


def test_a_change_that_was_made_before_is_recognised(tmp_path: Path):
    assert "6|    return 2" in error_of(patched(tmp_path, FILE, "    return 22", "    return 2"))


def test_a_miss_without_anything_alike_says_so(tmp_path: Path):
    assert "Nothing in it resembles" in error_of(patched(tmp_path, FILE, "zebra crossing", "x"))


def test_a_missing_and_a_binary_file_are_clear_errors(tmp_path: Path):
    ctx = make_context(tmp_path)
    assert "write_file" in error_of(call(ctx, "patch", path="no", old_string="a", new_string="b"))
    assert "binary" in error_of(patched(tmp_path, b"a\0b", "a", "b"))


def test_a_refused_patch_changes_nothing(tmp_path: Path):
    (tmp_path / "a").write_text("old")
    ctx = make_context(tmp_path, "default", ScriptedApprover("reject_once"))
    assert "Denied" in error_of(call(ctx, "patch", path="a", old_string="old", new_string="new"))
    assert (tmp_path / "a").read_text() == "old"


def test_the_diff_of_a_huge_change_is_bounded(tmp_path: Path):
    value = payload(patched(tmp_path, "x = 1\n" * 3000, "1", "2", replace_all=True))
    assert value["replacements"] == 3000
    assert len(value["diff"]) < 5000


def test_a_slip_that_was_looked_past_is_noted(tmp_path: Path):
    value = payload(patched(tmp_path, FILE, "2|    return 1", "2|    return 3"))
    assert value["note"] == "old_string and new_string were read without the line numbers of read_file (`N|`)."
    assert (tmp_path / "f.py").read_text() == FILE.replace("1", "3")


def test_spaces_in_a_makefiles_recipe_are_told(tmp_path: Path):
    (tmp_path / "Makefile").write_text("all: a\n\tcc a\n")
    ctx = make_context(tmp_path)
    value = payload(call(ctx, "patch", path="Makefile", old_string="all: a\n", new_string="all: a\n    echo a\n"))
    assert value["problems"] == "line 2: a line of a recipe has to begin with a tab, not with spaces (make)"
    assert "problems" not in payload(call(ctx, "patch", path="Makefile", old_string="    echo", new_string="\techo"))


def test_a_notebook_is_edited_by_the_lines_that_read_file_shows(tmp_path: Path):
    cell = {"cell_type": "code", "source": ['x = "a"\n', "print(x)"], "outputs": [], "metadata": {}}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5}, indent=1))
    ctx = make_context(tmp_path)
    assert '2|x = "a"\n3|print(x)' in page_of(call(ctx, "read_file", path="a.ipynb"))["content"]
    old, new = '2|x = "a"\n3|print(x)', '2|x = "b"\n3|print(x)\n4|print(x)'
    value = payload(call(ctx, "patch", path="a.ipynb", old_string=old, new_string=new))
    assert "as lines of a cell" in value["note"]
    assert json.loads((tmp_path / "a.ipynb").read_text())["cells"][0]["source"] == [
        'x = "b"\n',
        "print(x)\n",
        "print(x)",
    ]
