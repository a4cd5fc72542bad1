"""A file as `read_file` gives it, whatever it is: text, a notebook, a document, an image."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from tools.context import ToolContext
from tools.documents.kinds import HEAD_BYTES, Document, document_of
from tools.errors import ToolError
from tools.files.seen import DocumentText
from tools.images import MAX_IMAGE_BYTES, image_facts, other_format, refusal
from tools.light_dataclass import dataclass
from tools.result import ResultImage
from tools.text.pages import NotText, page_of_lines, read_page


@dataclass(frozen=True, slots=True)
class FileReading:
    """What is to be told of a file.

    Attributes:
        lines: its lines from number `first` (1-based) on.
        total: how many there are; None where that was not counted.
        notes: what the model should know about them.
        digest: of the file's bytes, as `tools.files.seen` compares it; '' where it was not taken.
        image: the file, where it is an image that a model takes.
        format: what kind of image it is; '' for what has lines.
        is_document: the lines are what was made of the file, not what is in it.
        is_ended: they go to the file's end, and the last of them has an ending.
    """

    lines: tuple[str, ...]
    first: int = 1
    total: int | None = None
    more: bool = False
    notes: tuple[str, ...] = ()
    digest: str = ""
    image: ResultImage | None = None
    format: str = ""
    is_document: bool = False
    is_ended: bool = False

    @property
    def has_last_newline(self) -> bool:
        """Whether nothing is missing at the file's end, as far as this tells."""
        return self.is_ended or self.is_document or self.more or not self.lines or self.total is None


def read_any(stream: BinaryIO, path: Path, offset: int, limit: int, ctx: ToolContext) -> FileReading:
    """Lines `offset` … `offset + limit - 1` of what a file says, or the image that it is.

    Raises:
        ToolError: it is neither text, nor a document that can be read, nor an image. ToolInterrupted.
    """
    head = stream.read(HEAD_BYTES)
    stream.seek(0)
    if image_facts(head) is not None:
        return _image(stream, path, ctx)
    document = document_of(path, head)
    if (document is not None or path.suffix.lower() == ".ipynb") and (text := _document(stream, path, document, ctx)):
        return _lines_of(text, offset, limit, ctx)
    return _text(stream, path, offset, limit, ctx)


def _document(stream: BinaryIO, path: Path, document: Document | None, ctx: ToolContext) -> DocumentText | None:
    """The text of a document, or else of a notebook; None for what is only called one.

    The stream is at its beginning then.
    """
    from tools.documents.reading import document_text, notebook_text  # noqa: PLC0415 - most files are no documents

    if document is not None:
        return document_text(stream, path, document, ctx)
    text = notebook_text(stream, path)
    stream.seek(0)
    return text


def _text(stream: BinaryIO, path: Path, offset: int, limit: int, ctx: ToolContext) -> FileReading:
    try:
        page = read_page(stream, offset, limit, ctx.settings.read)
    except NotText as problem:
        stream.seek(0)
        known = other_format(stream.read(HEAD_BYTES))
        why = f"{problem} ({known})" if known else str(problem)
        raise ToolError(
            f"{path} cannot be shown as text: {why}. To look inside use the terminal (`file`, `xxd | head`, "
            "`strings`, or a program made for this kind of file)."
        ) from problem
    notes: list[str] = []
    if page.note:
        notes.append(page.note)
    if page.newline != "\n":
        notes.append("Windows line endings." if page.newline == "\r\n" else "Mixed line endings.")
    return FileReading(
        page.lines, page.first, page.total, page.more, tuple(notes), page.digest, is_ended=page.is_ended
    )


def _lines_of(text: DocumentText, offset: int, limit: int, ctx: ToolContext) -> FileReading:
    total = len(text.lines)
    lines = page_of_lines(text.lines, offset, limit, ctx.settings.read)
    more = bool(lines) and offset - 1 + len(lines) < total
    return FileReading(lines, offset, total, more, (text.note,), text.digest, is_document=True)


def _image(stream: BinaryIO, path: Path, ctx: ToolContext) -> FileReading:
    data = stream.read(MAX_IMAGE_BYTES + 1)
    size = stream.seek(0, 2)
    facts = image_facts(data)
    if facts is None:  # its beginning said otherwise a moment ago
        raise ToolError(f"{path} changed while it was read. Read it again.")
    title = f"{facts}, {size:,} bytes"
    if problem := refusal(facts, size):
        return FileReading((), format=title, notes=(f"The image cannot be shown: it {problem}",))
    if not ctx.images:
        note = "You cannot see images; vision_analyze, where it is offered, answers questions about one."
        return FileReading((), format=title, notes=(note,))
    return FileReading((), format=title, image=ResultImage(data, facts.mime_type, path.name))
