"""Documents and notebooks as lines."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from tools.context import ToolContext
from tools.documents.kinds import Document, Kind, Unreadable
from tools.environments.child_env import bare_environment
from tools.environments.guardian import UNSEEN
from tools.errors import ToolError, ToolInterrupted, install_line
from tools.files.seen import DocumentText, new_digest
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.text.terminal_output import plain_text

# A Jupyter notebook (nbformat 4) as text: its cells in order, their outputs shortened.

_MAX_OUTPUT_LINES = 20
_MAX_OUTPUT_CHARS = 2000


def notebook_lines(data: bytes) -> list[str]:
    """The lines of a notebook: `# %% [markdown] cell 1`, its source, and `# output:` with what a code cell printed.

    Raises:
        Unreadable: it is no notebook.
    """
    try:
        book = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise Unreadable(f"it is no JSON ({problem})") from problem
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("it has no cells, as a notebook of format 4 has")
    return [line for number, cell in enumerate(cells, 1) if isinstance(cell, dict) for line in _cell(number, cell)]


def _cell(number: int, cell: Mapping[str, Any]) -> Iterator[str]:
    yield f"# %% [{cell.get('cell_type', 'unknown')}] cell {number}"
    yield from _joined(cell.get("source")).split("\n")
    outputs = cell.get("outputs")
    shown = [text for output in outputs if (text := _output(output))] if isinstance(outputs, list) else []
    if shown:
        yield "# output:"
        yield from _shortened("\n".join(shown))
    yield ""


def _output(output: object) -> str:
    if not isinstance(output, dict):
        return ""
    match output.get("output_type"):
        case "stream":
            return plain_text(_joined(output.get("text"))).rstrip("\n")
        case "error":
            trace = output.get("traceback")
            lines = [line for line in trace if isinstance(line, str)] if isinstance(trace, list) else []
            return plain_text("\n".join(lines)) or f"{output.get('ename')}: {output.get('evalue')}"
        case "execute_result" | "display_data":
            return _displayed(output.get("data"))
    return ""


def _displayed(data: object) -> str:
    if not isinstance(data, dict):
        return ""
    images = [f"[{kind}]" for kind in data if str(kind).startswith("image/")]
    text = _joined(data.get("text/plain"))
    return "\n".join([*([text.rstrip("\n")] if text else []), *images])


def _shortened(text: str) -> Sequence[str]:
    lines = [line[:_MAX_OUTPUT_CHARS] for line in text.split("\n")]
    kept, chars = 0, 0
    while kept < min(len(lines), _MAX_OUTPUT_LINES) and chars <= _MAX_OUTPUT_CHARS:
        chars += len(lines[kept])
        kept += 1
    left = len(lines) - kept
    return [*lines[:kept], f"[… {left} more lines of output]"] if left else lines


def _joined(source: object) -> str:
    """The text of a field, which is a string or a list of lines."""
    if isinstance(source, list):
        return "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""


# The process that turns a document into text, and its end in time.

_BLOCK = 1 << 16
_OURS = str(Path(__file__).parents[2])
_CODE = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from tools.documents.extract import main
main(sys.argv[2])
"""


@dataclass(frozen=True, slots=True)
class Extract:
    """A document's text, and what hindered the reading ('' for nothing)."""

    text: str
    problem: str = ""


def read_document(stream: BinaryIO, kind: Kind, interrupt: Interrupt, *, seconds: float, max_bytes: int) -> Extract:
    """The text of a document, read in another process.

    Args:
        stream: the document, at its beginning.
        seconds: so long it may take; what was read until then is kept.
        max_bytes: so much text is kept.

    Raises:
        ToolInterrupted: the turn was cancelled.
    """
    with _as_file(stream) as source:
        process = subprocess.Popen(
            # It finds modules where we do, and need not look for more.
            [sys.executable, "-I", "-S", "-c", _CODE, json.dumps([_OURS, *filter(None, sys.path)]), kind],
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=bare_environment(os.environ),
            **UNSEEN,
        )
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    forget = interrupt.on_cancel(process.kill)
    try:
        data = _taken(cast("IO[bytes]", process.stdout), max_bytes, process.kill)
        process.wait()
    finally:
        forget()
        timer.cancel()
        process.kill()
        process.wait()
        cast("IO[bytes]", process.stdout).close()
    if interrupt.is_set():
        raise ToolInterrupted("The turn was cancelled while a document was read.")
    return _extract(data, max_bytes, seconds)


def _as_file(stream: BinaryIO) -> BinaryIO:
    """The stream itself where it is a file, else a copy that is one."""
    try:
        os.lseek(stream.fileno(), 0, os.SEEK_SET)
    except (OSError, io.UnsupportedOperation):
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - whoever called closes it
        while block := stream.read(_BLOCK):
            copy.write(block)
        copy.seek(0)
        return cast("BinaryIO", copy)
    return cast("BinaryIO", os.fdopen(os.dup(stream.fileno()), "rb"))


def _taken(pipe: IO[bytes], max_bytes: int, kill: Callable[[], None]) -> bytes:
    data = bytearray()
    while block := pipe.read1(_BLOCK):  # type: ignore[attr-defined]  # a pipe of Popen is buffered
        data += block
        if len(data) > max_bytes:
            kill()
            break
    return bytes(data)


def _extract(data: bytes, max_bytes: int, seconds: float) -> Extract:
    body, mark, ending = data.partition(b"\0")
    if len(data) > max_bytes:
        return Extract(_text(data[:max_bytes]), f"it has more text than {max_bytes:,} bytes; the rest was left out")
    if not mark:
        return Extract(
            _text(body), f"reading it took more than {seconds:g} s, or too much memory; the rest was left out"
        )
    return Extract(_text(body), str(json.loads(ending)["problem"]))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "ignore")


# Documents and notebooks as lines of text, for the tools of this process.

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
