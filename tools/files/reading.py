"""A file as `read_file` gives it, a directory as a list, and the whole content for tools that change it."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO

from tools.approval.sensitive import why_sensitive
from tools.arguments import display
from tools.context import ToolContext
from tools.documents.kinds import HEAD_BYTES, Document, document_of
from tools.errors import Denied, FileAccessError, FileMissing, ToolError
from tools.files.seen import DocumentText
from tools.images import MAX_IMAGE_BYTES, image_facts, other_format, refusal
from tools.light_dataclass import dataclass
from tools.ports import FileStat, real_path
from tools.result import ResultImage
from tools.text.encoding import TextFile, decode
from tools.text.pages import NotText, page_of_lines, read_page

# A file for `read_file`, whatever it is: text, a notebook, a document, an image.


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
    if not ctx.images():
        note = "You cannot see images; vision_analyze, where it is offered, answers questions about one."
        return FileReading((), format=title, notes=(note,))
    return FileReading((), format=title, image=ResultImage(data, facts.mime_type, path.name))


# A directory as a short list for the model: names, with sizes of files and a slash behind directories.

_KIB = 1024
_MOST_LOOKS = 100


def listing(path: Path, ctx: ToolContext, first: int, most: int) -> tuple[list[str], int]:
    """The entries of a directory from number `first` (1-based) on, at most `most`, and how many there are.

    What would ask the person for its own sake (keys, places elsewhere) has its name alone.

    Raises:
        Denied, FileAccessError: it cannot be looked at. ToolInterrupted.
    """
    names = ctx.fs.list(path)
    roots = tuple(real_path(ctx.fs, root) for root in ctx.roots)
    window = names[first - 1 : first - 1 + most]
    # Each look at another machine takes a way there and back.
    looked = len(window) if not ctx.elsewhere else _MOST_LOOKS
    facts = [_facts(path / name, roots, ctx) for name in window[:looked]]
    return [_entry(name, known) for name, known in zip_longest(window, facts)], len(names)


def _facts(path: Path, roots: tuple[Path, ...], ctx: ToolContext) -> FileStat | None:
    real = real_path(ctx.fs, path)
    if why_sensitive(real) or not any(real.is_relative_to(root) for root in roots):
        return None
    try:
        return ctx.fs.stat(path)
    except (Denied, FileAccessError):
        return None


def _entry(name: str, facts: FileStat | None) -> str:
    # A name may hold line breaks, and bytes that are no text.
    shown = name.encode("utf-8", "backslashreplace").decode()
    shown = shown if shown.isprintable() else repr(shown)
    if facts is None:
        return shown
    match facts.kind:
        case "directory":
            return f"{shown}/"
        case "file":
            return f"{shown}  {_size(facts.size)}"
        case "other":
            return f"{shown}  (device, pipe or socket)"


def _size(size: int) -> str:
    if size < _KIB:
        return f"{size} B"
    return f"{size / _KIB:.1f} KB" if size < _KIB * _KIB else f"{size / _KIB / _KIB:.1f} MB"


# A file's whole content, for tools that change it.

_SAVED_OTHERWISE = "The editor changed the text when it saved the file: read it again before the next change."


def read_whole(path: Path, ctx: ToolContext) -> bytes | None:
    """The bytes of a file, None when nothing is there.

    Raises:
        ToolError: it is bigger than the settings allow, or one of the port's errors.
    """
    limit = ctx.settings.read.max_bytes
    try:
        with ctx.fs.open(path) as stream:
            data = stream.read(limit + 1)
    except FileMissing:
        return None
    if len(data) > limit:
        raise ToolError(f"{path} has more than {limit:,} bytes: too big to edit as a whole. Use the terminal.")
    return data


def encoded(path: Path, file: TextFile, text: str, ctx: ToolContext) -> bytes:
    """The bytes of a text in the encoding of `file`, which is to be at `path`.

    Raises:
        ToolError: the encoding lacks a character.
    """
    try:
        return file.encode(text)
    except UnicodeEncodeError as problem:
        lacking, name = text[problem.start], display(path, ctx)
        if not file.is_guessed:
            raise ToolError(
                f"The content of {name} cannot be written as {file.encoding}: character {problem.start} is half a "
                "surrogate pair. Nothing was written; send it again without that."
            ) from problem
        known = file.encoding if not file.others else f"{file.encoding} or {' or '.join(file.others)}, as it seems"
        raise ToolError(
            f"The new text holds {lacking!r}, which {name} cannot hold: it is {known}. Nothing was changed. Use "
            "other characters. Or, if the user wants the file to be UTF-8, convert it first, in the terminal: "
            f"iconv -f {_iconv_name(file.encoding)} -t utf-8 FILE > NEW; then read it and try again."
        ) from problem


def _iconv_name(encoding: str) -> str:
    return "latin1" if encoding == "latin-1" else encoding.replace("_", "-")


def saved_text(written: bytes, sent: bytes, text: str) -> tuple[str, str]:
    """The text that a file holds after a write, and a note for the model where that is not the text that was sent.

    Args:
        written: what the port says is in the file.
        sent, text: what it was given, as bytes and as text.
    """
    if written == sent:
        return text, ""
    file = decode(written)
    return ("" if file is None else file.text), _SAVED_OTHERWISE
