"""How tests start one subcommand of `hermes-acp` as a process of its own."""

from __future__ import annotations

import sys

from acp_adapter.cli import module_of


def start_of(name: str) -> list[str]:
    """The command that runs `hermes-acp NAME` without the program's own start; its arguments follow."""
    program = (
        "import sys; from acp_adapter.cli.main import run_command; "
        f"from {module_of(name)} import main; sys.exit(run_command({name!r}, main, sys.argv[1:]))"
    )
    return [sys.executable, "-c", program]
