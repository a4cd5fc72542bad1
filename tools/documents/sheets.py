"""The text of an Excel workbook: the values of each sheet's rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import BinaryIO

from tools.documents.archive import opened


def sheet_lines(stream: BinaryIO) -> Iterator[str]:
    """A line that names each sheet, and its rows as `N: value | value`; empty rows are left out."""
    opened(stream)
    stream.seek(0)
    import openpyxl  # noqa: PLC0415 - an extra

    book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
    for sheet in book.worksheets:
        yield f"--- sheet {sheet.title} ---"
        # The size that the file names may be wrong.
        sheet.reset_dimensions()
        for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
            cells = [_shown(value) for value in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                yield f"{number}: {' | '.join(cells)}"


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date().isoformat()
    return " ".join(str(value).split())
