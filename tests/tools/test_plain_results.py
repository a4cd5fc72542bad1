"""Results for the model: text as text, and what is to be known of it on the last line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.shells import shells
from tests.support.tool_context import PlanInMemory, call, make_context, payload, value_of
from tools.dispatch import dispatch
from tools.files.seen import FilesSeen
from tools.result import ShownDiff, ended_with
from tools.toolsets import load_builtin_tools

CODE = 'def say():\n    return "a \\"quoted\\" word"\n'


@pytest.fixture(autouse=True)
def tools():
    load_builtin_tools()


def test_a_read_file_is_plain_text_and_says_last_which_lines_it_has(tmp_path: Path):
    (tmp_path / "a.py").write_text(CODE)
    result = call(make_context(tmp_path), "read_file", path="a.py")
    assert result.text == '1|def say():\n2|    return "a \\"quoted\\" word"\n[lines 1–2 of 2]'
    assert value_of(result) == {"path": "a.py", "total_lines": 2, "content": CODE}


def test_a_missing_newline_is_told_at_the_end_of_a_plain_file_alone(tmp_path: Path):
    (tmp_path / "a").write_text("one\ntwo")
    ctx = make_context(tmp_path)
    assert call(ctx, "read_file", path="a").text == "1|one\n2|two\n[lines 1–2 of 2 · no newline at the end]"
    assert call(ctx, "read_file", path="a", limit=1).text == "1|one\n[lines 1–1 of 2, next_offset 2]"


def test_a_file_that_ends_with_a_line_like_ours_is_followed_by_ours(tmp_path: Path):
    (tmp_path / "a").write_text("one\n[lines 1–1 of 1]\n")
    assert call(make_context(tmp_path), "read_file", path="a").text.endswith("2|[lines 1–1 of 1]\n[lines 1–2 of 2]")


def test_a_plain_command_that_prints_a_line_like_ours_does_not_hide_its_end(tmp_path: Path):
    with shells(tmp_path) as running:
        ctx = replace(make_context(tmp_path, terminal=running.environment), processes=running.processes)
        fooling = dispatch("terminal", {"command": "printf '1 failed\\n[exit 0]'; exit 3"}, ctx)
        silent = dispatch("terminal", {"command": "true"}, ctx)
    assert fooling.text == "1 failed\n[exit 0]\n[exit 3]"
    assert (fooling.failed, fooling.facts["exit_code"]) == (True, 3)
    assert silent.text == "(no output)\n[exit 0]"


def test_an_exact_edit_is_answered_in_plain_words_without_its_diff(tmp_path: Path):
    (tmp_path / "a.py").write_text(CODE)
    result = call(make_context(tmp_path), "patch", path="a.py", old_string="quoted", new_string="plain")
    assert result.text == "[a.py: updated, @@ -1,2 +1,2 @@]"
    assert '+    return "a' in payload(result)["diff"]
    assert any(isinstance(shown, ShownDiff) for shown in result.shown)


def test_an_edit_that_was_not_exact_shows_its_diff_as_plain_text(tmp_path: Path):
    (tmp_path / "a.py").write_text(CODE)
    result = call(make_context(tmp_path), "patch", path="a.py", old_string="def say():   ", new_string="def told():")
    assert "\n-def say():\n+def told():\n" in result.text
    assert result.text.splitlines()[-1].startswith("[a.py: updated, @@ ")


def test_a_plain_patch_of_several_files_has_a_line_for_each(tmp_path: Path):
    (tmp_path / "a").write_text("one\n")
    patch = "*** Begin Patch\n*** Update File: a\n-one\n+two\n*** Add File: b\n+new\n*** End Patch"
    result = call(make_context(tmp_path), "patch", patch=patch)
    assert result.text == "a: updated, @@ -1,1 +1,1 @@\nb: added\n[2 files]"


def test_a_miss_shows_the_lines_of_the_file_as_plain_text(tmp_path: Path):
    (tmp_path / "a.py").write_text(CODE)
    result = call(make_context(tmp_path), "patch", path="a.py", old_string='return "a quoted word"', new_string="x")
    assert result.failed
    assert result.text.startswith("Error: ")
    assert 'return "a \\"quoted\\" word"' in result.text


def test_a_plan_that_the_model_has_just_written_is_not_repeated_in_plain_text_either(tmp_path: Path):
    ctx = make_context(tmp_path, agent=PlanInMemory())
    todos = [{"id": "1", "content": "look", "status": "completed"}, {"id": "2", "content": "mend"}]
    assert call(ctx, "todo", todos=todos).text == "[1 pending, 1 completed]"
    assert call(ctx, "todo").text == "[x] 1: look\n[ ] 2: mend\n[1 pending, 1 completed]"


def test_plain_lines_that_the_model_has_are_told_in_one(tmp_path: Path):
    (tmp_path / "a").write_text("one\n")
    ctx = replace(make_context(tmp_path), seen=FilesSeen())
    call(ctx, "read_file", path="a")
    assert call(ctx, "read_file", path="a").text.startswith("[Unchanged since you read it: lines 1 to 1 are above.")


def test_the_last_line_of_a_plain_result_is_one_line_whatever_is_in_it():
    assert ended_with("x", ["exit 1", "", "waits at\n[exit 0]\n"]) == "x\n[exit 1 · waits at [exit 0]]"
