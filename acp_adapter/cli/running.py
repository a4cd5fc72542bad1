"""How a subcommand is run: with standard streams that are there, and an end that a shell understands."""

from __future__ import annotations

import codecs
import errno
import locale
import os
import sys
from collections.abc import Callable

from acp_adapter.cli.terminal.failing import drop_output, say_failed

FAILED = 1
INTERRUPTED = 130
_OF_OUTPUT = frozenset({errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG})


def run_command(name: str, run: Callable[[list[str]], int], arguments: list[str]) -> int:
    """Run `run`, the `main` of the subcommand `name`; the exit code.

    What it does not handle itself ends it in order: Ctrl-C, and output that nobody reads or that has no room.
    """
    open_streams()
    _use_encoding_of_locale()
    try:
        try:
            return run(arguments)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        drop_output()
        return FAILED
    except OSError as problem:
        if problem.filename is not None or problem.errno not in _OF_OUTPUT:
            raise
        drop_output()
        say_failed(name, f"The output could not be written: {problem.strerror}.")
        return FAILED


def open_streams() -> None:
    """Put the null device where a standard stream was closed: what is opened next would get its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number, which is this one, and for the processes that are started as well.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - a number


def _use_encoding_of_locale() -> None:
    """Let people read and type in the encoding of their locale where `acp_adapter.entry` chose UTF-8 for paths.

    ASCII stays UTF-8, as Python itself has it there.
    """
    encoding = codecs.lookup(locale.getencoding()).name
    if "utf8" not in sys._xoptions or encoding in {"ascii", "utf-8"} or os.environ.get("PYTHONIOENCODING"):  # noqa: SLF001 - documented
        return
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.reconfigure(encoding=encoding)  # type: ignore[union-attr]
