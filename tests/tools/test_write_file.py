"""`write_file`: creates and replaces, keeps what the file was like, asks with the change."""

from __future__ import annotations

from pathlib import Path

import pytest

import tools.write_file  # noqa: F401 - registers the tool
from tests.support.tool_context import ScriptedApprover, call, error_of, make_context, payload
from tools.approval.actions import WritePath
from tools.result import ShownDiff, ShownText


def test_a_new_file_is_created_with_its_directories(tmp_path: Path):
    result = call(make_context(tmp_path), "write_file", path="a/b/c.txt", content="x\ny")
    assert payload(result) == {"path": "a/b/c.txt", "status": "created", "bytes": 3, "lines": 2}
    assert (tmp_path / "a/b/c.txt").read_bytes() == b"x\ny"
    assert result.shown == (ShownDiff(tmp_path / "a/b/c.txt", None, "x\ny"),)


def test_an_existing_file_is_replaced_and_both_contents_are_shown(tmp_path: Path):
    (tmp_path / "a").write_text("old\n")
    result = call(make_context(tmp_path), "write_file", path="a", content="new\n")
    assert payload(result)["status"] == "replaced"
    assert result.shown == (ShownDiff(tmp_path / "a", "old\n", "new\n"),)
    assert (tmp_path / "a").read_text() == "new\n"


def test_the_same_content_neither_asks_nor_writes(tmp_path: Path):
    file = tmp_path / "a"
    file.write_text("same\n")
    before = file.stat()
    approver = ScriptedApprover()
    result = call(make_context(tmp_path, "default", approver), "write_file", path="a", content="same\n")
    assert payload(result)["status"] == "unchanged"
    assert approver.asked == []
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_windows_line_endings_and_the_mark_of_a_file_are_kept(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    value = payload(call(make_context(tmp_path), "write_file", path="a", content="1\n2\n3\n"))
    assert (tmp_path / "a").read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n3\r\n"
    assert "Windows" in value["note"]


def test_mixed_line_endings_are_not_spread(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"one\r\ntwo\n")
    call(make_context(tmp_path), "write_file", path="a", content="1\n2\n")
    assert (tmp_path / "a").read_bytes() == b"1\n2\n"


def test_a_utf16_file_stays_one(tmp_path: Path):
    (tmp_path / "a").write_bytes("old".encode("utf-16"))
    call(make_context(tmp_path), "write_file", path="a", content="grüße")
    assert (tmp_path / "a").read_bytes().decode("utf-16") == "grüße"


def test_a_new_file_is_written_as_given(tmp_path: Path):
    call(make_context(tmp_path), "write_file", path="a", content="1\r\n2\n")
    assert (tmp_path / "a").read_bytes() == b"1\r\n2\n"


def test_binary_content_is_replaced_with_a_note_instead_of_a_diff(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"\0\1\2")
    result = call(make_context(tmp_path), "write_file", path="a", content="text")
    assert "binary" in payload(result)["note"]
    assert isinstance(result.shown[0], ShownText)
    assert (tmp_path / "a").read_text() == "text"


def test_a_refused_write_changes_nothing_and_the_person_saw_both_contents(tmp_path: Path):
    (tmp_path / "a").write_text("old")
    approver = ScriptedApprover("reject_once")
    message = error_of(call(make_context(tmp_path, "default", approver), "write_file", path="a", content="new"))
    assert "Denied" in message
    (action,) = approver.asked
    assert isinstance(action, WritePath)
    assert (action.before, action.after) == (b"old", b"new")
    assert (tmp_path / "a").read_text() == "old"


def test_a_file_that_changed_while_the_person_thought_is_not_overwritten(tmp_path: Path):
    (tmp_path / "a").write_text("old")
    approver = ScriptedApprover("allow_once", before_answer=lambda: (tmp_path / "a").write_text("theirs"))
    message = error_of(call(make_context(tmp_path, "default", approver), "write_file", path="a", content="new"))
    assert "changed" in message
    assert (tmp_path / "a").read_text() == "theirs"


@pytest.mark.parametrize("content", ["\ud800", {"a": 1}, None])
def test_content_that_is_not_text_is_a_clear_error(tmp_path: Path, content: object):
    assert "content" in error_of(call(make_context(tmp_path), "write_file", path="a", content=content))
    assert not (tmp_path / "a").exists()


def test_a_directory_in_the_way_is_a_clear_error(tmp_path: Path):
    (tmp_path / "a").mkdir()
    assert "directory" in error_of(call(make_context(tmp_path), "write_file", path="a", content="x"))


def test_a_file_where_a_directory_is_due_is_a_clear_error(tmp_path: Path):
    (tmp_path / "a").write_text("x")
    assert "part of the path" in error_of(call(make_context(tmp_path), "write_file", path="a/b", content="x"))
