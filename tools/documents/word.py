"""The text of a Word document: paragraphs, headings, lists and tables in their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from tools.documents.archive import opened

if TYPE_CHECKING:
    from docx.table import Table
    from docx.text.paragraph import Paragraph

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
