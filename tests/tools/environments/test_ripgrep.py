"""Searching with ripgrep: order, totals, pages, and what is left out."""

from __future__ import annotations

import contextlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.searches import write_tree
from tools.environments.ripgrep import rg_program
from tools.environments.search import search as search_tree
from tools.errors import ToolError, ToolInterrupted
from tools.ports import SearchQuery, SearchResult
from tools.settings import SearchSettings


def search(pattern: str, path: Path, **query) -> SearchResult:
    return search_tree(replace(SearchQuery(pattern, path), **query), SearchSettings())


def found(result: SearchResult, root: Path) -> list[str]:
    return [str(hit.path.relative_to(root)) for hit in result.hits]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Thirty files, each with the word three times."""
    for n in range(30):
        folder = tmp_path / f"d{n % 3}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{n:02}.txt").write_text("head\nneedle 1\nneedle 2\nmiddle\nneedle 3\ntail\n")
    return tmp_path


def test_hits_are_ordered_by_path_and_line_and_totals_are_true(tree: Path):
    result = search("needle", tree, limit=7)
    assert result.total == 90
    assert result.truncated
    assert [(str(hit.path.relative_to(tree)), hit.line) for hit in result.hits[:4]] == [
        ("d0/f00.txt", 2),
        ("d0/f00.txt", 3),
        ("d0/f00.txt", 5),
        ("d0/f03.txt", 2),
    ]


def test_pages_put_together_are_the_whole(tree: Path):
    whole = search("needle", tree, limit=90).hits
    pages = [hit for offset in range(0, 90, 7) for hit in search("needle", tree, limit=7, offset=offset).hits]
    assert pages == list(whole)
    assert len(whole) == 90
    assert search("needle", tree, limit=7, offset=90).hits == ()
    assert not search("needle", tree, limit=90).truncated


def test_lines_around_a_match_come_once_and_are_marked(tree: Path):
    hits = search("needle 2|needle 3", tree / "d0" / "f00.txt", context=1).hits
    assert [(hit.line, hit.is_match) for hit in hits] == [(2, False), (3, True), (4, False), (5, True), (6, False)]


def test_the_last_match_of_a_page_keeps_the_lines_behind_it(tree: Path):
    hits = search("needle 2", tree, context=2, limit=1).hits
    assert [hit.line for hit in hits] == [1, 2, 3, 4, 5]
    assert [hit.line for hit in hits if hit.is_match] == [3]


def test_the_first_match_of_a_later_page_has_no_lines_of_the_page_before(tree: Path):
    hits = search("needle", tree, context=1, limit=1, offset=2).hits
    assert [(hit.line, hit.is_match) for hit in hits] == [(4, False), (5, True), (6, False)]


def test_files_only_and_count_page_over_files(tree: Path):
    files = search("needle", tree, output="files_only", limit=4, offset=28)
    assert (len(files.hits), files.total) == (2, 30)
    counts = search("needle", tree, output="count", limit=1)
    assert (counts.hits[0].count, counts.total) == (3, 30)


def test_names_come_newest_first(tmp_path: Path):
    for age, name in enumerate(["new.py", "middle.py", "old.py"]):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))
    (tmp_path / "x.txt").touch()
    result = search("*.py", tmp_path, target="files", limit=2)
    assert found(result, tmp_path) == ["new.py", "middle.py"]
    assert (result.total, result.truncated) == (3, True)


def test_ignored_files_are_left_out_even_when_a_glob_names_them(tmp_path: Path):
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    (tmp_path / "build").mkdir()
    for name in ("a.log", "build/b.txt", "c.txt"):
        (tmp_path / name).write_text("needle\n")
    assert found(search("needle", tmp_path), tmp_path) == ["c.txt"]
    assert found(search("needle", tmp_path, glob="*.log"), tmp_path) == []
    assert found(search("*.log", tmp_path, target="files"), tmp_path) == []


def test_a_glob_may_name_directories_below_the_searched_one(tree: Path):
    assert search("needle 1", tree, glob="d1/*.txt").total == 10
    assert search("d{1,2}/*0.txt", tree, target="files").total == 2
    assert search("needle 1", tree, glob="!d1/**").total == 20


def test_hidden_files_are_searched_but_not_git(tmp_path: Path):
    for name in (".github/ci.yml", ".git/config", "sub/.git/HEAD"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("needle\n")
    assert found(search("needle", tmp_path), tmp_path) == [".github/ci.yml"]
    assert found(search("*", tmp_path, target="files"), tmp_path) == [".github/ci.yml"]


def test_files_that_may_hold_credentials_are_left_out(tmp_path: Path):
    for name in (".env", "deploy.pem", ".aws/config", "app.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("needle\n")
    result = search("needle", tmp_path)
    assert (found(result, tmp_path), result.total) == (["app.py"], 1)
    names = search("*", tmp_path, target="files")
    assert (found(names, tmp_path), names.total, names.skipped) == (["app.py"], 1, 3)


def test_a_guess_at_the_content_of_a_credentials_file_gets_no_answer(tmp_path: Path):
    (tmp_path / ".env").write_text("TOKEN=abc\n")
    assert search("TOKEN=abc", tmp_path) == search("TOKEN=xyz", tmp_path)


def test_private_directories_are_left_out_unless_named(tmp_path: Path):
    private = tmp_path / "home"
    private.mkdir()
    (private / "notes").write_text("needle\n")
    below = search_tree(SearchQuery("needle", tmp_path), SearchSettings(), private=(private,))
    assert below.total == 0
    named = search_tree(SearchQuery("needle", private), SearchSettings(), private=(private,))
    assert named.total == 1


def test_a_file_that_is_named_is_searched_whatever_it_is_called(tmp_path: Path):
    (tmp_path / ".env").write_text("needle\n")
    assert search("needle", tmp_path / ".env").total == 1


def test_links_are_not_followed(tmp_path: Path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside").write_text("needle\n")
    (inside / "link").symlink_to(tmp_path / "outside")
    assert search("needle", inside).total == 0


def test_a_long_line_is_cut_around_its_match(tmp_path: Path):
    (tmp_path / "min.js").write_text("é" * 5000 + "needle" + "y" * 5000 + "\n")
    (hit,) = search("needle", tmp_path).hits
    assert "needle" in hit.text
    assert hit.text.startswith("…")
    assert hit.text.endswith("…")
    assert len(hit.text) == SearchSettings().max_line_chars + 2


def test_names_and_lines_that_are_not_utf8_are_found(tmp_path: Path):
    odd = tmp_path / os.fsdecode(b"\xff name\nwith line.txt")
    odd.write_bytes(b"gr\xfcn needle\n")
    (hit,) = search("needle", tmp_path).hits
    assert hit.path == odd
    assert "needle" in hit.text
    assert search("*.txt", tmp_path, target="files").hits[0].path == odd


def test_patterns_and_names_that_look_like_options_are_not(tmp_path: Path):
    (tmp_path / "--files").write_text("--help\n")
    (hit,) = search("--help", tmp_path).hits
    assert (hit.path.name, hit.text) == ("--files", "--help")


@pytest.mark.parametrize(
    ("pattern", "query", "hint"),
    [
        ("a(", {}, "escape"),
        ("a", {"glob": "x["}, "Globs"),
        ("a", {"type": "nonsense"}, "file_glob"),
        ("a\0", {}, "could not"),
    ],
)
def test_a_pattern_that_is_not_understood_is_explained(tmp_path: Path, pattern: str, query: dict, hint: str):
    with pytest.raises(ToolError, match=hint):
        search(pattern, tmp_path, **query)


def test_an_escaped_backslash_before_n_is_no_line_break(tmp_path: Path):
    (tmp_path / "f").write_text("C:\\new\n")
    assert search(r"C:\\new", tmp_path).total == 1


def test_a_pattern_with_a_line_break_looks_across_lines_of_either_kind(tmp_path: Path):
    write_tree(tmp_path, {"unix": "one\ntwo\nthree\n", "windows": b"one\r\ntwo\r\nthree\r\n"})
    for pattern, fixed in ((r"one\ntw[o\n]", False), ("one\ntwo", True)):
        result = search(pattern, tmp_path, fixed=fixed)
        assert result.total == result.shown == 2
        assert [(hit.path.name, hit.line, hit.text) for hit in result.hits] == [
            ("unix", 1, "one"),
            ("unix", 2, "two"),
            ("windows", 1, "one"),
            ("windows", 2, "two"),
        ]


def test_multiline_lets_the_dot_cross_lines_and_a_page_counts_places(tmp_path: Path):
    (tmp_path / "f").write_text("begin\n1\nend\nbegin 2 end begin\nend\n")
    whole = search("begin.*?end", tmp_path, multiline=True)
    assert (whole.total, whole.shown) == (3, 3)
    second = search("begin.*?end", tmp_path, multiline=True, offset=1, limit=1)
    assert [(hit.line, second.shown) for hit in second.hits] == [(4, 1)]
    third = search("begin.*?end", tmp_path, multiline=True, offset=2)
    assert [(hit.line, hit.is_match) for hit in third.hits] == [(4, True), (5, True)]


def test_a_match_of_very_many_lines_is_cut_short(tmp_path: Path):
    (tmp_path / "f").write_text("begin\n" + "x\n" * 5000 + "end\n")
    result = search("begin.*end", tmp_path, multiline=True)
    assert result.total == 1
    assert len(result.hits) == 40


def test_an_end_of_line_is_found_before_either_break(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"word\r\nword\nwords\r\n")
    assert search("word$", tmp_path).total == 2
    assert search(r"word\r", tmp_path).total == 1


def test_a_literal_text_needs_no_escapes(tmp_path: Path):
    (tmp_path / "f").write_text("a.b(c)*\naxb(c)*\n")
    assert search("a.b(c)*", tmp_path, fixed=True).total == 1


def test_a_search_may_include_what_is_ignored_but_never_git(tmp_path: Path):
    write_tree(tmp_path, {".gitignore": "*.log\n", "a.log": "needle\n", "b.txt": "needle\n", ".git/x": "needle\n"})
    assert search("needle", tmp_path).total == 1
    assert search("needle", tmp_path, include_ignored=True).total == 2
    assert found(search("*.log", tmp_path, target="files", include_ignored=True), tmp_path) == ["a.log"]


def test_a_type_stands_for_its_names(tmp_path: Path):
    write_tree(tmp_path, {"a.py": "needle\n", "b.pyi": "needle\n", "c.js": "needle\n", "d/a.py": "needle\n"})
    assert found(search("needle", tmp_path, type="py"), tmp_path) == ["a.py", "b.pyi", "d/a.py"]
    assert found(search("needle", tmp_path, type="py", glob="d/*"), tmp_path) == ["d/a.py"]


def test_a_binary_file_that_is_named_is_refused_with_the_reason(tmp_path: Path):
    (tmp_path / "x.bin").write_bytes(b"needle\0")
    with pytest.raises(ToolError, match="binary"):
        search("needle", tmp_path / "x.bin")


def test_a_gigabyte_of_nothing_is_passed_over_at_once(tmp_path: Path):
    (tmp_path / "a.txt").write_text("needle\n")
    with (tmp_path / "hole").open("wb") as file:
        file.write(b"needle\n")
        file.truncate(1 << 30)
    for multiline in (False, True):
        assert found(search("needle", tmp_path, multiline=multiline), tmp_path) == ["a.txt"]


def test_a_named_file_answers_a_search_for_names_only_if_it_matches(tmp_path: Path):
    (tmp_path / "a.py").touch()
    assert found(search("*.py", tmp_path / "a.py", target="files"), tmp_path) == ["a.py"]
    assert search("*.js", tmp_path / "a.py", target="files").total == 0


def test_look_around_works(tree: Path):
    assert search("(?<=needle )3", tree).total == 30


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_spoils_nothing(tree: Path):
    (tree / "d0" / "f00.txt").chmod(0)
    (tree / "d1").chmod(0)
    result = search("needle", tree)
    assert (result.total, result.unreadable) == (57, 2)
    (tree / "d1").chmod(0o755)


@pytest.fixture
def endless_rg(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An `rg` that never ends; the pipe returned gets its process id when it runs."""
    folder = tmp_path_factory.mktemp("bin")
    os.mkfifo(folder / "started")
    (folder / "rg").write_text(f"#!/bin/sh\necho $$ > '{folder}/started'\nexec sleep 600\n")
    (folder / "rg").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    return folder / "started"


