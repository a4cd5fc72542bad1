"""`read_file` and `write_file` where files are huge, odd, changing, or not to be had."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import tools.read_file
import tools.write_file  # noqa: F401 - registers the tools
from tests.support.tool_context import ScriptedApprover, body_of, call, error_of, make_context, page_of, payload
from tools.files.seen import FilesSeen

as_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write whatever the permissions say")


@pytest.fixture(scope="module")
def many_lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    (folder / "a").write_text("".join(f"line {n}\n" for n in range(1, 100_001)))
    return folder


@pytest.fixture
def terabyte(tmp_path: Path) -> Iterator[Path]:
    """A file that begins with text and has a hole of one TB behind it."""
    with (tmp_path / "big").open("wb") as file:
        file.write(b"line\n" * 4000)
        file.truncate(1 << 40)
    yield tmp_path
    (tmp_path / "big").unlink()


def test_any_page_of_a_hundred_thousand_lines_is_found(many_lines: Path):
    ctx = make_context(many_lines)
    for offset in (1, 50_000, 99_999):
        value = page_of(call(ctx, "read_file", path="a", offset=offset, limit=2))
        assert value["content"] == f"{offset}|line {offset}\n{offset + 1}|line {offset + 1}"
        assert value["total_lines"] == 100_000
    assert "next_offset" not in value


def test_a_hundred_thousand_lines_are_replaced(many_lines: Path):
    content = "".join(f"LINE {n}\n" for n in range(1, 100_001))
    value = payload(call(make_context(many_lines), "write_file", path="b", content=content))
    assert value["lines"] == 100_000
    assert (many_lines / "b").read_text() == content


def test_the_beginning_of_a_terabyte_is_read_at_once(terabyte: Path):
    value = page_of(call(make_context(terabyte), "read_file", path="big", limit=3))
    assert value["content"] == "1|line\n2|line\n3|line"
    assert value["total_lines"] is None
    assert value["next_offset"] == 4


def test_a_line_of_a_terabyte_is_not_read_to_its_end(terabyte: Path):
    value = page_of(call(make_context(terabyte), "read_file", path="big", offset=4000, limit=2))
    assert value["content"].startswith("4000|line\n4001|\0")
    assert "line cut" in value["content"]


def test_a_terabyte_is_not_replaced_as_a_whole(terabyte: Path):
    assert "too big" in error_of(call(make_context(terabyte), "write_file", path="big", content="x"))
    assert (terabyte / "big").stat().st_size == 1 << 40


def test_a_hole_without_text_is_binary(tmp_path: Path):
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(1 << 40)
    assert "binary" in error_of(call(make_context(tmp_path), "read_file", path="hole"))


def test_a_line_of_fifty_megabytes_is_cut(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x" * 50_000_000 + b"\nnext\n")
    value = page_of(call(make_context(tmp_path), "read_file", path="a"))
    first, second = value["content"].split("\n")
    assert first.endswith("xxx… [line cut: it has 50,000,000 bytes]")
    assert len(first) < 2100
    assert second == "2|next"
    assert value["total_lines"] == 2


def test_links_that_lead_in_a_circle_are_a_clear_error(tmp_path: Path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    ctx = make_context(tmp_path)
    for name, more in (("read_file", {}), ("write_file", {"content": "x"})):
        message = error_of(call(ctx, name, path="a", **more))
        assert "symbolic link" in message or "does not exist" in message
    assert (tmp_path / "a").is_symlink()


def test_a_directory_that_holds_itself_is_listed(tmp_path: Path):
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "broken").symlink_to("nowhere")
    assert body_of(call(make_context(tmp_path), "read_file", path="loop/loop")) == "broken\nloop/"


@as_user
def test_a_file_without_permission_is_a_clear_error(tmp_path: Path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "a").chmod(0)
    assert "permissions" in error_of(call(make_context(tmp_path), "read_file", path="a"))


@as_user
def test_a_directory_that_may_not_be_written_is_a_clear_error(tmp_path: Path):
    (tmp_path / "d").mkdir(mode=0o500)
    assert "permissions" in error_of(call(make_context(tmp_path), "write_file", path="d/a", content="x"))


@pytest.mark.parametrize("path", ["/proc/self/environ", "/dev/zero", "/sys/kernel/notes", "/proc"])
def test_what_the_kernel_makes_up_is_refused_even_if_the_person_agrees(tmp_path: Path, path: str):
    ctx = make_context(tmp_path, approver=ScriptedApprover("allow_once"))
    assert "below /proc, /sys and /dev" in error_of(call(ctx, "read_file", path=path))


def test_a_pipe_is_not_written_to(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    assert "pipe" in error_of(call(make_context(tmp_path), "write_file", path="pipe", content="x"))


def test_a_name_with_a_line_break_is_a_name(tmp_path: Path):
    ctx = make_context(tmp_path)
    assert payload(call(ctx, "write_file", path="a\nb", content="x\n"))["path"] == "a\nb"
    assert body_of(call(ctx, "read_file", path="a\nb")) == "1|x"
    assert [path.name for path in tmp_path.iterdir()] == ["a\nb"]


def test_a_name_in_another_letter_case_is_named(tmp_path: Path):
    (tmp_path / "Makefile").write_text("x\n")
    message = error_of(call(make_context(tmp_path), "read_file", path="makefile"))
    assert str(tmp_path / "Makefile") in message


def test_a_file_replaced_while_it_is_written_keeps_the_other_s_content(tmp_path: Path):
    file = tmp_path / "a"
    file.write_text("old\n")

    def swap() -> None:
        (tmp_path / "new").write_text("theirs\n")
        (tmp_path / "new").replace(file)

    ctx = make_context(tmp_path, "default", ScriptedApprover("allow_once", before_answer=swap))
    seen = FilesSeen()
    call(replace(ctx, seen=seen), "read_file", path="a")
    assert "changed" in error_of(call(replace(ctx, seen=seen), "write_file", path="a", content="mine\n"))
    assert file.read_text() == "theirs\n"


def test_a_file_deleted_before_the_write_is_not_made_again(tmp_path: Path):
    file = tmp_path / "a"
    file.write_text("old\n")
    ctx = make_context(tmp_path, "default", ScriptedApprover("allow_once", before_answer=file.unlink))
    assert "nothing at that path" in error_of(call(ctx, "write_file", path="a", content="mine\n"))
    assert not file.exists()


def test_no_temporary_file_is_left(tmp_path: Path):
    ctx = make_context(tmp_path)
    for content in ("one", "two"):
        call(ctx, "write_file", path="a", content=content)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
