"""`repo_map`: what the model reads of a tree of real files, and how it is bounded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import pytest

import tools.repo_map  # noqa: F401 - registers the tool
from agent_core.cancel import CancelToken
from tests.support.grammars import needs
from tests.support.tool_context import ScriptedApprover, call, error_of, make_context
from tools.context import ToolContext
from tools.errors import ToolInterrupted, install_line
from tools.files.seen import FilesSeen, digest_of
from tools.outline import languages, parsing
from tools.outline.parsing import FILE_NAME, Limits, collect
from tools.ports import FileSystem
from tools.registry import registry

ENGINE = """class Engine {
  start(fuel) { return fuel; }
}
function makeEngine(kind) { return new Engine(kind); }
module.exports = { makeEngine };
"""
USER = """const { makeEngine } = require("./engine");
function drive(road) { return makeEngine("big").start(road); }
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    needs("js")
    folder = tmp_path / "work"
    for name, text in {"lib/engine.js": ENGINE, "app/drive.js": USER, "notes.md": "# notes\n"}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def context(work: Path, **given: object) -> ToolContext:
    return replace(make_context(work), cache=work.parent / "cache", **given)


def test_a_map_begins_with_what_matters_most(work: Path):
    result = call(context(work), "repo_map")
    assert result.text == (
        ".: 4 of 4 definitions in 2 files (lib/ 1, app/ 1), the files that matter most first.\n"
        "lib/engine.js\n1|class Engine\n2|  start(fuel)\n4|function makeEngine(kind)\n"
        "app/drive.js\n2|function drive(road)"
    )
    assert result.facts["files"] == 2
    assert not result.failed


def test_a_folder_and_a_file_can_be_mapped(work: Path):
    assert "drive(road)" in call(context(work), "repo_map", path="app").text
    assert "Engine" not in call(context(work), "repo_map", path="app").text
    told = call(context(work), "repo_map", path="lib/engine.js").text
    assert told.startswith("lib/engine.js: 3 of 3 definitions in 1 file")


@pytest.mark.parametrize("focus", [["drive"], "drive", ["app/drive.js"], ["./app/"], ["app/drive.js", "nothing"]])
def test_what_is_in_focus_comes_first(work: Path, focus: object):
    text = call(context(work), "repo_map", focus=focus).text
    assert text.index("app/drive.js\n") < text.index("lib/engine.js\n")


PRIVATE = """class Store {
  #write(line) { return line; }
  _keep(line) { return this.#write(line); }
}
function _helper(store) { return store._keep(1); }
function unused() {}
"""


@pytest.mark.parametrize(
    ("focus", "shown"),
    [
        (["_helper"], "function _helper(store)"),
        (["_keep"], "  _keep(line)"),
        (["Store._keep()"], "  _keep(line)"),
        (["private._helper"], "function _helper(store)"),
        (["lib/private.js", "_helper"], "function _helper(store)"),
        (["lib/private.js _helper"], "function _helper(store)"),
        (["#write"], "  #write(line)"),
        ("Store#write", "  #write(line)"),
    ],
)
def test_a_private_name_in_focus_is_in_the_map_however_small_it_is(work: Path, focus: object, shown: str):
    (work / "lib" / "private.js").write_text(PRIVATE)
    for number in range(60):
        text = (
            f'const {{ makeEngine }} = require("./engine");\nfunction drive{number}() {{ makeEngine({number}); }}\n'
        )
        (work / "lib" / f"drive_{number}.js").write_text(text)
    lines = call(context(work), "repo_map", focus=focus, max_tokens=100).text.splitlines()
    assert any(line.partition("|")[2] == shown for line in lines), lines


def test_a_name_in_focus_that_is_nowhere_is_told(work: Path):
    text = call(context(work), "repo_map", focus=["drive", "_absent"]).text
    assert "[nothing is named _absent (what is defined in functions is not in the map): use search_files]" in text


def test_a_path_in_focus_is_from_the_session_s_directory_whatever_is_mapped(work: Path):
    (work / "app" / "other.js").write_text("function other() {}\n")
    for focus in ("app/other.js", str(work / "app" / "other.js")):
        text = call(context(work), "repo_map", path="app", focus=[focus]).text
        assert text.split("\n")[1] == "other.js"


def test_what_the_model_has_read_counts(work: Path):
    for name in ("one", "two"):
        (work / f"{name}_part.js").write_text(f"function {name}Part() {{}}\n")
        (work / f"use_{name}.js").write_text(f"{name}Part();\n")
    seen = FilesSeen()
    seen.note(work / "use_two.js", digest_of(b"twoPart();\n"), whole=True)
    text = call(context(work, seen=seen), "repo_map").text
    assert text.index("two_part.js\n") < text.index("one_part.js\n")


def test_a_map_keeps_to_its_tokens_and_says_that_there_is_more(work: Path):
    for number in range(200):
        (work / f"file_{number}.js").write_text(f"function thingNumber{number}(first, second) {{}}\n")
    small, big = (call(context(work), "repo_map", max_tokens=tokens).text for tokens in (100, 1000))
    assert len(small) < 100 * 3.5 + 300
    assert len(small) < len(big) < 1000 * 3.5 + 300
    assert "files more: name a path, a focus or more max_tokens]" in small


def test_what_git_ignores_is_not_mapped(work: Path):
    (work / ".gitignore").write_text("lib/\n")
    assert "Engine" not in call(context(work), "repo_map").text


