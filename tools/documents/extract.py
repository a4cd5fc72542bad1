"""Reads a document (PDF, Word, Excel, PowerPoint, OpenDocument) as text, in a process of its own.

The process lowers its own limits first: a damaged or hostile file costs no more than so much time and memory, and
nothing of ours. The text ends with a NUL and one line of JSON that says how it went; without that it was cut off.
"""

from __future__ import annotations

import contextlib
import json
import logging
import posixpath
import re
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO
from xml.etree import ElementTree as ET

from tools.documents.kinds import Unreadable

if TYPE_CHECKING:
    from docx.table import Table
    from docx.text.paragraph import Paragraph


# Documents that are zip archives of XML files, opened with care: small files can unpack to huge ones.

_MAX_FILES = 20_000
_MAX_BYTES = 256 << 20
_MAX_PART_BYTES = 48 << 20
_DOCTYPE = re.compile(rb"<!DOCTYPE|<!ENTITY", re.IGNORECASE)


def opened(stream: BinaryIO) -> zipfile.ZipFile:
    """The archive, after a look at what it says it will unpack to (Python unpacks no more than that).

    Raises:
        Unreadable: it is no zip archive, or too big.
    """
    try:
        archive = zipfile.ZipFile(stream)
    except zipfile.BadZipFile as problem:
        raise Unreadable(f"it is no whole zip archive ({problem})") from problem
    files = archive.infolist()
    size = sum(file.file_size for file in files)
    if len(files) > _MAX_FILES or size > _MAX_BYTES:
        raise Unreadable(f"it unpacks to {len(files):,} files with {size:,} bytes, which is too much")
    if any(file.flag_bits & 1 for file in files):
        raise Unreadable("it is protected by a password; ask the user for a copy without one")
    return archive


def xml_part(archive: zipfile.ZipFile, name: str) -> ET.Element:
    """The root element of an XML file of the archive.

    Raises:
        Unreadable: it is missing, too big, or no XML without a document type.
    """
    try:
        size = archive.getinfo(name).file_size
    except KeyError as problem:
        raise Unreadable(f"it has no part {name}") from problem
    if size > _MAX_PART_BYTES:
        raise Unreadable(f"its part {name} has {size:,} bytes, which is too much")
    data = archive.read(name)
    if _DOCTYPE.search(data):
        raise Unreadable(f"its part {name} defines entities, which no office program writes")
    try:
        return ET.fromstring(data)  # noqa: S314 - it has no entities, and this process has limits
    except ET.ParseError as problem:
        raise Unreadable(f"its part {name} is no XML ({problem})") from problem


def local_name(element: ET.Element) -> str:
    """The element's name without its namespace; '' for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


# The text of a PDF, page by page.


def pdf_lines(stream: BinaryIO) -> Iterator[str]:
    """A line that names each page, and the page's text.

    Raises:
        Unreadable: it is protected by a password.
    """
    from pypdf import PdfReader  # noqa: PLC0415 - an extra
    from pypdf.errors import FileNotDecryptedError  # noqa: PLC0415

    logging.disable()
    reader = PdfReader(stream)
    try:
        count = len(reader.pages)
    except FileNotDecryptedError as problem:
        raise Unreadable("it is protected by a password; ask the user for a copy without one") from problem
    with_text = 0
    for number, page in enumerate(reader.pages, 1):
        text = "\n".join(line.rstrip() for line in page.extract_text().splitlines()).strip("\n")
        with_text += bool(text.strip())
        yield f"--- page {number} of {count} ---"
        yield text or "[no text]"
    if count and not with_text:
        raise Unreadable(
            "its pages are pictures without text (a scan). Render them in the terminal (`pdftoppm -png`) and look at "
            "the pictures, or use a program that recognises text"
        )


# The text of a Word document: paragraphs, headings, lists and tables in their order.

_MAX_HEADING = 6


def word_lines(stream: BinaryIO) -> Iterator[str]:
    """Headings with `#`, list items with `-`, a table's rows with ` | ` between the cells."""
    opened(stream)
    stream.seek(0)
    import docx  # noqa: PLC0415 - an extra
    from docx.table import Table  # noqa: PLC0415

    for block in docx.Document(stream).iter_inner_content():
        if isinstance(block, Table):
            yield from _rows(block)
        elif line := _line(block):
            yield line


