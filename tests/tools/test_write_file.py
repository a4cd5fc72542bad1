"""`write_file`: creates and replaces, keeps what the file was like, asks with the change."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import tools.patch
import tools.read_file
import tools.write_file  # noqa: F401 - registers the tool
from tests.support.tool_context import ScriptedApprover, body_of, call, error_of, make_context, payload
from tools.approval.actions import WritePath
from tools.context import ToolContext
from tools.errors import ToolInterrupted
from tools.files.seen import FilesSeen
from tools.ports import Interrupt, Problem
from tools.registry import registry
from tools.result import ShownDiff, ShownText


def knowing(cwd: Path) -> ToolContext:
    """A context that remembers what its model has read."""
    return replace(make_context(cwd), seen=FilesSeen())


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


def test_a_file_that_the_model_has_not_read_is_not_replaced(tmp_path: Path):
    (tmp_path / "a").write_text("theirs\n")
    ctx = knowing(tmp_path)
    message = error_of(call(ctx, "write_file", path="a", content="mine\n"))
    assert "not read it" in message
    assert "read_file" in message
    assert (tmp_path / "a").read_text() == "theirs\n"
    call(ctx, "read_file", path="a")
    assert payload(call(ctx, "write_file", path="a", content="mine\n"))["status"] == "replaced"


def test_a_file_that_changed_since_the_model_read_it_is_not_replaced(tmp_path: Path):
    (tmp_path / "a").write_text("one\n")
    ctx = knowing(tmp_path)
    call(ctx, "read_file", path="a")
    (tmp_path / "a").write_text("two\n")
    assert "changed since you read it" in error_of(call(ctx, "write_file", path="a", content="mine\n"))
    assert (tmp_path / "a").read_text() == "two\n"
    call(ctx, "read_file", path="a")
    assert payload(call(ctx, "write_file", path="a", content="mine\n"))["status"] == "replaced"


def test_a_binary_file_that_nobody_can_have_read_is_not_replaced(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"\0\1\2")
    message = error_of(call(knowing(tmp_path), "write_file", path="a", content="text"))
    assert "remove it first" in message
    assert (tmp_path / "a").read_bytes() == b"\0\1\2"


def test_an_empty_file_and_the_same_content_need_no_reading(tmp_path: Path):
    (tmp_path / "empty").touch()
    (tmp_path / "same").write_text("same\n")
    ctx = knowing(tmp_path)
    assert payload(call(ctx, "write_file", path="empty", content="x"))["status"] == "replaced"
    assert payload(call(ctx, "write_file", path="same", content="same\n"))["status"] == "unchanged"


def test_what_the_model_wrote_it_knows(tmp_path: Path):
    ctx = knowing(tmp_path)
    for content in ("one\n", "two\n", "three\n"):
        value = payload(call(ctx, "write_file", path="a", content=content))
        assert "note" not in value
    assert (tmp_path / "a").read_text() == "three\n"


def test_what_was_written_is_shown_whole_when_it_is_read(tmp_path: Path):
    ctx = knowing(tmp_path)
    call(ctx, "write_file", path="a", content="one\n")
    assert body_of(call(ctx, "read_file", path="a")) == "1|one"


def test_who_has_read_a_part_is_told_what_it_replaced(tmp_path: Path):
    (tmp_path / "a").write_text("1\n2\n3\n")
    ctx = knowing(tmp_path)
    call(ctx, "read_file", path="a", limit=2)
    value = payload(call(ctx, "write_file", path="a", content="x\n"))
    assert "only a part" in value["note"]


def test_a_file_is_known_under_each_of_its_names(tmp_path: Path):
    (tmp_path / "a").write_text("1\n")
    (tmp_path / "link").symlink_to("a")
    ctx = knowing(tmp_path)
    call(ctx, "read_file", path="link")
    assert payload(call(ctx, "write_file", path="a", content="2\n"))["status"] == "replaced"


def test_a_file_in_an_old_encoding_stays_in_it(tmp_path: Path):
    old = "# Счетчик строк в этом файле\nимя = 1\n"
    (tmp_path / "a").write_bytes(old.encode("cp1251"))
    new = old + "# Последняя строка файла\n"
    value = payload(call(make_context(tmp_path), "write_file", path="a", content=new))
    assert (tmp_path / "a").read_bytes() == new.encode("cp1251")
    assert "cp1251" in value["note"]


def test_what_an_old_encoding_lacks_is_refused_with_what_to_do(tmp_path: Path):
    (tmp_path / "a").write_bytes("größe\n".encode("latin-1"))
    told = error_of(call(make_context(tmp_path), "write_file", path="a", content="größe → 大\n"))
    assert (tmp_path / "a").read_bytes() == "größe\n".encode("latin-1")
    assert "'→'" in told
    assert "latin-1" in told
    command = re.search(r"iconv -f \S+ -t utf-8", told)
    assert command is not None
    converted = subprocess.run([*command[0].split(), tmp_path / "a"], capture_output=True, check=True).stdout
    assert converted == "größe\n".encode()


def test_a_file_keeps_its_encoding_though_nobody_could_recognise_it_any_more(tmp_path: Path):
    (tmp_path / "a").write_bytes("Привет, мир! Это обычный текст.\n".encode("koi8-r"))
    ctx = make_context(tmp_path)
    value = payload(call(ctx, "write_file", path="a", content="x = 'щ'\n"))
    assert (tmp_path / "a").read_bytes() == "x = 'щ'\n".encode("koi8-r")
    assert "koi8-r, which is a guess" in value["note"]
    assert "1|x = 'щ'" in body_of(call(ctx, "read_file", path="a"))


class Complaining:
    """A `Diagnostics` that finds each line with a question mark."""

    def before(self, path: Path, text: str | None) -> object:
        return text or ""

    def after(self, path: Path, text: str, baseline: object, interrupt: Interrupt) -> Sequence[Problem]:
        lines = enumerate(text.split("\n"), 1)
        return [Problem(n, 1, "error", "a question", "test") for n, line in lines if "?" in line]


def test_what_the_new_content_breaks_is_told(tmp_path: Path):
    ctx = replace(make_context(tmp_path), diagnostics=Complaining())
    value = payload(call(ctx, "write_file", path="a", content="fine\nwhat?\n"))
    assert "line 2" in value["problems"]
    assert (tmp_path / "a").read_text() == "fine\nwhat?\n"
    assert "problems" not in payload(call(ctx, "write_file", path="a", content="fine\n"))


def test_a_cancel_after_the_write_does_not_hide_it(tmp_path: Path):
    class Cancelled(Complaining):
        def after(self, path: Path, text: str, baseline: object, interrupt: Interrupt) -> Sequence[Problem]:
            raise ToolInterrupted("cancelled")

    ctx = replace(make_context(tmp_path), diagnostics=Cancelled())
    assert payload(call(ctx, "write_file", path="a", content="x"))["status"] == "created"


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.json", '{\n  "a": 1\n  "b": 2\n}\n', 3),
        ("a.yaml", "a: 1\nb: [1, 2\nc: 3\n", 3),
        ("a.toml", "a = 1\nb = \n", 2),
    ],
)
def test_data_that_does_not_parse_is_written_and_reported(tmp_path: Path, name: str, content: str, line: int):
    value = payload(call(make_context(tmp_path), "write_file", path=name, content=content))
    assert f"line {line}" in value["problems"]
    assert (tmp_path / name).read_text() == content


def test_other_names_of_a_file_keep_what_it_was(tmp_path: Path):
    (tmp_path / "store").write_text("shared\n")
    (tmp_path / "a").hardlink_to(tmp_path / "store")
    call(make_context(tmp_path), "write_file", path="a", content="mine\n")
    assert ((tmp_path / "a").read_text(), (tmp_path / "store").read_text()) == ("mine\n", "shared\n")


@pytest.mark.parametrize("leave", [shutil.rmtree, lambda work: work.rename(work.with_name("moved"))])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"path": "a.txt", "content": "x"}),
        ("write_file", {"path": "deep/er/a.txt", "content": "x"}),
        ("patch", {"mode": "patch", "patch": "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch"}),
    ],
)
def test_a_workspace_that_is_gone_is_not_made_again(
    tmp_path: Path, leave: Callable[[Path], object], tool: str, arguments: dict[str, str]
):
    work = tmp_path / "work"
    work.mkdir()
    approver = ScriptedApprover()
    ctx = make_context(work, "default", approver)
    leave(work)
    said = error_of(call(ctx, tool, **arguments))
    assert f"the session's directory {work} is not there any more" in said
    assert (work.exists(), approver.asked) == (False, [])


def test_the_schema_is_short():
    entry = registry.get("write_file")
    assert entry is not None
    assert len(json.dumps(entry.definition())) <= 340
