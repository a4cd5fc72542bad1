"""`read_file`: pages, limits, encodings, and what it says when there is nothing to read."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

import tools.read_file  # noqa: F401 - registers the tool
from tests.support.tool_context import ScriptedApprover, body_of, call, error_of, make_context, page_of, payload
from tools.files.seen import FilesSeen
from tools.registry import registry
from tools.result import ResultImage, ShownText
from tools.settings import ReadSettings, ToolSettings
from tools.text.pages import read_page


def test_lines_come_with_their_numbers_and_the_total(tmp_path: Path):
    (tmp_path / "a.py").write_text("one\ntwo\n")
    value = page_of(call(make_context(tmp_path), "read_file", path="a.py"))
    assert value == {"path": "a.py", "content": "1|one\n2|two", "total_lines": 2}


def test_a_page_in_the_middle_tells_where_to_go_on(tmp_path: Path):
    (tmp_path / "a").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    value = page_of(call(make_context(tmp_path), "read_file", path="a", offset=4, limit=2))
    assert value["content"] == "4|line 4\n5|line 5"
    assert (value["next_offset"], value["total_lines"]) == (6, 10)


def test_the_last_page_has_no_next_offset(tmp_path: Path):
    (tmp_path / "a").write_text("1\n2\n3")
    value = page_of(call(make_context(tmp_path), "read_file", path="a", offset=2, limit=2))
    assert value["content"] == "2|2\n3|3"
    assert "next_offset" not in value


def test_numbers_sent_as_strings_are_understood(tmp_path: Path):
    (tmp_path / "a").write_text("1\n2\n3\n")
    value = page_of(call(make_context(tmp_path), "read_file", path="a", offset="2", limit="1"))
    assert value["content"] == "2|2"


@pytest.mark.parametrize(("name", "value"), [("limit", -1), ("limit", "many"), ("offset", -3), ("offset", [1])])
def test_a_senseless_number_is_a_clear_error(tmp_path: Path, name: str, value: object):
    (tmp_path / "a").write_text("1\n")
    assert repr(name) in error_of(call(make_context(tmp_path), "read_file", path="a", **{name: value}))


def test_an_offset_behind_the_end_tells_the_length(tmp_path: Path):
    (tmp_path / "a").write_text("1\n2\n")
    assert "only 2 lines" in error_of(call(make_context(tmp_path), "read_file", path="a", offset=3))


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path):
    (tmp_path / "a").touch()
    value = page_of(call(make_context(tmp_path), "read_file", path="a"))
    assert (value["content"], value["total_lines"]) == ("", 0)
    assert "empty" in value["note"]


def test_limits_are_those_of_the_settings(tmp_path: Path):
    (tmp_path / "a").write_text("x" * 50 + "\n" + "short\n" * 20)
    settings = ToolSettings(read=ReadSettings(default_lines=5, max_lines=8, max_line_chars=10))
    ctx = make_context(tmp_path, settings=settings)
    value = page_of(call(ctx, "read_file", path="a"))
    assert value["next_offset"] == 6
    assert value["content"].splitlines()[0] == "1|xxxxxxxxxx… [line cut: it has 50 bytes]"
    assert page_of(call(ctx, "read_file", path="a", limit=5000))["next_offset"] == 9


def test_a_page_never_has_more_characters_than_allowed_but_always_one_line(tmp_path: Path):
    (tmp_path / "a").write_text("0123456789\n" * 10)
    ctx = make_context(tmp_path, settings=ToolSettings(read=ReadSettings(max_chars=30)))
    value = page_of(call(ctx, "read_file", path="a"))
    assert value["content"] == "1|0123456789\n2|0123456789"
    assert value["next_offset"] == 3
    tiny = make_context(tmp_path, settings=ToolSettings(read=ReadSettings(max_chars=1)))
    assert page_of(call(tiny, "read_file", path="a"))["next_offset"] == 2


def test_a_full_page_reaches_the_model_as_whole_json(tmp_path: Path):
    (tmp_path / "a").write_text('"\\t\\"\t\t\t\t\t\t"\n' * 7000)
    value = page_of(call(make_context(tmp_path), "read_file", path="a", limit=2000))
    assert value["content"].count("\n") == 1999


def test_a_long_line_is_cut_between_characters(tmp_path: Path):
    (tmp_path / "a").write_text("é€😀" * 1000 + "\nnext\n")
    settings = ToolSettings(read=ReadSettings(max_line_chars=7))
    value = page_of(call(make_context(tmp_path, settings=settings), "read_file", path="a"))
    assert value["content"] == "1|é€😀é€😀é… [line cut: it has 9,000 bytes]\n2|next"


def test_a_big_file_is_not_read_to_its_end(tmp_path: Path):
    stream = io.BytesIO(b"line\n" * 200_000)
    page = read_page(stream, 1, 3, replace(ReadSettings(), max_bytes=1000))
    assert page.lines == ("line", "line", "line")
    assert page.total is None
    assert page.more
    assert stream.tell() < 600_000


def test_a_page_deep_in_a_file_of_many_blocks_is_found(tmp_path: Path):
    page = read_page(io.BytesIO(b"".join(b"%d\n" % n for n in range(1, 200_001))), 123_456, 2, ReadSettings())
    assert page.lines == ("123456", "123457")
    assert page.total == 200_000


def test_windows_line_endings_and_the_byte_order_mark_are_not_shown(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert body_of(call(make_context(tmp_path), "read_file", path="a")) == "1|one\n2|two"


@pytest.mark.parametrize(("encoding", "name"), [("utf-16", "utf-16-le"), ("latin-1", "latin-1")])
def test_another_encoding_is_read_and_named(tmp_path: Path, encoding: str, name: str):
    (tmp_path / "a").write_bytes("grüße\nda".encode(encoding))
    value = page_of(call(make_context(tmp_path), "read_file", path="a"))
    assert value["content"] == "1|grüße\n2|da"
    assert name in value["note"]


def test_a_binary_file_is_refused_with_another_way(tmp_path: Path):
    (tmp_path / "a.bin").write_bytes(b"\x7fELF\2\1\1\0\0\0")
    message = error_of(call(make_context(tmp_path), "read_file", path="a.bin"))
    assert "binary" in message
    assert "xxd" in message


def test_an_image_of_a_format_that_models_do_not_take_is_named(tmp_path: Path):
    (tmp_path / "a.tiff").write_bytes(b"II*\0" + bytes(100))
    assert "TIFF" in error_of(call(make_context(tmp_path), "read_file", path="a.tiff"))


def test_a_directory_is_listed_with_kinds_and_sizes(tmp_path: Path):
    folder = tmp_path / "src"
    (folder / "lib").mkdir(parents=True)
    (folder / "main.py").write_bytes(b"x" * 1536)
    (folder / ".gitignore").write_text("*.py\n")
    os.mkfifo(folder / "queue")
    (folder / "odd\nname").touch()
    (folder / os.fsdecode(b"bad\xff")).touch()
    value = page_of(call(make_context(tmp_path), "read_file", path="src"))
    assert value["path"] == "src"
    assert value["total_entries"] == 6
    assert value["content"].splitlines() == [
        ".gitignore  5 B",
        "bad\\udcff  0 B",
        "lib/",
        "main.py  1.5 KB",
        "'odd\\nname'  0 B",
        "queue  (device, pipe or socket)",
    ]


def test_a_long_directory_is_listed_page_by_page(tmp_path: Path):
    for number in range(450):
        (tmp_path / f"f{number:03}").touch()
    ctx = make_context(tmp_path)
    first = page_of(call(ctx, "read_file", path="."))
    assert (first["next_offset"], first["total_entries"]) == (201, 450)
    assert "search_files" in first["note"]
    last = page_of(call(ctx, "read_file", path=".", offset=401))
    assert len(last["content"].splitlines()) == 50
    assert "next_offset" not in last
    assert "only 450 entries" in error_of(call(ctx, "read_file", path=".", offset=451))


def test_a_listing_asks_for_nothing_that_it_names(tmp_path: Path):
    inside = tmp_path / "work"
    inside.mkdir()
    (tmp_path / "elsewhere").write_text("s")
    (inside / ".env").write_text("KEY=1")
    (inside / "link").symlink_to(tmp_path / "elsewhere")
    approver = ScriptedApprover()
    value = page_of(call(make_context(inside, approver=approver), "read_file", path="."))
    assert value["content"] == ".env\nlink"
    assert approver.asked == []


def test_a_missing_file_answers_with_near_names_in_any_letter_case(tmp_path: Path):
    for name in ("README.md", "reader.py", "zebra"):
        (tmp_path / name).touch()
    message = error_of(call(make_context(tmp_path), "read_file", path="readme.md"))
    assert str(tmp_path / "README.md") in message
    assert "zebra" not in message


def test_a_missing_file_in_a_missing_directory_says_so(tmp_path: Path):
    assert str(tmp_path / "no") in error_of(call(make_context(tmp_path), "read_file", path="no/file"))


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    assert "pipe" in error_of(call(make_context(tmp_path), "read_file", path="pipe"))


def test_a_link_out_of_the_workspace_asks_for_the_real_file(tmp_path: Path):
    inside = tmp_path / "work"
    inside.mkdir()
    (tmp_path / "secret").write_text("s\n")
    (inside / "link").symlink_to(tmp_path / "secret")
    approver = ScriptedApprover("reject_once")
    assert "Denied" in error_of(call(make_context(inside, approver=approver), "read_file", path="link"))
    assert str(tmp_path / "secret") in str(approver.asked[0])


def test_one_yes_is_enough_for_one_call(tmp_path: Path):
    inside, outside = tmp_path / "work", tmp_path / "other"
    inside.mkdir()
    outside.mkdir()
    approver = ScriptedApprover("allow_once")
    (outside / "a").touch()
    value = page_of(call(make_context(inside, approver=approver), "read_file", path=str(outside)))
    assert value["content"] == "a"
    assert len(approver.asked) == 1


def test_the_person_sees_plain_text_and_programs_the_place(tmp_path: Path):
    (tmp_path / "a.py").write_text("x = 1\n" * 2000)
    result = call(make_context(tmp_path), "read_file", path="a.py", offset=3)
    (shown,) = result.shown
    assert isinstance(shown, ShownText)
    assert shown.text.startswith("x = 1\nx = 1")
    assert len(shown.text) <= 5000
    assert shown.language == "py"
    assert result.facts == {"path": str(tmp_path / "a.py"), "line": 3, "last_line": 502, "total_lines": 2000}


@pytest.mark.parametrize("path", ["", "  ", "a\0b", ["a"]])
def test_what_cannot_be_a_path_is_a_clear_error(tmp_path: Path, path: object):
    assert "'path'" in error_of(call(make_context(tmp_path), "read_file", path=path))


def test_windows_line_endings_are_told(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"one\r\ntwo\r\nthree")
    (tmp_path / "b").write_bytes(b"one\r\ntwo\n")
    (tmp_path / "c").write_bytes(b"one\ntwo\n")
    ctx = make_context(tmp_path)
    notes = [page_of(call(ctx, "read_file", path=name)).get("note") for name in "abc"]
    assert notes == ["Windows line endings.", "Mixed line endings.", None]


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x07\0\0\0\x05\x08\x06\0\0\0" + bytes(40)


def test_an_image_goes_to_a_model_that_sees(tmp_path: Path):
    (tmp_path / "a.dat").write_bytes(PNG)
    result = call(replace(make_context(tmp_path), images=lambda: True), "read_file", path="a.dat")
    assert payload(result) == {"path": "a.dat", "image": f"PNG, 7×5 pixels, {len(PNG)} bytes"}
    assert result.images == (ResultImage(PNG, "image/png", "a.dat"),)


def test_an_image_is_described_to_a_model_that_does_not_see(tmp_path: Path):
    (tmp_path / "a.png").write_bytes(PNG)
    result = call(make_context(tmp_path), "read_file", path="a.png")
    assert "7×5" in payload(result)["image"]
    assert "vision_analyze" in payload(result)["note"]
    assert result.images == ()


def test_an_image_that_is_too_big_is_described_with_what_to_do(tmp_path: Path):
    with (tmp_path / "a.png").open("wb") as file:
        file.write(PNG)
        file.truncate(1 << 30)
    result = call(replace(make_context(tmp_path), images=lambda: True), "read_file", path="a.png")
    assert result.images == ()
    assert "1,073,741,824 bytes" in payload(result)["image"]
    assert "smaller" in payload(result)["note"]


def test_lines_that_the_model_has_before_it_are_not_sent_again(tmp_path: Path):
    (tmp_path / "a").write_text("".join(f"line {n}\n" for n in range(1, 21)))
    ctx = replace(make_context(tmp_path), seen=FilesSeen())
    call(ctx, "read_file", path="a", limit=5)
    call(ctx, "read_file", path="a", offset=6, limit=5)
    again = page_of(call(ctx, "read_file", path="a", offset=2, limit=8))
    assert again["content"] == ""
    assert "lines 2 to 9 are above" in again["note"]


def test_who_asks_once_more_gets_the_lines(tmp_path: Path):
    (tmp_path / "a").write_text("one\n")
    ctx = replace(make_context(tmp_path), seen=FilesSeen())
    answers = [page_of(call(ctx, "read_file", path="a"))["content"] for _ in range(4)]
    assert answers == ["1|one", "", "1|one", ""]


@pytest.mark.parametrize("change", ["content", "forgotten", "further"])
def test_what_the_model_does_not_have_is_sent(tmp_path: Path, change: str):
    (tmp_path / "a").write_text("one\ntwo\nthree\n")
    ctx = replace(make_context(tmp_path), seen=(seen := FilesSeen()))
    call(ctx, "read_file", path="a", limit=2)
    if change == "content":
        (tmp_path / "a").write_text("one\ntwo\nthree!\n")
    if change == "forgotten":
        seen.forget_all()
    value = page_of(call(ctx, "read_file", path="a", limit=3 if change == "further" else 2))
    assert value["content"].startswith("1|one\n2|two")


def test_a_file_of_another_session_is_not_known(tmp_path: Path):
    (tmp_path / "a").write_text("one\n")
    for _ in range(2):
        ctx = replace(make_context(tmp_path), seen=FilesSeen())
        assert body_of(call(ctx, "read_file", path="a")) == "1|one"


def test_the_schema_is_short():
    entry = registry.get("read_file")
    assert entry is not None
    assert len(json.dumps(entry.definition())) <= 520