def _line(paragraph: Paragraph) -> str:
    text = paragraph.text.strip()
    style = (paragraph.style.name if paragraph.style is not None else None) or ""
    if not text:
        return ""
    if style == "Title":
        return f"# {text}"
    if style.startswith("Heading "):
        level = style.removeprefix("Heading ")
        return f"{'#' * min(int(level), _MAX_HEADING) if level.isdecimal() else '#'} {text}"
    return f"- {text}" if style.startswith("List") else text


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        cells: list[str] = []
        seen = None
        for cell in row.cells:
            # A cell over several columns comes once for each of them.
            if cell._tc is not seen:  # noqa: SLF001 - the library has no other way to tell
                cells.append(" ".join(cell.text.split()))
            seen = cell._tc  # noqa: SLF001
        yield " | ".join(cells)


# The text of an Excel workbook: the values of each sheet's rows.


def sheet_lines(stream: BinaryIO) -> Iterator[str]:
    """A line that names each sheet, and its rows as `N: value | value`; empty rows are left out."""
    opened(stream)
    stream.seek(0)
    from python_calamine import CalamineWorkbook, SheetTypeEnum  # noqa: PLC0415 - an extra

    book = CalamineWorkbook.from_filelike(stream)
    for number, about in enumerate(book.sheets_metadata):
        if about.typ is not SheetTypeEnum.WorkSheet:
            continue
        yield f"--- sheet {about.name} ---"
        sheet = book.get_sheet_by_index(number)
        # Rows begin with the first column that has something in it.
        before = [""] * (sheet.start[1] if sheet.start else 0)
        for place, row in enumerate(sheet.iter_rows(), 1):
            cells = [*before, *map(_shown, row)]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                yield f"{place}: {' | '.join(cells)}"


_WHOLE = 1e15  # beyond it a number has no digits behind the point anyway


def _shown(value: object) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        return str(int(value))
    return " ".join(str(value).split())


# The text of a PowerPoint presentation (Office Open XML): each slide's paragraphs and notes.

_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def slide_lines(stream: BinaryIO) -> Iterator[str]:
    """A line that names each slide, its paragraphs, and its notes behind `Notes:`."""
    archive = opened(stream)
    slides = _slides(archive)
    for number, name in enumerate(slides, 1):
        yield f"--- slide {number} of {len(slides)} ---"
        yield from _paragraphs(xml_part(archive, name))
        notes = [target for kind, target in _links(archive, name).values() if kind == "notesSlide"]
        for text in (text for target in notes for text in _paragraphs(xml_part(archive, target), body_only=True)):
            yield f"Notes: {text}"


def _slides(archive: zipfile.ZipFile) -> list[str]:
    """The slides' files in the order in which they are shown."""
    main = "ppt/presentation.xml"
    links = _links(archive, main)
    ids = [element.get(_LINK, "") for element in xml_part(archive, main).iter() if local_name(element) == "sldId"]
    return [links[key][1] for key in ids if key in links]


def _links(archive: zipfile.ZipFile, name: str) -> dict[str, tuple[str, str]]:
    """What a part refers to: by id, the kind of the other part and its name."""
    folder, base = posixpath.split(name)
    relations = f"{folder}/_rels/{base}.rels"
    if relations not in archive.namelist():
        return {}
    return {
        element.get("Id", ""): (
            element.get("Type", "").rpartition("/")[2],
            posixpath.normpath(posixpath.join(folder, element.get("Target", ""))).lstrip("/"),
        )
        for element in xml_part(archive, relations)
        if element.get("TargetMode") != "External"
    }


def _paragraphs(root: ET.Element, *, body_only: bool = False) -> Iterator[str]:
    shapes = [element for element in root.iter() if local_name(element) in {"sp", "graphicFrame"}]
    for shape in shapes:
        if body_only and not any(local_name(part) == "ph" and part.get("type") == "body" for part in shape.iter()):
            continue
        for paragraph in (element for element in shape.iter() if local_name(element) == "p"):
            text = "".join(_text(element) for element in paragraph.iter()).strip()
            if text:
                yield text


