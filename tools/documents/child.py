"""The process that reads one document from its standard input and writes text to its standard output.

It lowers its own limits first: a damaged or hostile file costs no more than so much time and memory, and nothing of
ours. The text ends with a NUL and one line of JSON that says how it went (`ending`); without that it was cut off.
"""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import BinaryIO

from tools.documents.opendocument import opendocument_lines
from tools.documents.pdf import pdf_lines
from tools.documents.sheets import sheet_lines
from tools.documents.slides import slide_lines
from tools.documents.unreadable import Unreadable
from tools.documents.word import word_lines

_MEMORY_BYTES = 1 << 30
_CPU_SECONDS = 60
_READERS: Mapping[str, Callable[[BinaryIO], Iterable[str]]] = {
    "pdf": pdf_lines,
    "docx": word_lines,
    "xlsx": sheet_lines,
    "pptx": slide_lines,
    "odf": opendocument_lines,
}
"""For each kind of document, what yields its text in pieces that end where a line ends."""


def main(kind: str) -> None:
    """Read the document on standard input, which is of this kind."""
    _limit()
    warnings.simplefilter("ignore")
    out = sys.stdout.buffer
    problem = ""
    try:
        for line in _READERS[kind](sys.stdin.buffer):
            out.write(line.replace("\0", "").encode("utf-8", "replace") + b"\n")
            out.flush()
    except Unreadable as found:
        problem = str(found)
    except MemoryError:
        problem = "it needs too much memory"
    except Exception as found:  # noqa: BLE001 - whatever a parser makes of a damaged file
        problem = f"it is damaged, or no such document ({type(found).__name__}: {str(found)[:200]})"
    with contextlib.suppress(OSError):
        out.write(b"\0" + json.dumps({"problem": problem}).encode())
        out.flush()


def _limit() -> None:
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    limits = ((resource.RLIMIT_AS, _MEMORY_BYTES), (resource.RLIMIT_CPU, _CPU_SECONDS), (resource.RLIMIT_FSIZE, 0))
    for which, most in limits:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(which, (most, most))
