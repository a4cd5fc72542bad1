"""Which files are documents that can be read as text, and what reading them needs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from tools.light_dataclass import dataclass

Kind = Literal["pdf", "docx", "xlsx", "pptx", "odf"]

HEAD_BYTES = 1024
"""So many bytes of a file's beginning tell whether it is a document."""


@dataclass(frozen=True, slots=True)
class Document:
    """A kind of document: its name for people, and the module that reads it ('' where none has to be installed)."""

    kind: Kind
    title: str
    module: str = ""

    def is_readable(self) -> bool:
        """Whether what reads it is installed."""
        from importlib.util import find_spec  # noqa: PLC0415 - rarely asked

        return not self.module or find_spec(self.module) is not None


_PDF = Document("pdf", "PDF", "pypdf")
_ZIPPED = {
    ".docx": Document("docx", "Word document", "docx"),
    ".docm": Document("docx", "Word document", "docx"),
    ".xlsx": Document("xlsx", "Excel workbook", "python_calamine"),
    ".xlsm": Document("xlsx", "Excel workbook", "python_calamine"),
    ".pptx": Document("pptx", "PowerPoint presentation"),
    ".odt": Document("odf", "OpenDocument text"),
    ".ods": Document("odf", "OpenDocument spreadsheet"),
    ".odp": Document("odf", "OpenDocument presentation"),
}


def document_of(path: Path, head: bytes) -> Document | None:
    """What kind of document a file is, by its name and its first `HEAD_BYTES`; None where it is none."""
    # Some programs write a few bytes before a PDF's mark.
    if b"%PDF-" in head and (head.startswith(b"%PDF-") or path.suffix.lower() == ".pdf"):
        return _PDF
    return _ZIPPED.get(path.suffix.lower()) if head.startswith(b"PK\x03\x04") else None


class Unreadable(Exception):
    """The document cannot be read; the message says why, as what follows «it cannot be read: »."""
