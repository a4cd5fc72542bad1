"""Runs the process that turns a document into text, and ends it in time."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, BinaryIO, cast

from tools.documents.kinds import Kind
from tools.environments.child_env import bare_environment
from tools.environments.guardian import UNSEEN
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

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
        data = _output(cast("IO[bytes]", process.stdout), max_bytes, process.kill)
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


def _output(pipe: IO[bytes], max_bytes: int, kill: Callable[[], None]) -> bytes:
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
