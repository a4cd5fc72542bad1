"""What all subcommands share: how they are run, how they fail, and what their command lines have in common."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import errno
import io
import locale
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from acp_adapter.format import safe_text

if TYPE_CHECKING:
    from agent_core.home import Home

# Command lines.


def command_parser(command: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """The parser of `hermes-acp COMMAND`: its epilog is shown as it is, and options have to be written out."""
    return argparse.ArgumentParser(
        prog=f"hermes-acp {command}",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_model_options(parser: argparse._ActionsContainer) -> None:
    """Which model is meant: `model`, `provider` and `base_url`, None where nothing is said."""
    parser.add_argument("--model", metavar="NAME", help="the model, as its server knows it")
    parser.add_argument("--provider", metavar="NAME", help="who serves it; see docs/models.md")
    parser.add_argument("--base-url", metavar="URL", help="the model server's address, where it is not known")


def add_profile(parser: argparse._ActionsContainer, which: str) -> None:
    """`--profile NAME`: the profile `which` … (for the help)."""
    parser.add_argument("--profile", metavar="NAME", help=f"the profile {which}")


def seconds(value: str) -> float:
    """A positive number of seconds, as an option's `type`."""
    try:
        found = float(value)
    except ValueError:
        found = 0.0
    if not 0 < found < 1e9:  # noqa: PLR2004 - excludes nan and what a timer cannot hold
        raise argparse.ArgumentTypeError(f"not a positive number of seconds: {value!r}")
    return found


def typed_text(argument: str) -> str:
    """Words of a command line, as an argument's `type`: what is not UTF-8 was typed in the locale's encoding."""
    if argument.isprintable():  # lone surrogates, which stand for bytes, are not
        return argument
    data = os.fsencode(argument)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode(locale.getencoding(), "replace")


def standard_input() -> str:
    """All of standard input; what is no UTF-8 in it becomes question marks. It blocks until its end."""
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def whole_number(value: str) -> int:
    """A whole number of at least one, as an option's `type`."""
    number = int(value) if value.isascii() and value.isdigit() and len(value) < 10 else 0  # noqa: PLR2004 - longer is none
    if number < 1:
        raise argparse.ArgumentTypeError(f"not a number of at least 1: {value!r}")
    return number


def home_of(options: argparse.Namespace) -> Home:
    """The home that the environment and `--profile` name.

    Raises:
        RequestError: there can be no profile of that name.
    """
    from agent_core.home import find_home  # noqa: PLC0415 - the doctor starts where another `tools` is found

    return find_home(os.environ, options.profile)


# Failing, and asking before something is done.

FAILED = 1
NOBODY_TO_ASK = 2


def refused(command: str, what: str, question: str, *, yes: bool, out: TextIO | None = None) -> int | None:
    """None where the person says yes to `question`, or said `--yes`; else the exit code.

    Args:
        what: what was not done then, as in `Nothing was deleted`, and what --yes would do.
    """
    if yes:
        return None
    done, _, does = what.partition("; ")
    if not sys.stdin.isatty():
        say_failed(command, f"{done}: there is no terminal to ask on. Add --yes to {does}.")
        return NOBODY_TO_ASK
    print(f"{question} [y/N] ", end="", file=out, flush=True)
    if sys.stdin.readline().strip().lower() in {"y", "yes"}:
        return None
    print(f"{done}.", file=out)
    return FAILED


def say_failed(command: str, text: str) -> int:
    """`hermes-acp COMMAND: TEXT`, without secrets and without anything that steers a terminal; the exit code."""
    from tools.redaction import redact  # noqa: PLC0415 - most commands do not fail

    with contextlib.suppress(OSError):  # the window is gone, and nobody is there to be told
        print(f"hermes-acp {command}: {safe_text(redact(text))}", file=sys.stderr, flush=True)
    return FAILED


def drop_output() -> None:
    """Whoever read our output has gone: the interpreter must not fail at flushing it, too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Running: with standard streams that are there, and an end that a shell understands.

INTERRUPTED = 130
_OF_OUTPUT = frozenset({errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG})


def run_command(name: str, run: Callable[[list[str]], int], arguments: list[str]) -> int:
    """Run `run`, the `main` of the subcommand `name`; the exit code.

    What it does not handle itself ends it in order: our own errors, Ctrl-C, and output that nobody reads or that has
    no room.
    """
    open_streams()
    _use_encoding_of_locale()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
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
        return say_failed(name, f"The output could not be written: {problem.strerror}.")
    except Exception as problem:
        # Not before: the doctor has to run where another `tools` is found.
        from agent_core.errors import HermesError  # noqa: PLC0415

        if isinstance(problem, HermesError):
            return say_failed(name, problem.public)
        raise


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
