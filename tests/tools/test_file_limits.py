"""What a model asks of files that is out of the ordinary: endless numbers, thousands of places, the same again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import tools.patch
import tools.read_file
import tools.write_file  # noqa: F401 - they register themselves
from agent_core.guardrails import Repeats
from agent_core.messages import ToolCall
from tests.support.tool_context import call, error_of, make_context, page_of, payload
from tools.context import ToolContext
from tools.files.seen import FilesSeen, digest_of
from tools.result import error

_BINARY = b"PK\3\4\0\0\0"


def _seeing(folder: Path) -> ToolContext:
    return replace(make_context(folder.resolve()), seen=FilesSeen())


def _patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


@pytest.mark.parametrize("offset", ["1" + "0" * 350, "1" + "0" * 350 + ".0", "1e300", 10**350])
def test_a_number_beyond_every_file_is_an_answer_and_no_crash(tmp_path: Path, offset: object):
    (tmp_path / "a").write_text("a\n")
    assert call(make_context(tmp_path), "read_file", path="a", offset=offset).failed


@pytest.mark.parametrize("path", ["a\0b", "a\ud800"])
def test_a_path_in_a_patch_that_can_be_none_is_told_with_its_line(tmp_path: Path, path: str):
    told = error_of(call(make_context(tmp_path), "patch", patch=_patch(f"*** Add File: {path}", "+x")))
    assert "Line 2 of the patch" in told
    assert "nothing was changed" in told


@pytest.mark.timeout(20)
def test_two_renames_through_a_long_file_take_no_time_to_speak_of(tmp_path: Path):
    (tmp_path / "a").write_text("".join(f"foo{n} bar{n}\n" for n in range(20_000)))
    edits = [{"old_string": old, "new_string": f"{old}x", "replace_all": True} for old in ("foo", "bar")]
    assert payload(call(make_context(tmp_path), "patch", path="a", edits=edits))["replacements"] == 40_000


@pytest.mark.timeout(20)
def test_many_places_that_look_alike_are_counted_quickly(tmp_path: Path):
    (tmp_path / "a").write_text("".join(f"it\u2019s line {n} of a text\n" for n in range(30_000)))
    assert "30000 times" in error_of(
        call(make_context(tmp_path), "patch", path="a", old_string="it's", new_string="x")
    )


@pytest.mark.timeout(20)
def test_lines_that_repeat_in_a_windows_file_are_replaced_quickly(tmp_path: Path):
    rows = "".join(f"v{n % 3}\n" for n in range(3000))
    new = "".join(f"v{n % 4}\n" for n in range(3000))
    (tmp_path / "a").write_bytes(rows.replace("\n", "\r\n").encode())
    payload(call(make_context(tmp_path), "patch", path="a", old_string=rows, new_string=new))
    assert (tmp_path / "a").read_bytes() == new.replace("\n", "\r\n").encode()


def test_an_old_string_with_the_line_ending_that_the_file_lacks_at_its_end_is_found(tmp_path: Path):
    (tmp_path / "a").write_text("one\n  two(1)")
    done = payload(call(make_context(tmp_path), "patch", path="a", old_string="  two(1)\n", new_string="  two(2)\n"))
    assert (tmp_path / "a").read_text() == "one\n  two(2)"
    assert "without a line ending" in done["note"]


def test_a_file_whose_lines_were_cut_was_read_in_part(tmp_path: Path):
    (tmp_path / "a").write_text("x" * 10_000 + "\nb\n")
    ctx = _seeing(tmp_path)
    page_of(call(ctx, "read_file", path="a"))
    assert "only a part" in payload(call(ctx, "write_file", path="a", content="y\n"))["note"]


def test_a_notebook_that_was_read_as_cells_was_read_in_part(tmp_path: Path):
    cell = {"cell_type": "code", "source": ["1"], "outputs": [], "metadata": {}, "execution_count": 1}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "a.ipynb").write_text(json.dumps(book))
    ctx = _seeing(tmp_path)
    page_of(call(ctx, "read_file", path="a.ipynb"))
    assert "only a part" in payload(call(ctx, "write_file", path="a.ipynb", content="{}\n"))["note"]


def test_a_document_that_was_read_as_text_is_not_replaced_by_text(tmp_path: Path):
    (tmp_path / "a.docx").write_bytes(_BINARY)
    ctx = _seeing(tmp_path)
    assert ctx.seen is not None
    ctx.seen.note(tmp_path.resolve() / "a.docx", digest_of(_BINARY), pages=[(1, 3)], total=3, cut=True)
    assert "destroy" in error_of(call(ctx, "write_file", path="a.docx", content="text"))
    assert "no text file" in error_of(call(ctx, "patch", patch=_patch("*** Add File: a.docx", "+text")))
    assert (tmp_path / "a.docx").read_bytes() == _BINARY


def test_a_relative_link_is_not_moved_to_where_it_leads_nowhere(tmp_path: Path):
    (tmp_path / "a").write_text("x\n")
    (tmp_path / "link").symlink_to("a")
    moved = call(make_context(tmp_path), "patch", patch=_patch("*** Update File: link", "*** Move to: sub/link"))
    assert "symbolic link" in error_of(moved)
    assert (tmp_path / "link").read_text() == "x\n"


def test_a_model_that_reads_the_same_lines_again_and_again_is_stopped(tmp_path: Path):
    (tmp_path / "a").write_text("x\n")
    ctx = _seeing(tmp_path)
    repeats = Repeats(only_reads=lambda _: True)
    run = 0
    for number in range(8):
        asked: ToolCall = {
            "id": str(number),
            "type": "function",
            "function": {"name": "read_file", "arguments": '{"path": "a"}'},
        }
        repeats.begin_answer()
        if refusal := repeats.refusal(asked):
            repeats.see(asked, error(refusal))
        else:
            run += 1
            repeats.see(asked, call(ctx, "read_file", path="a"))
    assert run == 4
    assert "read_file" in repeats.halted


def test_a_file_under_two_names_is_told_and_nothing_is_changed(tmp_path: Path):
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "l.py").symlink_to("a.py")
    hunks = ("*** Update File: a.py", "-x = 1", "+x = 2", "*** Update File: l.py", "-x = 1", "+x = 3")
    told = error_of(call(make_context(tmp_path.resolve()), "patch", patch=_patch(*hunks)))
    assert "same file" in told
    assert (tmp_path / "a.py").read_text() == "x = 1\n"


def test_a_look_alike_beside_what_changes_is_written_as_it_was_sent(tmp_path: Path):
    (tmp_path / "a").write_text("a \u2013 b\n")
    payload(call(make_context(tmp_path), "patch", path="a", old_string="a - b", new_string="a -- b"))
    assert (tmp_path / "a").read_text() == "a -- b\n"