def _text(element: ET.Element) -> str:
    match local_name(element):
        case "t":
            return element.text or ""
        case "br" | "tab":
            return " "
    return ""


# The text of OpenDocument files (ISO/IEC 26300): texts, spreadsheets, presentations.

_MAX_REPEATED = 64


def opendocument_lines(stream: BinaryIO) -> Iterator[str]:
    """Headings with `#`, list items with `-`, rows with ` | `, and a line that names each sheet or slide."""
    yield from _blocks(xml_part(opened(stream), "content.xml"), prefix="")


def _blocks(parent: ET.Element, prefix: str) -> Iterator[str]:
    for element in parent:
        match local_name(element):
            case "h":
                level = _attribute(element, "outline-level") or "1"
                yield f"{'#' * min(int(level), _MAX_HEADING) if level.isdecimal() else '#'} {_element_text(element)}"
            case "p":
                if text := _element_text(element):
                    yield prefix + text
            case "table-row":
                yield from _row(element)
            case "table":
                yield f"--- table {_attribute(element, 'name')} ---"
                yield from _blocks(element, prefix="")
            case "page":
                yield f"--- slide {_attribute(element, 'name')} ---"
                yield from _blocks(element, prefix="")
            case "list-item":
                yield from _blocks(element, prefix="- ")
            case "tracked-changes" | "forms" | "automatic-styles" | "font-face-decls" | "scripts":
                continue
            case _:
                yield from _blocks(element, prefix)


def _row(row: ET.Element) -> Iterator[str]:
    cells: list[str] = []
    for cell in row:
        text = " ".join(text for part in cell if (text := _element_text(part)))
        repeated = _attribute(cell, "number-columns-repeated")
        # A sheet's empty rest is one cell, repeated to its last column.
        cells += [text] * (min(int(repeated), _MAX_REPEATED) if repeated.isdecimal() else 1)
    while cells and not cells[-1]:
        cells.pop()
    if cells:
        yield " | ".join(cells)


def _element_text(element: ET.Element) -> str:
    return " ".join("".join(_pieces(element)).split())


def _pieces(element: ET.Element) -> Iterator[str]:
    if local_name(element) in {"annotation", "note"}:
        return
    yield element.text or ""
    for child in element:
        if local_name(child) in {"s", "tab", "line-break"}:
            yield " "
        yield from _pieces(child)
        yield child.tail or ""


def _attribute(element: ET.Element, name: str) -> str:
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


# The process: it reads one document from its standard input and writes text to its standard output.

_MEMORY_BYTES = 1 << 30
_CPU_SECONDS = 60
_READERS: Mapping[str, Callable[[BinaryIO], Iterable[str]]] = {
    "pdf": pdf_lines,
    "docx": word_lines,
    "xlsx": sheet_lines,
    "pptx": slide_lines,
    "odf": opendocument_lines,
}
"""For each kind of document, what yields its text in pieces that end where a line ends."""


def main(kind: str) -> None:
    """Read the document on standard input, which is of this kind."""
    _limit()
    warnings.simplefilter("ignore")
    out = sys.stdout.buffer
    problem = ""
    try:
        for line in _READERS[kind](sys.stdin.buffer):
            out.write(line.replace("\0", "").encode("utf-8", "replace") + b"\n")
            out.flush()
    except Unreadable as found:
        problem = str(found)
    except MemoryError:
        problem = "it needs too much memory"
    except BaseException as found:  # noqa: BLE001 - whatever a parser makes of a damaged file, a panic of Rust's too
        problem = f"it is damaged, or no such document ({type(found).__name__}: {str(found)[:200]})"
    with contextlib.suppress(OSError):
        out.write(b"\0" + json.dumps({"problem": problem}).encode())
        out.flush()


def _limit() -> None:
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    limits = ((resource.RLIMIT_AS, _MEMORY_BYTES), (resource.RLIMIT_CPU, _CPU_SECONDS), (resource.RLIMIT_FSIZE, 0))
    for which, most in limits:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(which, (most, most))
