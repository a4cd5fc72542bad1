"""A path means what a person means, in every tool that takes one."""

from __future__ import annotations

from pathlib import Path

import pytest

import tools.patch
import tools.read_file
import tools.search_files
import tools.write_file  # noqa: F401 - they register the tools
from tests.support.each import each
from tests.support.folded_case import fold_case
from tests.support.tool_context import body_of, call, make_context, payload
from tools.os_compat import absolute, one_slash, same_directory

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
    assert body_of(call(ctx, "read_file", path=name)) == "1|one"
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
    assert body_of(call(ctx, "read_file", path="~/x")) == "1|mine"
    assert "mine" in call(ctx, "search_files", pattern="mine", path="~").text


@each(
    ("path", "expected"),
    [("//srv/a", "/srv/a"), ("/srv/a", "/srv/a"), ("///srv", "///srv"), ("//", "/"), ("a//b", "a//b"), ("", "")],
)
def test_a_second_slash_at_the_beginning_names_the_same_directory(path: str, expected: str) -> None:
    assert one_slash(path) == expected


def test_spellings_of_one_directory_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    real = f"{tmp_path}/real"
    for other in (
        f"{real}/",
        f"/{real}",
        f"{tmp_path}//real",
        f"{tmp_path}/link",
        f"{tmp_path}/link/deep/..",
        Path(real),
    ):
        assert same_directory(real, other)
        assert same_directory(other, real)


def test_other_directories_are_not_the_same(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    for other in (f"{tmp_path}/two", f"{tmp_path}/One", str(tmp_path), f"{tmp_path}/none", "", "/a\0b"):
        assert not same_directory(tmp_path / "one", other)


def test_case_and_composed_letters_are_the_same_where_the_file_system_takes_them_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "Café"
    real.mkdir()
    spelled = [f"{tmp_path}/{name}" for name in ("café", "CAFÉ")]
    assert not any(same_directory(real, each) for each in spelled)
    fold_case(monkeypatch, real)
    assert all(same_directory(real, each) for each in spelled)
    assert not same_directory(real, f"{tmp_path}/cafe")


def test_what_is_not_there_is_compared_as_text(tmp_path: Path) -> None:
    assert same_directory(tmp_path / "gone", f"{tmp_path}/gone/")
    assert not same_directory(tmp_path / "gone", tmp_path / "GONE")
