"""What the command lines of several commands have in common."""

from __future__ import annotations

import argparse
import locale
import os
import sys


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