def test_what_was_found_when_the_time_was_over_is_told_as_such(tree: Path, monkeypatch: pytest.MonkeyPatch):
    slow = tree.parent / f"{tree.name}-bin" / "rg"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nprintf './a.txt\\0./b.txt\\0./cut'\nexec sleep 600\n")
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow.with_name("python")))
    result = search_tree(SearchQuery("*", tree, target="files"), SearchSettings(timeout=0.5))
    assert result.partial
    assert sorted(found(result, tree)) == ["a.txt", "b.txt"]


def test_a_search_that_takes_too_long_is_stopped(tmp_path: Path, endless_rg: Path):
    with ThreadPoolExecutor(1) as pool:
        outcome = pool.submit(search_tree, SearchQuery("x", tmp_path), SearchSettings(timeout=0.3))
        process = int(endless_rg.read_text())
        with pytest.raises(ToolError, match="too long"):
            outcome.result()
    assert not Path(f"/proc/{process}").exists()


def test_a_search_without_any_time_is_not_started(tree: Path):
    with pytest.raises(ToolError, match="too long"):
        search_tree(SearchQuery("needle", tree), SearchSettings(timeout=0.0))


def test_a_cancelled_turn_ends_the_running_search(tmp_path: Path, endless_rg: Path):
    token = CancelToken()
    with ThreadPoolExecutor(1) as pool:
        outcome = pool.submit(search_tree, SearchQuery("x", tmp_path), SearchSettings(), token)
        process = int(endless_rg.read_text())
        token.cancel()
        with pytest.raises(ToolInterrupted):
            outcome.result()
    assert not Path(f"/proc/{process}").exists()


