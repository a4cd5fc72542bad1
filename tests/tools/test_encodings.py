"""Files that are not plain UTF-8, through the tools: what the model is told, and what is in the file afterwards."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import tools.patch
import tools.read_file
import tools.search_files
import tools.write_file  # noqa: F401 - registers the tool
from tests.support.tool_context import body_of, call, error_of, make_context, page_of, payload

UMLAUTS = "Größe: 5\nÄpfel: 3\nÖl: 2\n"
ODD = UMLAUTS.encode() + b"odd \xff byte\n"
SENT_BACK = {
    "as it was shown": r"\udcff",
    "as the byte that it stands for": "\udcff",
    "as servers replace it": "\ufffd",
}


def read(folder: Path) -> dict[str, Any]:
    return page_of(call(make_context(folder), "read_file", path="f.txt"))


def lines_of(folder: Path) -> str:
    """The file's content as the model has it, to be sent back."""
    return "".join(f"{line.partition('|')[2]}\n" for line in read(folder)["content"].split("\n"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "f.txt").write_bytes(ODD)
    return tmp_path


def test_the_model_sees_an_odd_byte_as_an_escape_and_is_told(folder: Path):
    result = call(make_context(folder), "read_file", path="f.txt")
    result.text.encode()  # fit for every wire
    assert r"odd \udcff byte" in result.text
    assert "Größe" in result.text
    assert "1 byte is not UTF-8" in payload(result)["note"]


def test_lines_without_odd_bytes_are_not_remarked_on(folder: Path):
    assert "note" not in page_of(call(make_context(folder), "read_file", path="f.txt", limit=2))


@pytest.mark.parametrize("odd", SENT_BACK.values(), ids=SENT_BACK)
def test_a_patch_adds_utf_8_beside_odd_bytes(folder: Path, odd: str):
    call(make_context(folder), "patch", path="f.txt", old_string="Öl: 2\nodd", new_string="Öl: zwölf\nodd")
    value = payload(
        call(make_context(folder), "patch", path="f.txt", old_string=f"odd {odd} byte", new_string=f"ödd {odd} byte")
    )
    assert (folder / "f.txt").read_bytes() == "Größe: 5\nÄpfel: 3\nÖl: zwölf\nödd ".encode() + b"\xff byte\n"
    json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("odd", SENT_BACK.values(), ids=SENT_BACK)
def test_a_whole_patch_keeps_odd_bytes_of_its_context(folder: Path, odd: str):
    patch = f"*** Begin Patch\n*** Update File: f.txt\n@@\n Öl: 2\n-odd {odd} byte\n+ödd {odd} byte\n*** End Patch"
    payload(call(make_context(folder), "patch", mode="patch", patch=patch))
    assert (folder / "f.txt").read_bytes() == UMLAUTS.encode() + "ödd ".encode() + b"\xff byte\n"


@pytest.mark.parametrize(
    "replaced", [chr(0xDCFF), "\ufffd", r"\udcff"], ids=["as its byte", "as servers replace it", "as it was shown"]
)
def test_writing_a_file_as_it_was_read_keeps_its_bytes(folder: Path, replaced: str):
    content = lines_of(folder)
    if replaced:
        content = content.replace(r"\udcff", replaced)
    assert payload(call(make_context(folder), "write_file", path="f.txt", content=content))["status"] == "unchanged"
    payload(call(make_context(folder), "write_file", path="f.txt", content=f"ü\n{content}"))
    assert (folder / "f.txt").read_bytes() == "ü\n".encode() + ODD


@pytest.mark.parametrize("content", [UMLAUTS, "ascii\n"])
def test_it_is_said_when_odd_bytes_are_written_over(folder: Path, content: str):
    value = payload(call(make_context(folder), "write_file", path="f.txt", content=content))
    assert (folder / "f.txt").read_bytes() == content.encode()
    assert value["note"] == "1 of the bytes that were not UTF-8 is gone."


def test_a_page_of_a_large_file_shows_its_odd_bytes(tmp_path: Path):
    (tmp_path / "f.txt").write_bytes((UMLAUTS * 150_000).encode() + b"odd \xff byte\n")
    value = page_of(call(make_context(tmp_path), "read_file", path="f.txt", offset=450_001))
    assert value["content"] == r"450001|odd \udcff byte"
    assert "1 byte is not UTF-8" in value["note"]


EDITS = [
    ("cp1253", "Το αρχείο δεν βρέθηκε. Παρακαλώ περιμένετε.\n", "βρέθηκε", "υπάρχει ακόμη"),
    ("cp1250", "Zażółć gęślą jaźń. To jest zwykły tekst w języku polskim.\n", "zwykły", "długi ćwiczony"),
    ("cp1254", "Bu Türkçe yazılmış sıradan bir metindir. Şimdi çalışıyor.\n", "sıradan", "kısa ığış"),
    ("cp1256", "مرحبا بالعالم! هذا نص عادي مكتوب باللغة العربية.\n", "عادي", "طويل"),
    ("cp874", "สวัสดีชาวโลก นี่คือข้อความธรรมดาที่เขียนเป็นภาษาไทย\n", "ธรรมดา", "ใหม่"),
    ("cp1255", "שלום עולם! זהו טקסט רגיל שנכתב בעברית.\nהתוכנית קוראת את ההגדרות מהקובץ.\n", "רגיל", "חדש"),
    ("koi8-r", "Программа читает настройки из файла.\n", "читает", "пишет"),
]


@pytest.mark.parametrize(("encoding", "text", "old", "new"), EDITS, ids=[edit[0] for edit in EDITS])
def test_a_file_of_an_old_encoding_is_edited_in_its_own_letters(
    tmp_path: Path, encoding: str, text: str, old: str, new: str
):
    (tmp_path / "f.txt").write_bytes(text.encode(encoding))
    assert lines_of(tmp_path) == text
    assert f"decoded as {encoding}, which is a guess" in read(tmp_path)["note"]
    value = payload(call(make_context(tmp_path), "patch", path="f.txt", old_string=old, new_string=new))
    changed = text.replace(old, new)
    assert (tmp_path / "f.txt").read_bytes() == changed.encode(encoding)
    assert f"The file's encoding was kept. Not UTF-8: decoded as {encoding}" in value["note"]
    assert lines_of(tmp_path) == changed
    value = payload(call(make_context(tmp_path), "write_file", path="f.txt", content=changed + text))
    assert (tmp_path / "f.txt").read_bytes() == (changed + text).encode(encoding)
    assert "is a guess" in value["note"]


@pytest.mark.parametrize("tool", ["patch", "write_file"])
def test_a_character_that_the_encoding_lacks_is_refused_and_the_guess_told(tmp_path: Path, tool: str):
    before = "Şifre çok kısa\n".encode("cp1254")
    (tmp_path / "f.txt").write_bytes(before)
    args = {"old_string": "ok", "new_string": "日本"} if tool == "patch" else {"content": "日本\n"}
    told = error_of(call(make_context(tmp_path), tool, path="f.txt", **args))
    assert (tmp_path / "f.txt").read_bytes() == before
    assert "'日'" in told
    assert "cp1254" in told
    assert "as it seems" in told
    assert "iconv" in told


@pytest.fixture
def odd_name(tmp_path: Path) -> str:
    """A file in `tmp_path` whose name is Latin-1: the name as Python has it."""
    name = os.fsdecode(b"caf\xe9.txt")
    try:
        (tmp_path / name).write_text("coffee\n")
    except OSError:
        pytest.skip("names here have to be UTF-8")
    return name


LOOKS = {
    "read_file": {"path": "."},
    "search_files": {"pattern": "coffee"},
    "search_files (names)": {"pattern": "*.txt", "target": "files"},
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_name_that_is_not_utf_8_is_shown_so_that_it_can_be_given_back(tmp_path: Path, odd_name: str, look: str):
    ctx = make_context(tmp_path)
    text = call(ctx, look.partition(" ")[0], **LOOKS[look]).text
    text.encode()  # fit for every wire
    (shown,) = set(re.findall(r"caf\\+udce9\.txt", text))
    arguments = json.loads(f'{{"path": "{shown}"}}')
    assert "coffee" in body_of(call(ctx, "read_file", **arguments))
    payload(call(ctx, "patch", old_string="coffee", new_string="tea", **arguments))
    assert (tmp_path / odd_name).read_text() == "tea\n"
    payload(call(ctx, "write_file", content="milk\n", **arguments))
    assert {name.name for name in tmp_path.iterdir()} == {odd_name}
