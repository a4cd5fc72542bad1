"""How tests start one subcommand of `hermes-acp` as a process of its own."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable

from acp_adapter.cli import module_of
from acp_adapter.cli.main import run_command


def main_of(name: str) -> Callable[[list[str]], int]:
    """`hermes-acp NAME` in this process: what its arguments end with."""
    return functools.partial(run_command, name, importlib.import_module(module_of(name)).main)


def start_of(name: str) -> list[str]:
    """The command that runs `hermes-acp NAME` without the program's own start; its arguments follow."""
    program = (
        "import sys; from acp_adapter.cli.main import run_command; "
        f"from {module_of(name)} import main; sys.exit(run_command({name!r}, main, sys.argv[1:]))"
    )
    return [sys.executable, "-c", program]
