"""Documents and notebooks as lines of text, for the tools of this process."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from tools.context import ToolContext
from tools.documents.kinds import Document
from tools.documents.notebook import notebook_lines
from tools.documents.unreadable import Unreadable
from tools.environments.document_reader import read_document
from tools.errors import ToolError
from tools.extras import install_line
from tools.files.seen import DocumentText, new_digest

MAX_SOURCE_BYTES = 64 << 20
_MAX_TEXT_BYTES = 8 << 20
_SECONDS = 20.0


def document_text(
    stream: BinaryIO, path: Path, document: Document, ctx: ToolContext, seconds: float = _SECONDS
) -> DocumentText:
    """The text of an office document or a PDF; what could be read within the limits.

    Args:
        stream: the document, seekable, at its beginning.
        seconds: so long the reading may take.

    Raises:
        ToolError: what reads it is not installed, it is too big, or nothing of it can be read. ToolInterrupted.
    """
    if not document.is_readable():
        raise ToolError(
            f"{path} is a {document.title}. What reads these is not installed: ask the user to run "
            f"`{install_line('docs')}`, or use a program in the terminal (`pdftotext`, `pandoc`, "
            "`libreoffice --headless`)."
        )
    digest = _digest(stream, path)
    if ctx.seen is not None and (kept := ctx.seen.document(digest)) is not None:
        return kept
    extract = read_document(stream, document.kind, ctx.interrupt, seconds=seconds, max_bytes=_MAX_TEXT_BYTES)
    if not extract.text.strip():
        raise ToolError(f"{path} ({document.title}) cannot be read: {extract.problem or 'it holds no text'}.")
    note = f"{document.title}, its text only."
    if extract.problem:
        note += f" Not all of it could be read: {extract.problem}."
    text = DocumentText(extract.text.removesuffix("\n").split("\n"), note, digest)
    if ctx.seen is not None:
        ctx.seen.keep_document(text)
    return text


def notebook_text(stream: BinaryIO, path: Path) -> DocumentText | None:
    """The cells of a notebook; None where it is none, and better read as the text that it is.

    Raises:
        ToolError: it is too big.
    """
    digest = _digest(stream, path)
    try:
        lines = notebook_lines(stream.read())
    except Unreadable:
        return None
    note = "A notebook's cells, outputs shortened. patch and write_file change its JSON, not these lines."
    return DocumentText(lines, note, digest)


def _digest(stream: BinaryIO, path: Path) -> str:
    size = stream.seek(0, 2)
    stream.seek(0)
    if size > MAX_SOURCE_BYTES:
        raise ToolError(
            f"{path} has {size:,} bytes; documents of more than {MAX_SOURCE_BYTES:,} are not read. Use a program in "
            "the terminal that reads a part of it."
        )
    digest = new_digest()
    while block := stream.read(1 << 18):
        digest.update(block)
    stream.seek(0)
    return digest.hexdigest()
