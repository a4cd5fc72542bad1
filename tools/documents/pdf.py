"""The text of a PDF, page by page."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import BinaryIO

from tools.documents.unreadable import Unreadable


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
