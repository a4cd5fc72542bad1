"""`read_file` of notebooks, PDF and office documents: text with markers, within limits."""

from __future__ import annotations

import json
import re
import struct
import threading
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import tools.read_file  # noqa: F401 - registers the tool
from agent_core.cancel import CancelToken
from tests.support.documents import opendocument, pdf, pptx, xlsx, zipped
from tests.support.tool_context import body_of, call, error_of, make_context, page_of
from tools.documents.kinds import Document, document_of
from tools.documents.reading import document_text, read_document
from tools.errors import ToolError, ToolInterrupted, install_line
from tools.files.seen import FilesSeen


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is missing: {install_line('docs')}")


def read(tmp_path: Path, name: str, data: bytes, **args: Any) -> dict[str, Any]:
    (tmp_path / name).write_bytes(data)
    return page_of(call(make_context(tmp_path), "read_file", path=name, **args))


def test_a_presentation_is_read_slide_by_slide_with_its_notes(tmp_path: Path):
    value = read(tmp_path, "a.pptx", pptx([(["Plan", "First step"], "Say hello"), (["Ende &amp; Dank"], "")]))
    assert value["content"].splitlines() == [
        "1|--- slide 1 of 2 ---",
        "2|Plan",
        "3|First step",
        "4|Notes: Say hello",
        "5|--- slide 2 of 2 ---",
        "6|Ende & Dank",
    ]
    assert "PowerPoint" in value["note"]


def test_an_open_document_text_keeps_headings_lists_and_tables(tmp_path: Path):
    body = (
        '<office:text><text:h text:outline-level="2">Über uns</text:h><text:p>one<text:s/>two</text:p>'
        "<text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>"
        '<table:table table:name="T"><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>'
        "<table:table-cell><text:p>b</text:p></table:table-cell>"
        '<table:table-cell table:number-columns-repeated="16000"/></table:table-row></table:table></office:text>'
    )
    value = read(tmp_path, "a.odt", opendocument(body))
    assert value["content"] == "1|## Über uns\n2|one two\n3|- item\n4|--- table T ---\n5|a | b"


def test_a_page_of_a_document_is_a_page_like_any_other(tmp_path: Path):
    value = read(tmp_path, "a.pptx", pptx([([f"line {n}" for n in range(1, 20)], "")]), offset=3, limit=2)
    assert value["content"] == "3|line 2\n4|line 3"
    assert (value["next_offset"], value["total_lines"]) == (5, 20)


def test_a_pdf_is_read_page_by_page(tmp_path: Path):
    library("pypdf")
    value = read(tmp_path, "a.pdf", pdf(["Hello page one", "and the second"]))
    assert value["content"].splitlines() == [
        "1|--- page 1 of 2 ---",
        "2|Hello page one",
        "3|--- page 2 of 2 ---",
        "4|and the second",
    ]


def test_a_pdf_without_text_is_said_to_be_a_scan(tmp_path: Path):
    library("pypdf")
    value = read(tmp_path, "a.pdf", pdf(["", ""]))
    assert "scan" in value["note"]
    assert "pdftoppm" in value["note"]


def test_a_pdf_with_a_password_says_so(tmp_path: Path):
    pypdf = library("pypdf")
    writer = pypdf.PdfWriter(clone_from=pypdf.PdfReader(BytesIO(pdf(["secret"]))))
    writer.encrypt("a password", algorithm="RC4-128")
    writer.write(tmp_path / "a.pdf")
    assert "password" in error_of(call(make_context(tmp_path), "read_file", path="a.pdf"))


def test_a_damaged_pdf_is_a_clear_error(tmp_path: Path):
    library("pypdf")
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7\n" + b"nonsense " * 500)
    assert "damaged" in error_of(call(make_context(tmp_path), "read_file", path="a.pdf"))


