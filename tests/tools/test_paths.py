"""A path means what a person means, in every tool that takes one."""

from __future__ import annotations

from pathlib import Path

import pytest

import tools.patch
import tools.read_file
import tools.search_files
import tools.write_file  # noqa: F401 - they register the tools
from tests.support.each import each
from tests.support.tool_context import call, make_context, payload
from tools.paths import absolute

NAMES = ("~name", "~root", "~name/inside", "app/blog/[slug]/page.tsx", "a,b.txt", "{id}.ts", "what?.md", "*.md", "-x")


@each(
    ("path", "meant"),
    [
        ("~", "/home/me"),
        ("~/x", "/home/me/x"),
        ("~/../x", "/home/x"),
        ("~name", "/work/~name"),
        ("~root/x", "/work/~root/x"),
        ("~~", "/work/~~"),
        ("a/~/x", "/work/a/~/x"),
        ("./~/x", "/work/~/x"),
        ("./a/../b", "/work/b"),
        ("/x/./y", "/x/y"),
        (".", "/work"),
    ],
)
def test_only_a_tilde_alone_is_the_home(path, meant):
    assert absolute(path, "/work", "/home/me") == meant


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_takes_a_name_as_it_is_written(tmp_path: Path, name: str):
    ctx = make_context(tmp_path)
    payload(call(ctx, "write_file", path=name, content="one\n"))
    assert (tmp_path / name).read_text() == "one\n"
    assert payload(call(ctx, "read_file", path=name))["content"] == "1|one"
    payload(call(ctx, "patch", path=name, old_string="one", new_string="two"))
    patch = f"*** Begin Patch\n*** Update File: {name}\n@@\n-two\n+three\n*** End Patch"
    payload(call(ctx, "patch", mode="patch", patch=patch))
    assert (tmp_path / name).read_text() == "three\n"
    assert "three" in call(ctx, "search_files", pattern="three", path=name).text


def test_a_name_that_exists_is_found_by_itself_alone(tmp_path: Path):
    for name in ("[ab].txt", "a.txt", "{a,b}.md", "a.md", "b.md"):
        (tmp_path / name).write_text("x\n")
    ctx = make_context(tmp_path)
    for name in ("[ab].txt", "{a,b}.md"):
        assert call(ctx, "search_files", pattern=name, target="files").text == f"1 file:\n{name}"
        (tmp_path / name).unlink()
    assert call(ctx, "search_files", pattern="[ab].txt", target="files").text == "1 file:\na.txt"
    assert call(ctx, "search_files", pattern="{a,b}.md", target="files").text.startswith("2 files:")


def test_the_home_is_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    (tmp_path / "me").mkdir()
    (tmp_path / "me/x").write_text("mine\n")
    (tmp_path / "work").mkdir()
    ctx = make_context(tmp_path / "work", "dont_ask")
    assert payload(call(ctx, "read_file", path="~/x"))["content"] == "1|mine"
    assert "mine" in call(ctx, "search_files", pattern="mine", path="~").text