def test_the_rg_next_to_the_interpreter_goes_before_one_on_path(
    program_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    theirs = program_folder / "theirs"
    for folder in (tmp_path / "ours", theirs):
        folder.mkdir()
        (folder / "rg").write_text("#!/bin/sh\n")
        (folder / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", str(theirs))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "ours" / "python"))
    for expected in (tmp_path / "ours" / "rg", theirs / "rg"):
        found = rg_program()
        assert found is not None
        assert found.words == (str(expected),)
        expected.unlink()


@pytest.mark.usefixtures("no_ripgrep")
def test_an_endless_expression_of_grep_ends_with_the_time(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    write_tree(tmp_path, {f"{n}.txt": "a" * 40 + "!" for n in range(50)})
    query = SearchQuery(r"(a|aa)+(a|aa)+\1\2\1\1\2\2$", tmp_path)
    with pytest.raises(ToolError, match="too long"):
        search_tree(query, SearchSettings(timeout=0.3))
    assert not _processes_in(tmp_path)


def _processes_in(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            found += [str(entry)] if entry.readlink() == folder else []
    return found


def test_rg_is_found_beside_the_interpreter(tree: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    assert search("needle", tree).total == 90


def test_the_users_own_settings_of_rg_do_not_count(tree: Path, monkeypatch: pytest.MonkeyPatch):
    (tree / "rc").write_text("--max-count=1\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tree / "rc"))
    assert search("needle", tree / "d0").total == 30