def test_a_word_document_keeps_its_order_of_paragraphs_and_tables(tmp_path: Path):
    document = library("docx").Document()
    document.add_heading("Title of it", 0)
    document.add_heading("Part", 2)
    document.add_paragraph("Some text.")
    table = document.add_table(rows=2, cols=2)
    for index, text in enumerate(("a", "b", "c", "d")):
        table.cell(index // 2, index % 2).text = text
    document.add_paragraph("an item", style="List Bullet")
    document.save(str(tmp_path / "a.docx"))
    value = page_of(call(make_context(tmp_path), "read_file", path="a.docx"))
    assert value["content"] == "1|# Title of it\n2|## Part\n3|Some text.\n4|a | b\n5|c | d\n6|- an item"


def test_a_workbook_is_read_sheet_by_sheet_with_row_numbers(tmp_path: Path):
    library("python_calamine")
    numbers = '<c r="A1" t="inlineStr"><is><t>name</t></is></c><c r="B1"><v>7</v></c><c r="C1"/>'
    last = (
        '<c r="A3" t="inlineStr"><is><t>two\nlines</t></is></c><c r="B3"><v>2.5</v></c>'
        '<c r="C3" s="1"><v>46024</v></c>'
    )
    rows = f'<row r="1">{numbers}</row><row r="2"/><row r="3">{last}</row>'
    value = read(
        tmp_path, "a.xlsx", xlsx({"Numbers": rows, "Other": '<row r="1"><c r="B1" t="b"><v>1</v></c></row>'})
    )
    assert value["content"].splitlines() == [
        "1|--- sheet Numbers ---",
        "2|1: name | 7",
        "3|3: two lines | 2.5 | 2026-01-02",
        "4|--- sheet Other ---",
        "5|1:  | True",
    ]


def test_a_workbook_with_a_cell_at_its_far_end_does_not_cost_more_than_its_process(tmp_path: Path):
    library("python_calamine")
    far = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    (tmp_path / "a.xlsx").write_bytes(xlsx({"Far": far}))
    value = call(make_context(tmp_path), "read_file", path="a.xlsx")
    assert "too much memory" in value.text


def test_what_is_not_installed_is_named_with_the_line_that_installs_it(tmp_path: Path):
    missing = Document("pdf", "PDF", "no_such_module_here")
    with pytest.raises(ToolError, match=re.escape(install_line("docs"))):
        document_text(BytesIO(b"%PDF-"), tmp_path / "a.pdf", missing, make_context(tmp_path))


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(tmp_path: Path):
    archive = zipped({"content.xml": "<a/>"})
    # Both headers of the part tell its size when unpacked.
    forged = archive.replace(struct.pack("<I", 4), struct.pack("<I", 3 << 30))
    (tmp_path / "a.odt").write_bytes(forged)
    assert "too much" in error_of(call(make_context(tmp_path), "read_file", path="a.odt"))


def test_entities_are_refused(tmp_path: Path):
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><office>&b;</office>'
    (tmp_path / "a.odt").write_bytes(zipped({"content.xml": bomb}))
    assert "entities" in error_of(call(make_context(tmp_path), "read_file", path="a.odt"))


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"PK\x03\x04" + b"\0" * 5000, zipped({"other.xml": "<a/>"})])
@pytest.mark.parametrize("name", ["a.pptx", "a.odt"])
def test_a_damaged_office_file_is_a_clear_error(tmp_path: Path, name: str, data: bytes):
    (tmp_path / name).write_bytes(data)
    message = error_of(call(make_context(tmp_path), "read_file", path=name))
    assert "cannot be read" in message


def test_reading_that_takes_too_long_is_ended_and_what_was_read_is_kept():
    many = pptx([(["x"] * 20_000, "") for _ in range(4)])
    whole = read_document(BytesIO(many), "pptx", CancelToken(), seconds=60, max_bytes=1 << 26)
    extract = read_document(BytesIO(many), "pptx", CancelToken(), seconds=0.1, max_bytes=1 << 26)
    assert len(extract.text) < len(whole.text)
    assert whole.text.startswith(extract.text)
    assert whole.problem == ""
    assert "more than 0.1 s" in extract.problem


def test_text_is_bounded():
    extract = read_document(
        BytesIO(pptx([(["x" * 1000] * 100, "")])), "pptx", CancelToken(), seconds=30, max_bytes=5000
    )
    assert len(extract.text) == 5000
    assert "5,000 bytes" in extract.problem


def test_a_cancel_ends_the_reading():
    token = CancelToken()
    many = pptx([(["x"] * 20_000, "") for _ in range(12)])
    timer = threading.Timer(0.1, token.cancel)
    timer.start()
    with pytest.raises(ToolInterrupted):
        read_document(BytesIO(many), "pptx", token, seconds=50, max_bytes=1 << 26)
    timer.join()


def test_the_next_page_of_a_document_is_not_made_anew(tmp_path: Path):
    (tmp_path / "a.pptx").write_bytes(pptx([(["one", "two"], "")]))
    seen = FilesSeen()
    ctx = replace(make_context(tmp_path), seen=seen)
    call(ctx, "read_file", path="a.pptx", limit=1)
    known = seen.known(tmp_path / "a.pptx")
    assert known is not None
    kept = seen.document(known.digest)
    assert kept is not None
    assert body_of(call(ctx, "read_file", path="a.pptx", offset=2, limit=2)) == "2|one\n3|two"
    assert seen.document(known.digest) is kept


def test_documents_are_known_by_their_beginning_and_not_by_their_name_alone():
    pdf_kind = document_of(Path("a.txt"), b"%PDF-1.7")
    assert pdf_kind is not None
    assert pdf_kind.kind == "pdf"
    assert document_of(Path("a.docx"), b"plain text") is None
    assert document_of(Path("a.zip"), b"PK\x03\x04") is None


def notebook(*cells: dict[str, Any]) -> bytes:
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells)}).encode()


def test_a_notebook_is_read_as_cells_with_shortened_outputs(tmp_path: Path):
    value = read(
        tmp_path,
        "a.ipynb",
        notebook(
            {"cell_type": "markdown", "source": ["# Title\n", "text"]},
            {
                "cell_type": "code",
                "source": "print(1)",
                "outputs": [
                    {"output_type": "stream", "text": [f"{n}\n" for n in range(100)]},
                    {"output_type": "display_data", "data": {"image/png": "aGFsbG8=" * 1000}},
                ],
            },
            {
                "cell_type": "code",
                "source": [],
                "outputs": [{"output_type": "error", "traceback": ["\x1b[31mZeroDivisionError\x1b[0m: no"]}],
            },
        ),
    )
    content = value["content"]
    assert content.startswith("1|# %% [markdown] cell 1\n2|# Title\n3|text\n4|\n5|# %% [code] cell 2\n6|print(1)\n")
    assert "[… 81 more lines of output]" in content
    assert "ZeroDivisionError: no" in content
    assert "aGFsbG8" not in content
    assert "JSON" in value["note"]


@pytest.mark.parametrize("data", [b"{not json", b"[]", b'{"worksheets": []}'])
def test_what_is_no_notebook_is_read_as_text(tmp_path: Path, data: bytes):
    assert read(tmp_path, "a.ipynb", data)["content"] == f"1|{data.decode()}"
