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


@pytest.mark.parametrize("engine", ["rg", "grep"])
def test_a_regex_that_does_not_compile_is_searched_as_fixed_text(
    work: Path, request: pytest.FixtureRequest, engine: str
):
    if engine == "grep":
        request.getfixturevalue("no_ripgrep")
    result = call(make_context(work), "search_files", pattern="find(")
    head, *_, note = result.text.splitlines()
    assert head == "1 match:"
    assert "3:def find():" in result.text
    assert note.startswith("[searched as fixed text: the pattern is no regular expression (")
    assert result.value is not None
    assert result.value()["note"].startswith(note)
    nothing = call(make_context(work), "search_files", pattern="zebra[").text
    assert "No match for 'zebra['" in nothing
    assert "searched as fixed text" in nothing


@pytest.mark.parametrize("pattern", ["find(", "*x", "[z", "find)", "a{2,1}", "(?<=a", "\\"])
def test_no_pattern_that_does_not_compile_is_an_error(work: Path, pattern: str):
    result = call(make_context(work), "search_files", pattern=pattern)
    assert not result.failed
    assert "searched as fixed text: the pattern is no regular expression (" in result.text


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


ROUTES = (
    "app/blog/[slug]/page.tsx",
    "app/blog/[slug]/more.ts",
    "app/blog/s/page.tsx",
    "app/(shop)/{id}/page.tsx",
    "app/top.ts",
    "lib/a.ts",
    "lib/b.tsx",
    "lib/deep/c.ts",
    "lib/a.test.ts",
    "lib/a,b.txt",
    "lib/b.txt",
    "lib/x[1].txt",
    "lib/x1.txt",
    "~name/inside.ts",
    "root.ts",
)


@pytest.fixture
def routes(tmp_path: Path) -> Path:
    for name in ROUTES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("needle\n")
    return tmp_path


def _all_ts(*but: str) -> set[str]:
    return {name for name in ROUTES if name.endswith(".ts")} - set(but)


@pytest.mark.parametrize("target", ["files", "content"])
@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("app/blog/[slug]/page.tsx", {"app/blog/[slug]/page.tsx"}),
        ("app/blog/[slug]/*", {"app/blog/[slug]/page.tsx", "app/blog/[slug]/more.ts"}),
        ("./app/blog/[slug]/page.tsx", {"app/blog/[slug]/page.tsx"}),
        ("app/(shop)/{id}/page.tsx", {"app/(shop)/{id}/page.tsx"}),
        ("app/**/{id}/*.{ts,tsx}", {"app/(shop)/{id}/page.tsx"}),
        ("x[1].txt", {"lib/x[1].txt"}),
        ("lib/a,b.txt", {"lib/a,b.txt"}),
        ("lib/[ab].ts*", {"lib/a.ts", "lib/b.tsx"}),
        ("./**/*.ts", _all_ts()),
        ("./*.ts", {"root.ts"}),
        ("././lib/*.ts", {"lib/a.ts", "lib/a.test.ts"}),
        ("*.ts,*.tsx", {name for name in ROUTES if name.endswith((".ts", ".tsx"))}),
        ("*.ts, lib/*.tsx", _all_ts() | {"lib/b.tsx"}),
        ("*.{ts,tsx},*.txt", set(ROUTES)),
        ("*.ts,!*.test.ts", _all_ts("lib/a.test.ts")),
        ("!*.test.ts,*.ts", _all_ts("lib/a.test.ts")),
        ("!./lib/**,*.ts", {"root.ts", "app/top.ts", "app/blog/[slug]/more.ts", "~name/inside.ts"}),
        ("{root}/lib/**/*.ts", {"lib/a.ts", "lib/a.test.ts", "lib/deep/c.ts"}),
        ("{root}/app/blog/[slug]/page.tsx", {"app/blog/[slug]/page.tsx"}),
        ("{root}/lib/*.ts,{root}/root.ts", {"lib/a.ts", "lib/a.test.ts", "root.ts"}),
        ("lib/../root.ts", {"root.ts"}),
        ("/lib/*.tsx", {"lib/b.tsx"}),
        ("/*.ts", {"root.ts"}),
        ("lib/deep/", {"lib/deep/c.ts"}),
        ("~name/*.ts", {"~name/inside.ts"}),
    ],
)
def test_a_glob_means_what_a_person_means(routes: Path, glob: str, found: set[str], target: str):
    glob = glob.replace("{root}", str(routes))
    asked = {"pattern": glob, "target": "files"} if target == "files" else {"pattern": "needle", "file_glob": glob}
    result = call(make_context(routes), "search_files", **asked, output_mode="files_only", limit=100)
    assert set(result.text.splitlines()[1:]) == found


@pytest.mark.parametrize("target", ["files", "content"])
def test_a_glob_may_begin_elsewhere_than_the_search(routes: Path, tmp_path_factory, monkeypatch, target: str):
    monkeypatch.setenv("HOME", str(routes))
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "other.ts").write_text("needle\n")

    def found(ctx, glob: str) -> set[str]:
        asked = (
            {"pattern": glob, "target": "files"} if target == "files" else {"pattern": "needle", "file_glob": glob}
        )
        return set(call(ctx, "search_files", **asked, output_mode="files_only", limit=100).text.splitlines()[1:])

    ctx = make_context(elsewhere, "dont_ask")
    assert found(ctx, "~/lib/*.tsx") == {str(routes / "lib/b.tsx")}
    assert found(ctx, f"{routes}/app/blog/[slug]/*.ts") == {str(routes / "app/blog/[slug]/more.ts")}
    two = found(ctx, f"{routes}/lib/deep/*.ts,{routes}/app/*.ts")
    assert two == {str(routes / "lib/deep/c.ts"), str(routes / "app/top.ts")}
    assert found(make_context(routes / "app", "dont_ask"), "../lib/*.tsx") == {str(routes / "lib/b.tsx")}


def test_globs_in_two_places_are_refused_with_what_to_do(routes: Path, tmp_path: Path):
    asked = {"pattern": "*.ts,/etc/*.conf", "target": "files"}
    assert "one after the other" in error_of(call(make_context(routes), "search_files", **asked))


def test_a_glob_that_begins_outside_of_the_workspace_asks_as_its_path_would(routes: Path, tmp_path_factory):
    cwd = tmp_path_factory.mktemp("cwd")
    approver = ScriptedApprover("no")
    call(make_context(cwd, "default", approver), "search_files", pattern=f"{routes}/lib/*.ts", target="files")
    assert [str(action.path) for action in approver.asked] == [str(routes / "lib")]
