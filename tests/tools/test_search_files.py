"""`search_files`: what the model reads of a search."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.tool_context import ScriptedApprover, call, error_of, make_context
from tools.search_files import DESCRIPTION, SCHEMA


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("import os\n\ndef find():\n    return os\n")
    (tmp_path / "src" / "b.py").write_text("import sys\n")
    (tmp_path / "notes.md").write_text("import nothing\n")
    return tmp_path


def test_matches_are_grouped_by_file_with_their_lines(work: Path):
    result = call(make_context(work), "search_files", pattern="^import")
    assert result.text == "3 matches:\nnotes.md\n1:import nothing\nsrc/a.py\n1:import os\nsrc/b.py\n1:import sys"
    assert result.facts["total"] == 3
    assert result.facts["locations"][1] == {"path": str(work / "src/a.py"), "line": 1}


def test_lines_around_a_match_are_marked_as_such(work: Path):
    result = call(make_context(work), "search_files", pattern="def find", context="1")
    assert result.text == "1 match:\nsrc/a.py\n2-\n3:def find():\n4-    return os"


def test_a_page_tells_the_total_and_where_to_go_on(work: Path):
    first = call(make_context(work), "search_files", pattern="import", limit=2)
    assert first.text.startswith("3 matches, 1–2 shown:")
    assert first.text.endswith("[more: offset=2]")
    second = call(make_context(work), "search_files", pattern="import", limit=2, offset=2)
    assert second.text == "3 matches, 3–3 shown:\nsrc/b.py\n1:import sys"


def test_files_only_and_count_list_files(work: Path):
    ctx = make_context(work)
    only = call(ctx, "search_files", pattern="os", output_mode="files_only")
    assert only.text == "1 file:\nsrc/a.py"
    assert call(ctx, "search_files", pattern="os", output_mode="count").text == "1 file:\nsrc/a.py: 2"


def test_a_glob_narrows_the_search(work: Path):
    result = call(make_context(work), "search_files", pattern="import", file_glob="*.md")
    assert result.text == "1 match:\nnotes.md\n1:import nothing"


def test_files_are_found_by_glob_and_by_a_part_of_their_name(work: Path):
    ctx = make_context(work)
    assert call(ctx, "search_files", pattern="*.md", target="files").text == "1 file:\nnotes.md"
    assert call(ctx, "search_files", pattern="note", target="files").text == "1 file:\nnotes.md"


def test_no_match_is_an_answer_not_a_failure(work: Path):
    result = call(make_context(work), "search_files", pattern="zebra", path="src")
    assert not result.failed
    assert "No match for 'zebra' below src" in result.text


def test_an_offset_behind_the_last_match_tells_the_total(work: Path):
    assert "only 3 matches" in call(make_context(work), "search_files", pattern="import", offset=9).text


def test_a_broken_pattern_is_explained(work: Path):
    message = error_of(call(make_context(work), "search_files", pattern="find("))
    assert "unclosed group" in message
    assert "escape" in message


def test_a_missing_path_and_a_wrong_target_are_clear_errors(work: Path):
    ctx = make_context(work)
    assert "nothing at that path" in error_of(call(ctx, "search_files", pattern="x", path="no"))
    assert "content, files" in error_of(call(ctx, "search_files", pattern="x", target="names"))
    assert "empty" in error_of(call(ctx, "search_files", pattern=""))


def test_a_search_outside_the_workspace_asks(work: Path, tmp_path_factory: pytest.TempPathFactory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "f").write_text("import it\n")
    approver = ScriptedApprover("reject_once")
    assert "Denied" in error_of(
        call(make_context(work, approver=approver), "search_files", pattern="import", path=str(outside))
    )
    approver.choice = "allow_once"
    result = call(make_context(work, approver=approver), "search_files", pattern="import", path=str(outside))
    assert f"{outside / 'f'}\n1:import it" in result.text


def test_credentials_are_not_found_in_a_search_of_their_directory(work: Path):
    (work / ".env").write_text("TOKEN=import-secret\n")
    assert "secret" not in call(make_context(work), "search_files", pattern="import").text


def test_paths_are_relative_when_the_working_directory_is_a_link(
    work: Path, tmp_path_factory: pytest.TempPathFactory
):
    link = tmp_path_factory.mktemp("links") / "work"
    link.symlink_to(work)
    assert call(make_context(link), "search_files", pattern="def").text == "1 match:\nsrc/a.py\n3:def find():"


def test_the_options_of_a_search_are_passed_on(work: Path):
    ctx = make_context(work)
    (work / ".gitignore").write_text("*.gen\n")
    (work / "x.gen").write_text("Import it\n")
    assert (
        call(ctx, "search_files", pattern="IMPORT S", ignore_case="true").text == "1 match:\nsrc/b.py\n1:import sys"
    )
    assert "x.gen" in call(ctx, "search_files", pattern="Import it", include_ignored=True).text
    assert call(ctx, "search_files", pattern="find()", fixed=True).text == "1 match:\nsrc/a.py\n3:def find():"
    assert call(ctx, "search_files", pattern="import", type="python", output_mode="count").facts["total"] == 2
    found = call(ctx, "search_files", pattern="find.*return", multiline=True)
    assert found.text == "1 match:\nsrc/a.py\n3:def find():\n4:    return os"


def test_when_nothing_matches_the_answer_says_what_would(work: Path):
    ctx = make_context(work)
    assert "With ignore_case it is in 1 file, as src/a.py." in call(ctx, "search_files", pattern="DEF find").text
    (work / ".gitignore").write_text("*.gen\n")
    (work / "x.gen").write_text("zebra\n")
    text = call(ctx, "search_files", pattern="zebra").text
    assert "With include_ignored" in text
    assert "1 file that .gitignore names, as x.gen." in text


def test_names_that_models_say_for_types_are_understood(work: Path):
    (work / "c.ts").write_text("import x\n")
    for kind in ("ts", "tsx", ".ts", "TypeScript"):
        assert call(make_context(work), "search_files", pattern="import", type=kind).facts["total"] == 1


def test_the_schema_stays_small():
    definition = {
        "type": "function",
        "function": {"name": "search_files", "description": DESCRIPTION, "parameters": SCHEMA},
    }
    assert len(json.dumps(definition)) <= 1050
