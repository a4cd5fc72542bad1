"""The text of OpenDocument files (ISO/IEC 26300): texts, spreadsheets, presentations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO
from xml.etree import ElementTree as ET

from tools.documents.archive import local_name, opened, xml_part

_MAX_REPEATED = 64
_MAX_HEADING = 6


def opendocument_lines(stream: BinaryIO) -> Iterator[str]:
    """Headings with `#`, list items with `-`, rows with ` | `, and a line that names each sheet or slide."""
    yield from _blocks(xml_part(opened(stream), "content.xml"), prefix="")


def _blocks(parent: ET.Element, prefix: str) -> Iterator[str]:
    for element in parent:
        match local_name(element):
            case "h":
                level = _attribute(element, "outline-level") or "1"
                yield f"{'#' * min(int(level), _MAX_HEADING) if level.isdecimal() else '#'} {_text(element)}"
            case "p":
                if text := _text(element):
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
        text = " ".join(text for part in cell if (text := _text(part)))
        repeated = _attribute(cell, "number-columns-repeated")
        # A sheet's empty rest is one cell, repeated to its last column.
        cells += [text] * (min(int(repeated), _MAX_REPEATED) if repeated.isdecimal() else 1)
    while cells and not cells[-1]:
        cells.pop()
    if cells:
        yield " | ".join(cells)


def _text(element: ET.Element) -> str:
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