def test_a_changed_file_is_read_anew_and_the_others_are_not(work: Path):
    assert call(context(work), "repo_map").facts["parsed"] == 2
    assert call(context(work), "repo_map").facts["parsed"] == 0
    (work / "app" / "drive.js").write_text("function steer(road) {}\n")
    result = call(context(work), "repo_map")
    assert result.facts["parsed"] == 1
    assert "steer(road)" in result.text
    assert "drive(road)" not in result.text
    (work / "app" / "drive.js").unlink()
    assert "steer" not in call(context(work), "repo_map").text


def test_a_damaged_cache_changes_nothing(work: Path):
    before = call(context(work), "repo_map").text
    (work.parent / "cache" / FILE_NAME).write_bytes(b"damage" * 1000)
    assert call(context(work), "repo_map").text == before
    assert call(context(work), "repo_map").facts["parsed"] == 0


def test_a_session_without_a_cache_has_a_map(work: Path):
    assert "Engine" in call(make_context(work), "repo_map").text


def test_big_binary_and_squeezed_files_are_left_out(work: Path):
    (work / "big.js").write_text("function tooBig() {}\n" * 30_000)
    (work / "binary.js").write_bytes(b"function binary() {}\0")
    (work / "squeezed.js").write_text("function squeezed() {}" * 1000)
    with (work / "sparse.js").open("wb") as stream:
        stream.truncate(1 << 30)
    text = call(context(work), "repo_map").text
    assert "[2 files left out: too big, or not readable]" in text
    assert not any(name in text for name in ("tooBig", "binary", "squeezed", "sparse"))


def test_links_lead_nowhere(work: Path, tmp_path: Path):
    secret = tmp_path / "elsewhere.js"
    secret.write_text("function elsewhere() {}\n")
    (work / "link.js").symlink_to(secret)
    (work / "loop").symlink_to(work)
    (work / "loop.js").symlink_to(work / "loop.js")
    text = call(context(work), "repo_map").text
    assert "elsewhere" not in text
    assert text.count("class Engine") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_left_out(work: Path):
    (work / "lib" / "engine.js").chmod(0)
    assert "[1 file left out: too big, or not readable]" in call(context(work), "repo_map").text


def test_a_file_that_goes_while_the_map_is_made_is_passed_over(work: Path):
    files = Files(make_context(work).fs, lambda path: path.unlink())
    result = call(context(work, fs=files), "repo_map")
    assert "No definitions in 2 files" in result.text


@pytest.mark.parametrize("place", ["../outside", "door", "door/deeper"])
def test_only_the_workspace_is_mapped_and_nobody_is_asked(work: Path, tmp_path: Path, place: str):
    outside = tmp_path / "outside"
    (outside / "deeper").mkdir(parents=True)
    (outside / "deeper" / "a.js").write_text("function outside() {}\n")
    (work / "door").symlink_to(outside)
    approver = ScriptedApprover("allow_session")
    message = error_of(call(make_context(work, approver=approver), "repo_map", path=place))
    assert "outside the workspace" in message
    assert approver.asked == []


def test_a_link_within_the_workspace_can_be_mapped(work: Path):
    (work / "short").symlink_to(work / "lib")
    approver = ScriptedApprover("reject_once")
    assert "class Engine" in call(make_context(work, approver=approver), "repo_map", path="short").text
    assert approver.asked == []


def test_time_that_is_up_leaves_a_part_and_the_next_call_goes_on(work: Path):
    late = collect(work, context(work), Limits(seconds=0))
    assert (late.outlines, late.unread) == ({}, 2)
    first = collect(work, context(work), Limits(files=1))
    assert (len(first.outlines), first.unread) == (1, 1)
    again = collect(work, context(work), Limits())
    assert (len(again.outlines), again.parsed, again.unread) == (2, 1, 0)


def test_the_model_is_told_of_files_that_there_was_no_time_for(work: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parsing, "USUAL", Limits(files=1))
    text = call(context(work), "repo_map").text
    assert "[1 file not looked at in time: call again to go on, or name a deeper path]" in text


def test_a_cancel_ends_it_at_once_and_keeps_what_was_done(work: Path):
    token = CancelToken()
    opened: list[Path] = []

    def cancel_at_the_second(path: Path) -> None:
        opened.append(path)
        if len(opened) == 2:
            token.cancel()

    files = Files(make_context(work).fs, cancel_at_the_second)
    with pytest.raises(ToolInterrupted):
        call(context(work, fs=files, interrupt=token), "repo_map")
    assert collect(work, context(work), Limits()).parsed == 1


def test_where_there_is_no_source_the_model_is_told_what_to_do(work: Path, tmp_path: Path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert call(context(empty), "repo_map").text == (
        f"No definitions in 0 files of source below {empty}. Use search_files instead."
    )
    assert "nothing at that path" in error_of(call(context(work), "repo_map", path="absent"))


def test_a_language_without_its_grammar_is_named(work: Path, monkeypatch: pytest.MonkeyPatch):
    (work / "old.go").write_text("package a\n")
    monkeypatch.setitem(languages.TONGUES, "go", languages.Tongue("go", "tree_sitter_absent"))
    text = call(context(work), "repo_map").text
    assert f"[left out, no grammar installed: go 1; {install_line('map')}]" in text


def test_the_schema_is_short():
    entry = registry.get("repo_map")
    assert entry is not None
    assert len(json.dumps(entry.definition())) <= 380


@dataclass
class Files:
    """The real files, with something done before each is opened."""

    real: FileSystem
    before: Callable[[Path], None]

    def open(self, path: Path) -> BinaryIO:
        self.before(path)
        return self.real.open(path)

    def open_saved(self, path: Path) -> BinaryIO:
        return self.open(path)

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)
