"""A PDF's text, page by page. Imported only where the library is installed."""

from __future__ import annotations

import importlib.util
import io
import time
from typing import TYPE_CHECKING

from tools.errors import ToolInterrupted
from tools.extras import install_line
from tools.ports import Interrupt
from tools.web.port import WebError

if TYPE_CHECKING:
    from pypdf import PdfReader

_MAX_SECONDS = 20.0
_MAX_CHARS = 2_000_000


def pdf_text(body: bytes, interrupt: Interrupt, max_seconds: float = _MAX_SECONDS) -> str:
    """The text with a mark before each page; what takes too long ends with a note.

    Raises:
        WebError: the library is missing, or the file is damaged, locked or holds no text. ToolInterrupted.
    """
    if importlib.util.find_spec("pypdf") is None:
        raise WebError(
            "This is a PDF, and the library that reads it is missing. The user can install it: "
            f"{install_line('web')}",
            "answer",
        )
    import pypdf  # noqa: PLC0415 - an extra, and heavy

    try:
        reader = pypdf.PdfReader(io.BytesIO(body))
        locked = reader.is_encrypted and not reader.decrypt("")
        parts = [] if locked else _pages(reader, interrupt, time.monotonic() + max_seconds)
    except (ToolInterrupted, WebError):
        raise
    except Exception as problem:
        # The library lets slip whatever a damaged or unusual file makes its own code raise.
        raise WebError(f"This PDF cannot be read: {type(problem).__name__}: {problem}.", "answer") from problem
    if locked:
        raise WebError("This PDF is locked with a password: nothing can be read of it.", "answer")
    if not parts:
        raise WebError("This PDF holds no text, only images of it: look for another form of it.", "answer")
    return "\n\n".join(parts)


def _pages(reader: PdfReader, interrupt: Interrupt, end: float) -> list[str]:
    pages = reader.pages
    total, size = len(pages), 0
    parts: list[str] = []
    for number in range(total):
        if interrupt.is_set():
            raise ToolInterrupted
        if time.monotonic() > end or size > _MAX_CHARS:
            parts.append(f"[… {total - number} more pages were not read …]")
            break
        text = pages[number].extract_text().strip()
        if text:
            parts.append(f"[page {number + 1} of {total}]\n{text}")
            size += len(text)
    return parts
